//! The two ways to ask a target, and when an answer is not taken.

use std::sync::Arc;

use bytes::Bytes;

use majordomo_llm::{
    Accept, BoxFuture, Dialect, Error, ErrorKind, Event, Message, Model, Piece, Request, Response,
    Result,
};

use super::open::{self, Opened, empty};

/// How a target is asked.
pub(super) trait Ask: Send + Sync {
    type Answer: Send;

    fn ask<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
    ) -> BoxFuture<'a, Result<Self::Answer>>;

    /// Why the answer is not taken, if it is not.
    fn refuse(&self, _answer: &Self::Answer) -> Option<Refusal> {
        None
    }
}

/// An answer that was not taken.
pub(super) struct Refusal {
    pub(super) error: Error,
    /// What to add before the same target is asked once more; empty: do not.
    pub(super) repair: Vec<Message>,
    /// The answer itself, which was paid for all the same.
    pub(super) answer: Response,
}

/// For a whole answer.
pub(super) struct Generate {
    pub(super) accept: Option<Arc<dyn Accept>>,
}

impl Ask for Generate {
    type Answer = Response;

    fn ask<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
    ) -> BoxFuture<'a, Result<Response>> {
        model.generate(request)
    }

    fn refuse(&self, answer: &Response) -> Option<Refusal> {
        if answer.is_empty() {
            return Some(Refusal {
                error: empty(),
                repair: Vec::new(),
                answer: answer.clone(),
            });
        }
        let refused = self.accept.as_ref()?.accept(answer).err()?;
        let text = format!("the answer was not accepted: {}", refused.reason);
        let mut repair = refused.repair;
        if !repair.is_empty() {
            repair.insert(0, answer.to_message());
        }
        Some(Refusal {
            error: Error::new(ErrorKind::Refused, text),
            repair,
            answer: answer.clone(),
        })
    }
}

/// For a stream, up to its commit point.
pub(super) struct Stream;

impl Ask for Stream {
    type Answer = Opened<Event>;

    fn ask<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
    ) -> BoxFuture<'a, Result<Opened<Event>>> {
        Box::pin(open::events(model, request))
    }
}

/// For a stream in the provider's own bytes from targets of one dialect, and in
/// events from all others.
pub(super) struct Forward {
    pub(super) dialect: Dialect,
}

/// What a target of any dialect answered.
pub(super) enum Forwarded {
    Events(Opened<Event>),
    Pieces(Opened<Piece>),
}

impl Ask for Forward {
    type Answer = Forwarded;

    fn ask<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
    ) -> BoxFuture<'a, Result<Forwarded>> {
        Box::pin(async move {
            let same = model.dialect().is_some_and(|own| own == self.dialect);
            if same && model.capabilities().streaming {
                return Ok(Forwarded::Pieces(open::pieces(model, request).await?));
            }
            Ok(Forwarded::Events(open::events(model, request).await?))
        })
    }
}

/// For embeddings: the request says nothing, the body does.
pub(super) struct Embed {
    pub(super) dialect: Dialect,
    pub(super) body: Bytes,
}

impl Ask for Embed {
    type Answer = Bytes;

    fn ask<'a>(&'a self, model: &'a dyn Model, _request: Request) -> BoxFuture<'a, Result<Bytes>> {
        model.embed(&self.dialect, self.body.clone())
    }
}
