//! A provider of your own: two methods for the provider, four for its models.
//!
//! `cargo run --example custom_provider`

use std::sync::Arc;

use majordomo::{
    BoxFuture, Capabilities, EventStream, Model, Part, Provider, Registry, Request, Response,
    Result,
};

struct Shouting;

impl Provider for Shouting {
    fn name(&self) -> &str {
        "shouting"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        let name = format!("shouting/{id}");
        Ok(Arc::new(ShoutingModel { name }))
    }
}

struct ShoutingModel {
    name: String,
}

impl Model for ShoutingModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::default()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let said = request.prompt().messages.last().map(|last| last.text());
            let loud = said.unwrap_or_default().to_uppercase();
            Ok(Response::new(vec![Part::text(loud)]).with_model(&self.name))
        })
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move { Ok(self.generate(request).await?.into_event_stream()) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::empty();
    registry.register(Shouting);
    let model = registry.model("shouting/loud")?;
    let reply = model.generate(Request::user("hello")).await?;
    println!("{} (served by {})", reply.text(), reply.model);
    Ok(())
}
