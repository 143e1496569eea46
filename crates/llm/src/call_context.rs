//! What a call carries on behalf of a client.

use std::sync::Arc;

use crate::{ClientCredential, Request, TraceHeaders};

/// What a call carries on behalf of a client, whatever its operation.
///
/// A [`Request`] has its own; calls for images and embeddings carry this.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallContext {
    /// The client's own credential, for providers that use it instead of the configured one.
    pub credential: Option<ClientCredential>,
    /// The headers that carry the request's trace and id to providers.
    pub trace: Option<Arc<TraceHeaders>>,
}

impl CallContext {
    /// Creates a context.
    pub fn new(credential: Option<ClientCredential>, trace: Option<Arc<TraceHeaders>>) -> Self {
        Self { credential, trace }
    }

    /// Adds the context to a request.
    pub fn add_to(&self, request: Request) -> Request {
        request
            .with_client_credential(self.credential.clone())
            .trace(self.trace.clone())
    }
}
