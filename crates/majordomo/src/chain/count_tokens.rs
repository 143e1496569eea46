//! Counts the tokens of a request.
//!
//! A count can always be estimated, so that nobody waits for one longer than for an
//! answer, and a target that must not be asked is not asked for this either.

use majordomo_llm::{Class, Error, Model, Request};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Chain, Target};

impl Chain {
    /// The tokens of a request: counted by the first target that does and may be
    /// asked, within the deadline, or estimated for the head.
    pub async fn count_tokens(&self, request: Request) -> u64 {
        let patience = request.get_timeout().or(self.config.deadline);
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
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

    async fn count_at(&self, target: &Target, request: &Request) -> Option<u64> {
        let mut permit = target.admit().ok()?;
        let counted = target.model().count_tokens(request.clone());
        let counted = match self.config.attempt {
            None => counted.await,
            Some(limit) => timeout(limit, counted).await.ok()?,
        };
        match counted {
            Ok(tokens) => Some(tokens),
            Err(error) => {
                let error = error.with_target(target.name().provider(), target.name().model());
                let class = self.config.class_of(&error);
                if concerns_answers(class, &error) {
                    permit.fail(class, &error);
                }
                None
            }
        }
    }
}

/// Whether answers would fail, too: the key is refused, or nobody is there. What the
/// endpoint that counts says of itself, its own limits say, is no word about answers.
fn concerns_answers(class: Class, error: &Error) -> bool {
    match class {
        Class::Auth => true,
        Class::Transient | Class::Tls => error.status().is_none(),
        _ => false,
    }
}
