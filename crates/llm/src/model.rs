//! The two traits: a model that answers, and a provider that has models.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Capabilities, Change, Dialect, Error, ErrorKind, EventStream, Fingerprint, HeuristicEstimator,
    RawChunkStream, Request, Response, ResponseStream, Result, TokenEstimator,
};

/// A boxed future; dropping it cancels the work behind it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that answers: one target, or a chain of them.
pub trait Model: Send + Sync {
    /// Its full name, `provider/model` for a single target.
    fn name(&self) -> &str;

    /// What it can take. A chain answers for its head.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// One whole answer.
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>>;

    /// The answer's fine events, as they come.
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>>;

    /// The answer as text deltas, whole tool calls and a final [`Response`].
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        Box::pin(async move {
            let first_call = request.next_call_number();
            let events = self.events(request).await?;
            Ok(ResponseStream::new(events, self.name(), first_call))
        })
    }

    /// About how many tokens the request is for this model.
    fn estimate_tokens(&self, request: &Request) -> u64 {
        HeuristicEstimator.estimate(request)
    }

    /// What asking it would change in a request on the way out, for dry runs: it is
    /// not asked. An error is why it could not be.
    fn preview(&self, _request: Request) -> Result<Vec<Change>> {
        Ok(Vec::new())
    }

    /// The dialect of its own bytes, if they can be had.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// The answer in the provider's own bytes, for a client of its [`dialect`].
    ///
    /// [`dialect`]: Model::dialect
    fn raw_chunks(&self, _request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        unsupported("its answers cannot be passed on as they are")
    }

    /// The tokens of the request, counted by the provider itself.
    fn count_tokens(&self, _request: Request) -> BoxFuture<'_, Result<u64>> {
        unsupported("it does not count tokens")
    }

    /// Embeddings: a body of this dialect as it came but for the model, and the
    /// answer as it came.
    fn embed<'a>(&'a self, _dialect: &Dialect, _body: Bytes) -> BoxFuture<'a, Result<Bytes>> {
        unsupported("it makes no embeddings for clients of this dialect")
    }
}

fn unsupported<T: Send + 'static>(text: &'static str) -> BoxFuture<'static, Result<T>> {
    Box::pin(std::future::ready(Err(Error::new(
        ErrorKind::Unsupported,
        text,
    ))))
}

/// A place that has models.
pub trait Provider: Send + Sync {
    /// The name that specs use.
    fn name(&self) -> &str;

    /// A model by its id, verbatim. This never asks the network: a wrong id or a
    /// missing key shows when the model is used.
    fn model(&self, id: &str) -> Result<Arc<dyn Model>>;

    /// The address below which it is asked, without a key; none if it is reached
    /// in another way. This never asks the network.
    fn base_url(&self) -> Option<&str> {
        None
    }

    /// A fingerprint of its address, credential and kind, if it has one: another one
    /// means that what is known of its health is about somebody else.
    fn fingerprint(&self) -> Option<Fingerprint> {
        None
    }

    /// Whether it can be asked at all: its address and key are there, as far as
    /// it needs them. This never asks the network.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// The models that the provider says it has.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        let error = Error::new(ErrorKind::Unsupported, "it does not list its models")
            .with_provider(self.name());
        Box::pin(std::future::ready(Err(error)))
    }
}

/// A model as its provider lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The id to use in a spec.
    pub id: String,
    /// What it can take, where the provider says.
    pub capabilities: Option<Capabilities>,
}
