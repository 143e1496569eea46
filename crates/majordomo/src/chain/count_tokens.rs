//! Counts the tokens of a request.
//!
//! A count can always be estimated, so counting respects the request's timeout and never
//! forces a call to a benched target.

use majordomo_llm::{Change, Class, Error, ModelExt, Request};
use tokio::time::{Instant, timeout, timeout_at};

use super::gate::{AdmittedAttempt, AttemptEnd, AttemptKind, PendingAttempt, enter};
use super::shaping::{ShapeMode, shape_capable};
use super::{Chain, ChainTarget, Shaped};

/// A number of tokens, and what was counted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenCount {
    /// Tokens of the prompt.
    pub tokens: u64,
    /// How the counted request differs from the given one.
    pub changes: Vec<Change>,
}

impl Chain {
    /// The tokens of a request, counted by the first admitted target that can within the
    /// deadline, or else estimated for the head.
    pub async fn count_tokens(&self, request: Request) -> u64 {
        self.token_count(request).await.tokens
    }

    /// Like [`count_tokens`](Self::count_tokens), with the changes that the counted request
    /// has: it is the one that the target would get.
    pub async fn token_count(&self, request: Request) -> TokenCount {
        let timeout = request.options().timeout.or(self.config.deadline);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut head = None;
        let counted = async {
            for target in self.targets.iter() {
                let shaped = self.shape_for_count(target, &request).await;
                let Some(Shaped { request, changes }) = shaped else {
                    continue;
                };
                let tokens = self.count_at(target, request.clone()).await;
                if let Some(tokens) = tokens {
                    return Some(TokenCount { tokens, changes });
                }
                head.get_or_insert((target, request, changes));
            }
            None
        };
        let counted = match deadline {
            None => counted.await,
            Some(deadline) => timeout_at(deadline, counted).await.ok().flatten(),
        };
        if let Some(counted) = counted {
            return counted;
        }
        match head {
            Some((target, request, changes)) => TokenCount {
                tokens: target.model().estimate_tokens(&request),
                changes,
            },
            None => TokenCount {
                tokens: self.estimate_tokens(&request),
                changes: Vec::new(),
            },
        }
    }

    /// The request as the target would get it, which never receives an image that it does not
    /// take.
    async fn shape_for_count(&self, target: &ChainTarget, request: &Request) -> Option<Shaped> {
        let shaped = Shaped {
            request: request.clone(),
            changes: Vec::new(),
        };
        let shaped = shape_capable(target, &self.config, shaped, ShapeMode::Preview);
        shaped.await.ok()
    }

    async fn count_at(&self, target: &ChainTarget, request: Request) -> Option<u64> {
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
