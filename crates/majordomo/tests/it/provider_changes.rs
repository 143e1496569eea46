//! What a provider changes while it writes a request is not lost in silence.

use std::sync::Arc;

use majordomo::fake::Fake;
use majordomo::{
    BoxFuture, Capabilities, Change, EventStream, Model, Provider, Registry, Request, Response,
    Result,
};

/// A provider whose dialect lacks something.
struct Forgetful(Fake);

impl Provider for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(ForgetfulModel(self.0.model(id)?)))
    }
}

struct ForgetfulModel(Arc<dyn Model>);

impl Model for ForgetfulModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        request.note(Change::new("top_k", "dropped"));
        self.0.generate(request)
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        request.note(Change::new("top_k", "dropped"));
        self.0.events(request)
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_notes_is_in_the_ledger_of_answers_and_of_streams() {
    let registry = Registry::empty();
    registry.register(Forgetful(Fake::new("fp")));
    let chain = registry.parse("forgetful/x").unwrap();
    let reply = chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.attempt_log.changes()[0].to_string(), "top_k dropped");
    let open = chain.open(Request::user("hi")).await.unwrap();
    assert_eq!(open.attempt_log.changes()[0].to_string(), "top_k dropped");
}
