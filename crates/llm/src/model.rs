//! The [`Model`] and [`Provider`] traits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Capabilities, Change, Dialect, Error, ErrorKind, EventStream, Fingerprint, HeuristicEstimator,
    RawChunkStream, Request, Response, ResponseStream, Result, TokenEstimator,
};

/// A boxed future. Dropping it cancels the work.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Serves requests: a single target, or a chain of targets.
///
/// Only `name`, `capabilities`, `generate` and `events` are required; the other
/// methods default to an [`ErrorKind::Unsupported`] error or a neutral value.
pub trait Model: Send + Sync {
    /// Returns the full name: `provider/model` for a single target.
    fn name(&self) -> &str;

    /// Returns what the model accepts. A chain reports its first target.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Sends the request and waits for the complete response.
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>>;

    /// Sends the request and streams the response's events.
    ///
    /// Use [`stream`](Model::stream) unless you need every event.
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>>;

    /// Sends the request and streams text deltas, complete tool calls and the final
    /// [`Response`].
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        Box::pin(async move {
            let first_call = request.prompt().next_call_number();
            let events = self.events(request).await?;
            Ok(ResponseStream::new(events, self.name(), first_call))
        })
    }

    /// Estimates the request's input tokens without I/O.
    fn estimate_tokens(&self, request: &Request) -> u64 {
        HeuristicEstimator.estimate(request)
    }

    /// Returns the changes that sending the request would make, without sending it.
    ///
    /// # Errors
    ///
    /// Fails if the model could not serve the request.
    fn preview(&self, _request: Request) -> Result<Vec<Change>> {
        Ok(Vec::new())
    }

    /// Returns the dialect of [`raw_chunks`](Model::raw_chunks), if those are supported.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Sends the request and streams the provider's bytes unchanged, for a client that
    /// speaks the model's [`dialect`](Model::dialect).
    fn raw_chunks(&self, _request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        unsupported("raw responses are not supported")
    }

    /// Asks the provider to count the request's input tokens.
    fn count_tokens(&self, _request: Request) -> BoxFuture<'_, Result<u64>> {
        unsupported("token counting is not supported")
    }

    /// Sends an embeddings request in this dialect and returns the response body
    /// unchanged. Only the model name in `body` is replaced.
    fn embed<'a>(&'a self, _dialect: &Dialect, _body: Bytes) -> BoxFuture<'a, Result<Bytes>> {
        unsupported("embeddings are not supported in this dialect")
    }
}

fn unsupported<T: Send + 'static>(text: &'static str) -> BoxFuture<'static, Result<T>> {
    Box::pin(std::future::ready(Err(Error::new(
        ErrorKind::Unsupported,
        text,
    ))))
}

/// Creates models. Constructing or inspecting a provider never touches the network;
/// only [`models`](Provider::models) and the models themselves do.
pub trait Provider: Send + Sync {
    /// Returns the name used in specs.
    fn name(&self) -> &str;

    /// Returns the model with this id.
    ///
    /// The id is not validated: a wrong id or a missing key surfaces when the model is
    /// used.
    fn model(&self, id: &str) -> Result<Arc<dyn Model>>;

    /// Returns the base URL of the API, without credentials, if there is one.
    fn base_url(&self) -> Option<&str> {
        None
    }

    /// Returns a fingerprint of the address, credential and kind.
    ///
    /// When it changes, recorded health no longer applies.
    fn fingerprint(&self) -> Option<Fingerprint> {
        None
    }

    /// Checks that the required address and credential are configured.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Fetches the list of models.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        let error = Error::new(ErrorKind::Unsupported, "model listing is not supported")
            .with_provider(self.name());
        Box::pin(std::future::ready(Err(error)))
    }
}

/// A model as listed by its provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The id to use in a spec.
    pub id: String,
    /// What the model accepts, if the provider reports it.
    pub capabilities: Option<Capabilities>,
}
