//! Counts the tokens of a request.
//!
//! A count can always be estimated, so counting respects the request's timeout and never
//! forces a call to a benched target.

use majordomo_llm::{Class, Error, ModelExt, Request};
use tokio::time::{Instant, timeout, timeout_at};

use super::gate::{AdmittedAttempt, AttemptEnd, AttemptKind, PendingAttempt, enter};
use super::shaping::{ShapeMode, shape_capable};
use super::{Chain, ChainTarget, Shaped};

impl Chain {
    /// The tokens of a request, counted by the first admitted target that can within the
    /// deadline, or else estimated for the head.
    pub async fn count_tokens(&self, request: Request) -> u64 {
        let timeout = request.options().timeout.or(self.config.deadline);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let counted = async {
            for target in self.targets.iter() {
                if let Some(tokens) = self.count_at(target, &request).await {
                    return Some(tokens);
                }
            }
            None
        };
        let counted = match deadline {
            None => counted.await,
            Some(deadline) => timeout_at(deadline, counted).await.ok().flatten(),
        };
        counted.unwrap_or_else(|| self.estimate_tokens(&request))
    }

    async fn count_at(&self, target: &ChainTarget, request: &Request) -> Option<u64> {
        // Shaped for the target, which never receives an image that it does not take.
        let request = Shaped {
            request: request.clone(),
            changes: Vec::new(),
        };
        let shaped = shape_capable(target, &self.config, request, ShapeMode::Preview).await;
        let request = shaped.ok()?.request;
        let mut permit = target.admit(&request).ok()?;
        let mut attempt = self.enter_count(target, &request).await?;
        let counted = target.model_for(&permit).count_tokens(request);
        let counted = match self.config.attempt {
            None => counted.await,
            Some(limit) => match timeout(limit, counted).await {
                Ok(counted) => counted,
                Err(_) => {
                    let (class, status) = (Class::Transient, None);
                    attempt.settle(AttemptEnd::Failed { class, status });
                    return None;
                }
            },
        };
        match counted {
            Ok(tokens) => {
                attempt.settle(AttemptEnd::Served);
                Some(tokens)
            }
            Err(error) => {
                let error = error.with_target(target.name().provider(), target.name().model());
                let class = self.config.class_of(&error);
                attempt.fail(class, &error);
                if affects_generation(class, &error) {
                    permit.fail(class, &error);
                }
                None
            }
        }
    }

    /// Passes a count through the gate.
    async fn enter_count(
        &self,
        target: &ChainTarget,
        request: &Request,
    ) -> Option<AdmittedAttempt> {
        let Some(gate) = self.gate.as_deref() else {
            return Some(AdmittedAttempt::default());
        };
        let clock = target.clock();
        let pending = PendingAttempt {
            target: target.name(),
            kind: AttemptKind::Count,
            request,
            began: clock.now(),
            client_paid: target.is_client_paid(request),
            model: target.model(),
            input_bytes: None,
            images: 0,
        };
        let entered = enter(gate, pending, clock).await.ok()?;
        Some(entered.attempt)
    }
}

/// Whether the failure of a count predicts failing generations: the credential is
/// rejected or the server unreachable. A status of the counting endpoint, such as its
/// own rate limit, does not.
fn affects_generation(class: Class, error: &Error) -> bool {
    match class {
        Class::Auth => true,
        Class::Transient | Class::Tls => error.status().is_none(),
        _ => false,
    }
}
