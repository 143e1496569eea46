//! Operations that models may provide, and that callers can use on every model.

use bytes::Bytes;

use crate::{
    BoxFuture, Change, Dialect, Error, ErrorKind, HeuristicEstimator, Model, RawChunkStream,
    Request, ResponseStream, Result, TokenEstimator,
};

/// Operations with a default, for models that do better; see [`Model::extras`].
///
/// Implement it, and call [`ModelExt`], which has the same methods on every model.
pub trait ModelExtras: Model {
    /// Sends the request and streams text deltas, complete tool calls and the final
    /// [`Response`](crate::Response).
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        stream(self, request)
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

    /// Returns the dialect of [`raw_chunks`](ModelExtras::raw_chunks), if those are
    /// supported.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Sends the request and streams the provider's bytes unchanged, for a client that
    /// speaks the model's [`dialect`](ModelExtras::dialect).
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

/// What callers can do with every [`Model`], beyond what it must provide.
///
/// Uses the model's [`extras`](Model::extras) where it has them. Otherwise the operation
/// has a neutral result or fails with [`ErrorKind::Unsupported`].
pub trait ModelExt: Model {
    /// Sends the request and streams text deltas, complete tool calls and the final
    /// [`Response`](crate::Response).
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        match self.extras() {
            Some(extras) => extras.stream(request),
            None => stream(self, request),
        }
    }

    /// Estimates the request's input tokens without I/O.
    fn estimate_tokens(&self, request: &Request) -> u64 {
        match self.extras() {
            Some(extras) => extras.estimate_tokens(request),
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
            .map_or_else(|| Ok(Vec::new()), |extras| extras.preview(request))
    }

    /// Returns the dialect of [`raw_chunks`](ModelExt::raw_chunks), if those are
    /// supported.
    fn dialect(&self) -> Option<Dialect> {
        self.extras().and_then(ModelExtras::dialect)
    }

    /// Sends the request and streams the provider's bytes unchanged, for a client that
    /// speaks the model's [`dialect`](ModelExt::dialect).
    fn raw_chunks(&self, request: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        match self.extras() {
            Some(extras) => extras.raw_chunks(request),
            None => unsupported("raw responses are not supported"),
        }
    }

    /// Asks the provider to count the request's input tokens.
    fn count_tokens(&self, request: Request) -> BoxFuture<'_, Result<u64>> {
        match self.extras() {
            Some(extras) => extras.count_tokens(request),
            None => unsupported("token counting is not supported"),
        }
    }

    /// Sends an embeddings request in this dialect and returns the response body
    /// unchanged. Only the model name in `body` is replaced.
    fn embed<'a>(&'a self, dialect: &Dialect, body: Bytes) -> BoxFuture<'a, Result<Bytes>> {
        match self.extras() {
            Some(extras) => extras.embed(dialect, body),
            None => unsupported("embeddings are not supported in this dialect"),
        }
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
