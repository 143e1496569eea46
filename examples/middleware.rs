//! Middleware: `Chain::wrap` sees every call, a `Shape` adapts each request to its target.
//!
//! `cargo run --example middleware`; see also the example `observer`.

use std::sync::Arc;

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::fake::Fake;
use majordomo::llm::{Change, ModelExtras};
use majordomo::{BoxFuture, Capabilities, EventStream, Model, Registry, Request, Response, Result};

/// Prints each request for a whole response.
struct Logged(Arc<dyn Model>);

impl Model for Logged {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        println!("{} gets {:?}", self.name(), request.prompt().system_text());
        self.0.generate(request)
    }
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        self.0.events(request)
    }
    fn extras(&self) -> Option<&dyn ModelExtras> {
        None // `self.0.extras()` would keep embeddings, but its calls bypass this wrapper
    }
}

/// Asks small models to be brief.
struct Brevity;

impl Shape for Brevity {
    fn concerns(&self, _: &Request, target: TargetView<'_>) -> bool {
        target.name.model().contains("small")
    }
    fn shape<'a>(&'a self, request: Request, _: TargetView<'a>) -> BoxFuture<'a, Result<Shaped>> {
        let request = request.system("Be brief.");
        let changes = vec![Change::new("system", "replaced")];
        Box::pin(async move { Ok(Shaped { request, changes }) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::empty();
    registry.register(Fake::new("fake"));
    let model = registry
        .model("fake/small,fake/large")?
        .shaped_by(Arc::new(Brevity))
        .wrap(|_, model| Arc::new(Logged(model)));
    let reply = model.generate(Request::user("hi")).await?;
    println!("{} ({})", reply.text(), reply.attempt_log.changes()[0]);
    Ok(())
}
