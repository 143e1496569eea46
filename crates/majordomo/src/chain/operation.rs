//! The operations a chain performs on a target, and which responses it rejects.

use std::sync::Arc;

use bytes::Bytes;

use majordomo_llm::{
    Accept, BoxFuture, CallContext, Dialect, Error, ErrorKind, Event, Message, Model, ModelExt,
    RawChunk, Request, Response, Result,
};

use super::commit::{self, Committed, empty_response};
use super::gate::{AdmittedAttempt, AttemptKind};

/// An operation that a [`Walk`](super::walk::Walk) attempts on one target after another.
pub(super) trait Operation: Send + Sync {
    type Output: Send;

    /// The purpose of its attempts.
    const KIND: AttemptKind = AttemptKind::Answer;

    /// Calls a target. A stream reports what arrives to the attempt.
    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
        attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<Self::Output>>;

    /// The size of what a model would be sent, if it is not part of the request.
    fn input_bytes(&self, _model: &dyn Model) -> Option<u64> {
        None
    }

    /// The number of images that it requests.
    fn images(&self) -> u64 {
        0
    }

    /// Reports a whole response to the attempt.
    fn received(&self, _output: &Self::Output, _attempt: &mut AdmittedAttempt) {}

    /// Rejects an unusable response.
    fn reject(&self, _output: &Self::Output) -> Option<Rejection> {
        None
    }
}

/// A rejected response.
pub(super) struct Rejection {
    pub(super) error: Error,
    /// Messages to add before the same target is called again; empty: do not retry.
    pub(super) repair: Vec<Message>,
    /// The response, whose usage is billed nevertheless.
    pub(super) response: Response,
}

/// Generates a whole response.
pub(super) struct Generate {
    pub(super) accept: Option<Arc<dyn Accept>>,
}

impl Operation for Generate {
    type Output = Response;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
        _attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<Response>> {
        model.generate(request)
    }

    fn received(&self, response: &Response, attempt: &mut AdmittedAttempt) {
        attempt.received(response);
    }

    fn reject(&self, response: &Response) -> Option<Rejection> {
        if response.is_empty() {
            return Some(Rejection {
                error: empty_response(),
                repair: Vec::new(),
                response: response.clone(),
            });
        }
        let refused = self.accept.as_ref()?.accept(response).err()?;
        let text = format!("the response was not accepted: {}", refused.reason);
        let mut repair = refused.repair;
        if !repair.is_empty() {
            repair.insert(0, response.to_message());
        }
        Some(Rejection {
            error: Error::new(ErrorKind::Refused, text),
            repair,
            response: response.clone(),
        })
    }
}

/// Opens a stream of events up to its commit point.
pub(super) struct StreamEvents;

impl Operation for StreamEvents {
    type Output = Committed<Event>;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
        attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<Committed<Event>>> {
        Box::pin(commit::events(model, request, attempt))
    }
}

/// Opens a stream up to its commit point: raw bytes from targets of the client's
/// dialect, events from all others.
pub(super) struct Forward {
    pub(super) dialect: Dialect,
}

/// The committed stream of a [`Forward`].
pub(super) enum ForwardOutput {
    Events(Committed<Event>),
    Pieces(Committed<RawChunk>),
}

impl Operation for Forward {
    type Output = ForwardOutput;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
        attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<ForwardOutput>> {
        Box::pin(async move {
            let same = model.dialect().is_some_and(|own| own == self.dialect);
            if same && model.capabilities().streaming {
                return Ok(ForwardOutput::Pieces(
                    commit::pieces(model, request, attempt).await?,
                ));
            }
            Ok(ForwardOutput::Events(
                commit::events(model, request, attempt).await?,
            ))
        })
    }
}

/// Forwards a body with texts to embed; the walked request has only its context.
pub(super) struct ForwardEmbeddings {
    pub(super) dialect: Dialect,
    pub(super) body: Bytes,
    pub(super) context: CallContext,
}

impl Operation for ForwardEmbeddings {
    type Output = Bytes;

    const KIND: AttemptKind = AttemptKind::Embed;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        _request: Request,
        _attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<Bytes>> {
        model.forward_embeddings(&self.dialect, self.body.clone(), self.context.clone())
    }

    fn input_bytes(&self, _model: &dyn Model) -> Option<u64> {
        Some(self.body.len() as u64)
    }
}
