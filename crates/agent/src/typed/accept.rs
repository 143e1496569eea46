//! Validates responses for the model that executes the request, and repairs them if that
//! model ignores the `Accept` hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use majordomo_llm::{Accept, Error, Message, Model, Rejection, Request, Response, Result};
use serde::de::DeserializeOwned;

use super::TypedOutput;
use super::output::UnusableResponse;

pub(super) struct AcceptTyped<T> {
    output: TypedOutput<T>,
    /// The caller's hook; it sees only valid values.
    next: Option<Arc<dyn Accept>>,
    /// Set once the model has called the hook, as a chain does.
    called: AtomicBool,
}

impl<T: DeserializeOwned> AcceptTyped<T> {
    pub(super) fn new(output: TypedOutput<T>, next: Option<Arc<dyn Accept>>) -> Self {
        Self {
            output,
            next,
            called: AtomicBool::new(false),
        }
    }

    pub(super) fn was_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    fn check(&self, response: &Response) -> std::result::Result<(), Rejection> {
        match self.output.read_response(response) {
            Ok(_) => self
                .next
                .as_ref()
                .map_or(Ok(()), |next| next.accept(response)),
            // A refusal ends the chain; the caller gets the error.
            Err(UnusableResponse::Declined(_)) => Ok(()),
            Err(UnusableResponse::Unrepairable(reason)) => Err(Rejection {
                reason,
                repair: Vec::new(),
            }),
            Err(UnusableResponse::Repairable(reason)) => Err(Rejection {
                repair: vec![Message::user(repair_text(&reason))],
                reason,
            }),
        }
    }

    /// Repairs a response once on a single model, as a chain would.
    pub(super) async fn repair_with(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
        response: Response,
    ) -> Result<Response> {
        let Err(rejection) = self.check(&response) else {
            return Ok(response);
        };
        if !rejection.repair.is_empty() {
            let usage = response.usage;
            let messages = &mut request.edit().messages;
            messages.push(response.to_message());
            messages.extend(rejection.repair);
            let failed = |error: Error| match error.partial() {
                None => error.with_partial(response),
                Some(_) => error,
            };
            let mut second = model.generate(request).await.map_err(failed)?;
            second.usage += usage;
            return match self.check(&second) {
                Ok(()) => Ok(second),
                Err(rejection) => {
                    Err(UnusableResponse::Unrepairable(rejection.reason).into_error(second))
                }
            };
        }
        Err(UnusableResponse::Unrepairable(rejection.reason).into_error(response))
    }
}

impl<T: DeserializeOwned> Accept for AcceptTyped<T> {
    fn accept(&self, response: &Response) -> std::result::Result<(), Rejection> {
        self.called.store(true, Ordering::Relaxed);
        self.check(response)
    }
}

fn repair_text(reason: &str) -> String {
    format!(
        "Your answer cannot be used: {reason}\n\
         Answer again with the corrected JSON and nothing else: no explanation, no code fence."
    )
}
