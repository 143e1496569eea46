//! Operations that models may provide, and that callers can use on every model.

use bytes::Bytes;

use crate::{
    BoxFuture, CallContext, Change, Dialect, EmbeddingModel, Error, ErrorKind, HeuristicEstimator,
    ImageModel, Model, Quota, RawChunkStream, Request, ResponseStream, Result, TokenEstimator,
};

/// Operations with a default, for models that improve on it; see [`Model::extras`].
///
/// Implement it, and call [`ModelExt`]: its methods exist on every model, and have other
/// names, so that both traits can be in scope.
///
/// ```
/// use majordomo_llm::{BoxFuture, Model, ModelExt, ModelExtras, Request, Result};
/// # use std::sync::Arc;
/// # use majordomo_llm::{Capabilities, EventStream, Response};
/// # struct Counting;
/// # impl Model for Counting {
/// #     fn name(&self) -> &str { "x/counting" }
/// #     fn capabilities(&self) -> Arc<Capabilities> { Arc::default() }
/// #     fn generate(&self, _: Request) -> BoxFuture<'_, Result<Response>> { unimplemented!() }
/// #     fn events(&self, _: Request) -> BoxFuture<'_, Result<EventStream>> { unimplemented!() }
/// #     fn extras(&self) -> Option<&dyn ModelExtras> { Some(self) }
/// # }
///
/// impl ModelExtras for Counting {
///     fn own_token_count(&self, _request: Request) -> BoxFuture<'_, Result<u64>> {
///         Box::pin(async { Ok(7) })
///     }
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(Counting.count_tokens(Request::user("hi")).await?, 7);
/// # Ok::<(), majordomo_llm::Error>(()) }).unwrap();
/// ```
pub trait ModelExtras: Model {
    /// Sends the request and streams text deltas, complete tool calls and the final
    /// [`Response`](crate::Response). The default assembles [`events`](Model::events).
    fn own_stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        stream(self, request)
    }

    /// Estimates the request's input tokens without I/O.
    fn own_estimate(&self, request: &Request) -> u64 {
        HeuristicEstimator.estimate(request)
    }

    /// Returns the changes that sending the request would make, without sending it.
    ///
    /// # Errors
    ///
    /// Fails if the model could not serve the request.
    fn own_preview(&self, _request: Request) -> Result<Vec<Change>> {
        Ok(Vec::new())
    }

    /// Returns the dialect of [`own_raw_chunks`](ModelExtras::own_raw_chunks), if those are
    /// supported.
    fn own_dialect(&self) -> Option<Dialect> {
        None
    }

    /// Sends the request and streams the provider's bytes unchanged, for a client that
    /// speaks the model's [`own_dialect`](ModelExtras::own_dialect).
    fn own_raw_chunks(&self, _request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        unsupported("raw responses are not supported")
    }

    /// Asks the provider to count the request's input tokens.
    fn own_token_count(&self, _request: Request) -> BoxFuture<'_, Result<u64>> {
        unsupported("token counting is not supported")
    }

    /// Sends an embeddings request in this dialect and returns the response body
    /// unchanged. Only the model name in `body` is replaced.
    fn own_embeddings<'a>(
        &'a self,
        _dialect: &Dialect,
        _body: Bytes,
        _context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        unsupported("embeddings are not supported in this dialect")
    }

    /// Returns the model as one that generates images, if it can.
    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        None
    }

    /// Returns the model as one that embeds texts, if it can.
    fn own_embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        None
    }

    /// Takes the rate limits that the last response reported for the key; `None` if they were
    /// taken before. Only models of a provider with several keys report them.
    fn own_quota(&self) -> Option<Quota> {
        None
    }
}

/// The operations that callers can use on every [`Model`], beyond the required ones.
///
/// Uses the model's [`extras`](Model::extras), if it has any. Otherwise an operation returns a
/// neutral result or fails with [`ErrorKind::Unsupported`].
pub trait ModelExt: Model {
    /// Sends the request and streams text deltas, complete tool calls and the final
    /// [`Response`](crate::Response).
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        match self.extras() {
            Some(extras) => extras.own_stream(request),
            None => stream(self, request),
        }
    }

    /// Estimates the request's input tokens without I/O.
    fn estimate_tokens(&self, request: &Request) -> u64 {
        match self.extras() {
            Some(extras) => extras.own_estimate(request),
            None => HeuristicEstimator.estimate(request),
        }
    }

    /// Returns the changes that sending the request would make, without sending it.
    ///
    /// # Errors
    ///
    /// Fails if the model could not serve the request.
    fn preview(&self, request: Request) -> Result<Vec<Change>> {
        self.extras()
            .map_or_else(|| Ok(Vec::new()), |extras| extras.own_preview(request))
    }

    /// Returns the dialect of [`raw_chunks`](ModelExt::raw_chunks), if those are
    /// supported.
    fn dialect(&self) -> Option<Dialect> {
        self.extras().and_then(ModelExtras::own_dialect)
    }

    /// Sends the request and streams the provider's bytes unchanged, for a client that
    /// speaks the model's [`dialect`](ModelExt::dialect).
    fn raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        match self.extras() {
            Some(extras) => extras.own_raw_chunks(request),
            None => unsupported("raw responses are not supported"),
        }
    }

    /// Asks the provider to count the request's input tokens.
    fn count_tokens(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        match self.extras() {
            Some(extras) => extras.own_token_count(request),
            None => unsupported("token counting is not supported"),
        }
    }

    /// Sends an embeddings request in this dialect and returns the response body
    /// unchanged. Only the model name in `body` is replaced.
    fn forward_embeddings<'a>(
        &'a self,
        dialect: &Dialect,
        body: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        match self.extras() {
            Some(extras) => extras.own_embeddings(dialect, body, context),
            None => unsupported("embeddings are not supported in this dialect"),
        }
    }

    /// Returns the model as one that generates images, if it can.
    fn image_model(&self) -> Option<&dyn ImageModel> {
        self.extras().and_then(ModelExtras::own_image_model)
    }

    /// Returns the model as one that embeds texts, if it can.
    fn embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        self.extras().and_then(ModelExtras::own_embedding_model)
    }
}

impl<M: Model + ?Sized> ModelExt for M {}

fn stream<M: Model + ?Sized>(model: &M, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
    Box::pin(async move {
        let first_call = request.prompt().next_call_number();
        let (request, raw) = request.recording_raw();
        let events = model.events(request).await?;
        Ok(ResponseStream::new(events, model.name(), first_call).with_raw(raw))
    })
}

fn unsupported<T: Send + 'static>(text: &'static str) -> BoxFuture<'static, Result<T>> {
    let error = Error::new(ErrorKind::Unsupported, text);
    Box::pin(std::future::ready(Err(error)))
}
