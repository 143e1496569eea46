//! Embeddings along a chain: all vectors of a request come from one target.

use std::sync::{Mutex, MutexGuard, PoisonError};

use majordomo_llm::{
    BoxFuture, EmbeddingRequest, EmbeddingResponse, Error, ErrorKind, Model, ModelExt, Request,
    Result,
};

use super::Chain;
use super::gate::{AdmittedAttempt, AttemptEnd, AttemptKind};
use super::operation::Operation;
use super::walk::Walk;
use crate::observe::Notice;

impl Chain {
    /// One vector per text, from the first target that can serve.
    ///
    /// Texts beyond a provider's limits are sent in several calls, in order. They are one
    /// attempt: if a call fails, a retry resumes there, and the next target embeds all texts
    /// again, since vectors of different models cannot be compared. For the same reason, if
    /// you store the vectors, use only targets of the same embedding model in the chain.
    ///
    /// ```
    /// use majordomo::Registry;
    /// use majordomo::fake::Fake;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
    /// let registry = Registry::empty();
    /// registry.register(Fake::new("fp"));
    /// let embedder = registry.model("fp/small")?;
    /// let embedded = embedder.embed(["a red apple", "a green pear"]).await?;
    /// assert_eq!(embedded.vectors.len(), 2);
    /// assert_eq!(embedded.vectors[0].len(), embedded.dimension());
    /// # Ok(()) }
    /// ```
    pub async fn embed(&self, request: impl Into<EmbeddingRequest>) -> Result<EmbeddingResponse> {
        let request = request.into();
        if request.texts.is_empty() {
            let text = "there is nothing to embed: the request has no texts";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let mut walked = Request::default();
        if let Some(limit) = request.timeout {
            walked = walked.timeout(limit);
        }
        let operation = Embed {
            request,
            progress: Mutex::default(),
        };
        let mut served = Walk::new(self, walked, operation).serve().await?;
        let target = served.target.name().as_str();
        self.observers.notify(&Notice::Served { target });
        served.permit.succeed();
        served.attempt.settle(AttemptEnd::Served);
        let mut response = served.output;
        response.model = target.to_owned();
        response.attempt_log = served.attempt_log;
        Ok(response)
    }
}

/// Embeds texts; the walked request is empty.
struct Embed {
    request: EmbeddingRequest,
    progress: Mutex<Progress>,
}

/// The vectors so far, all of one target.
#[derive(Default)]
struct Progress {
    target: String,
    done: EmbeddingResponse,
}

impl Embed {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operation for Embed {
    type Output = EmbeddingResponse;

    const KIND: AttemptKind = AttemptKind::Embed;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        _request: Request,
        attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>> {
        Box::pin(async move {
            let Some(embedder) = model.embedding_model() else {
                let text = "it embeds no texts";
                return Err(Error::new(ErrorKind::Unsupported, text));
            };
            let (request, texts) = (&self.request, &self.request.texts);
            let before = {
                let mut progress = self.progress();
                if progress.target != model.name() {
                    *progress = Progress {
                        target: model.name().to_owned(),
                        done: EmbeddingResponse::default(),
                    };
                }
                progress.done.usage
            };
            loop {
                let start = self.progress().done.vectors.len();
                if start == texts.len() {
                    return Ok(std::mem::take(&mut self.progress().done));
                }
                let end = request.batch_end(start, embedder.batch_limits());
                let batch = embedder.embed_batch(&texts[start..end], request).await?;
                let mut progress = self.progress();
                progress.done.append(batch, end - start)?;
                // The usage of an earlier attempt is in its own report.
                let mut used = progress.done.usage;
                used.input = used.input.saturating_sub(before.input);
                attempt.used(used, 0);
            }
        })
    }

    fn input_bytes(&self, model: &dyn Model) -> Option<u64> {
        let progress = self.progress();
        // Another target embeds all texts.
        let done = match progress.target == model.name() {
            true => progress.done.vectors.len(),
            false => 0,
        };
        let left = self.request.texts.iter().skip(done);
        Some(left.map(|text| text.len() as u64).sum())
    }
}
