//! The [`Model`] and [`Provider`] traits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Capabilities, Error, ErrorKind, EventStream, Fingerprint, ModelExtras, Request, Response,
    Result,
};

/// A boxed future. Dropping it cancels the work.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Serves requests: a single target, or a chain of targets.
///
/// These are the methods that a model must provide. Callers find all other operations in
/// [`ModelExt`](crate::ModelExt), which every model has; a model that improves on their
/// defaults, for example by counting tokens, implements [`ModelExtras`] and returns itself
/// from [`extras`](Model::extras).
///
/// An error decides what a chain does next ([`Error::class`]):
///
/// | failure | error |
/// |---|---|
/// | the upstream responds with an error | [`Error::http`] with its status, and `with_retry_after` |
/// | no target can serve the request, because it is wrong | [`Error::http`] with 400 |
/// | only this model cannot serve it | [`ErrorKind::Unsupported`]: the next target, no penalty |
/// | the upstream is not reached, or the connection breaks | [`ErrorKind::Connect`], [`ErrorKind::ConnectionLost`] |
/// | the response makes no sense | [`ErrorKind::BadResponse`] |
///
/// ```
/// use std::sync::Arc;
/// use majordomo_llm::{
///     BoxFuture, Capabilities, EventStream, Model, Part, Request, Response, Result,
/// };
///
/// /// Repeats the last message.
/// struct Echo;
///
/// impl Model for Echo {
///     fn name(&self) -> &str {
///         "echo/echo"
///     }
///
///     fn capabilities(&self) -> Arc<Capabilities> {
///         Arc::default()
///     }
///
///     fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
///         Box::pin(async move {
///             let said = request.prompt().messages.last().map(|last| last.text());
///             let parts = vec![Part::text(said.unwrap_or_default())];
///             Ok(Response::new(parts).with_model(self.name()))
///         })
///     }
///
///     fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
///         Box::pin(async move { Ok(self.generate(request).await?.into_event_stream()) })
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// Returns the full name: `provider/model` for a single target.
    fn name(&self) -> &str;

    /// Returns what the model accepts. A chain reports its first target.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Sends the request and waits for the complete response.
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>>;

    /// Sends the request and streams the response's events.
    ///
    /// Callers use [`stream`](crate::ModelExt::stream) unless they need every event. A
    /// model that cannot stream returns [`Response::into_event_stream`].
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>>;

    /// Returns the operations that differ from their defaults, if there are any.
    ///
    /// A model that wraps another one has three choices:
    ///
    /// - `self.inner.extras()` keeps everything in which the inner model improves on the
    ///   defaults. The extras call the inner model directly, so
    ///   [`stream`](crate::ModelExt::stream) and [`raw_chunks`](crate::ModelExt::raw_chunks)
    ///   **bypass the wrapper**. Do this only if the wrapper may miss requests.
    /// - `Some(self)`, with an implementation of [`ModelExtras`] that forwards single
    ///   operations. Those that it does not forward have their defaults: streams use
    ///   [`events`](Model::events), raw bytes are not supported.
    /// - `None` loses token counts, embeddings and image generation.
    fn extras(&self) -> Option<&dyn ModelExtras> {
        None
    }
}

/// Creates models. Constructing or inspecting a provider never touches the network;
/// only [`models`](Provider::models) and the models themselves do.
pub trait Provider: Send + Sync {
    /// Returns the name used in specs.
    fn name(&self) -> &str;

    /// Returns the model with this id.
    ///
    /// The id is not validated: a wrong id or a missing key surfaces when the model is
    /// used. The model then fails with [`ErrorKind::ModelNotFound`] or
    /// [`ErrorKind::MissingKey`], or with the provider's own error.
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

    /// Returns this provider once for each of its keys, if it has several.
    ///
    /// A chain then chooses among the keys, and benches a rejected or exhausted key by itself.
    /// Each has its own [`fingerprint`](Provider::fingerprint).
    fn by_key(&self) -> Vec<Arc<dyn Provider>> {
        Vec::new()
    }

    /// Returns `true` if requests that carry a client credential for the provider's dialect
    /// are sent with it.
    fn takes_client_credentials(&self) -> bool {
        false
    }

    /// Checks that the required address and credential are configured.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Fetches the list of models. The default fails with [`ErrorKind::Unsupported`].
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
