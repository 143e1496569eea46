//! Passes an attempt through the gate.

use std::sync::Arc;

use majordomo_llm::{Change, Request};

use super::{AdmittedAttempt, AttemptGate, GateDecision, GateRefusal, PendingAttempt};
use crate::clock::Clock;

/// An attempt that may be sent.
#[derive(Default)]
pub(in crate::chain) struct Entered {
    pub(in crate::chain) attempt: AdmittedAttempt,
    /// The maximum output tokens that it may request.
    max_tokens: Option<u64>,
}

impl Entered {
    /// Lowers the request's output limit as the gate demands.
    pub(in crate::chain) fn limit_output(&self, request: &mut Request) -> Vec<Change> {
        let most = self.max_tokens;
        most.map(|most| request.limit_output(most))
            .unwrap_or_default()
    }
}

/// Consults the gate, and waits for its decision if necessary.
pub(in crate::chain) async fn enter(
    gate: &dyn AttemptGate,
    pending: PendingAttempt<'_>,
    clock: Arc<dyn Clock>,
) -> Result<Entered, GateRefusal> {
    let mut pass = match gate.enter(&pending) {
        GateDecision::Now(decided) => decided?,
        GateDecision::Later(deciding) => deciding.await?,
    };
    Ok(Entered {
        attempt: AdmittedAttempt::new(pass.permit.take(), clock, &pending),
        max_tokens: pass.max_tokens,
    })
}
