//! Changes that a provider makes while it encodes a request are reported.

use std::sync::Arc;

use majordomo::fake::Fake;
use majordomo::llm::Change;
use majordomo::{
    BoxFuture, Capabilities, EventStream, Model, Provider, Registry, Request, Response, Result,
};

/// A provider whose dialect lacks a field.
struct LossyProvider(Fake);

impl Provider for LossyProvider {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(LossyModel(self.0.model(id)?)))
    }
}

struct LossyModel(Arc<dyn Model>);

impl Model for LossyModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        request.record_change(Change::new("top_k", "dropped"));
        self.0.generate(request)
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        request.record_change(Change::new("top_k", "dropped"));
        self.0.events(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_providers_changes_are_in_the_attempt_log_of_responses_and_streams() {
    let registry = Registry::empty();
    registry.register(LossyProvider(Fake::new("fp")));
    let chain = registry.model("forgetful/x").unwrap();
    let reply = chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.attempt_log.changes()[0].to_string(), "top_k dropped");
    let open = chain.open(Request::user("hi")).await.unwrap();
    assert_eq!(open.attempt_log.changes()[0].to_string(), "top_k dropped");
}
