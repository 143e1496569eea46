//! Middleware: `Chain::wrap` sees every call, a `Shape` adapts each request to its target.
//!
//! `cargo run --example middleware`; see also the example `observer`.

use std::sync::Arc;

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::fake::Fake;
use majordomo::llm::{Change, ModelExtras};
use majordomo::{
    BoxFuture, Capabilities, EventStream, Model, ModelExt, Registry, Request, Response, Result,
};

/// Prints each call of the model that it wraps.
struct Logged(Arc<dyn Model>);

impl Logged {
    fn log(&self, request: &Request) {
        println!("{} gets {:?}", self.name(), request.prompt().system_text());
    }
}

impl Model for Logged {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        self.log(&request);
        self.0.generate(request)
    }
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        self.log(&request);
        self.0.events(request)
    }
    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self) // `self.0.extras()` keeps everything, but its calls bypass this wrapper
    }
}

/// What the wrapped model does better than the defaults. Streams use `events` above; raw
/// bytes and embeddings are not supported unless they are forwarded too.
impl ModelExtras for Logged {
    fn own_estimate(&self, request: &Request) -> u64 {
        self.0.estimate_tokens(request)
    }
    fn own_preview(&self, request: Request) -> Result<Vec<Change>> {
        self.0.preview(request)
    }
    fn own_token_count(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        self.0.count_tokens(request)
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
    let streamed = model
        .stream(Request::user("hi again"))
        .await?
        .finish()
        .await?;
    println!("{} (streamed)", streamed.text());
    Ok(())
}
