//! Judges answers for whoever executes the request, and repairs them for models
//! that do not ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use majordomo_llm::{Accept, Error, Message, Model, Rejection, Request, Response, Result};
use serde::de::DeserializeOwned;

use super::TypedOutput;
use super::output::NotAnAnswer;

pub(super) struct Judge<T> {
    output: TypedOutput<T>,
    /// The caller's own judge; it sees only what is of the type.
    then: Option<Arc<dyn Accept>>,
    /// Whether the model asks its judge, as a chain does.
    asked: AtomicBool,
}

impl<T: DeserializeOwned> Judge<T> {
    pub(super) fn new(output: TypedOutput<T>, then: Option<Arc<dyn Accept>>) -> Self {
        Self {
            output,
            then,
            asked: AtomicBool::new(false),
        }
    }

    pub(super) fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    fn judge(&self, response: &Response) -> std::result::Result<(), Rejection> {
        match self.output.read_response(response) {
            Ok(_) => self.then.as_ref().map_or(Ok(()), |t| t.accept(response)),
            // A policy stop ends the chain; whoever asked is told.
            Err(NotAnAnswer::Declined(_)) => Ok(()),
            Err(NotAnAnswer::Useless(reason)) => Err(Rejection {
                reason,
                repair: Vec::new(),
            }),
            Err(NotAnAnswer::Wrong(reason)) => Err(Rejection {
                repair: vec![Message::user(repair_text(&reason))],
                reason,
            }),
        }
    }

    /// One repair round on a single model, as a chain would do it.
    pub(super) async fn repair_with(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
        response: Response,
    ) -> Result<Response> {
        let Err(refused) = self.judge(&response) else {
            return Ok(response);
        };
        if !refused.repair.is_empty() {
            let usage = response.usage;
            let messages = &mut request.edit().messages;
            messages.push(response.to_message());
            messages.extend(refused.repair);
            let failed = |error: Error| match error.partial() {
                None => error.with_partial(response),
                Some(_) => error,
            };
            let mut second = model.generate(request).await.map_err(failed)?;
            second.usage += usage;
            return match self.judge(&second) {
                Ok(()) => Ok(second),
                Err(refused) => Err(NotAnAnswer::Useless(refused.reason).into_error(second)),
            };
        }
        Err(NotAnAnswer::Useless(refused.reason).into_error(response))
    }
}

impl<T: DeserializeOwned> Accept for Judge<T> {
    fn accept(&self, response: &Response) -> std::result::Result<(), Rejection> {
        self.asked.store(true, Ordering::Relaxed);
        self.judge(response)
    }
}

fn repair_text(reason: &str) -> String {
    format!(
        "Your answer cannot be used: {reason}\n\
         Answer again with the corrected JSON and nothing else: no explanation, no code fence."
    )
}
