//! The cheaper spec that serves when a budget does not cover the requested one.

use std::sync::Arc;

use majordomo::{Chain, ErrorKind, Request};
use majordomo_vision::Scope;

use crate::admitted::AdmittedRequest;
use crate::call_journal::CallJournal;
use crate::quota::AttemptLimits;
use crate::state::GatewayState;

/// The chain of the cheaper spec that a budget names. The key must allow it as well.
pub(super) async fn cheaper_chain(
    state: &Arc<GatewayState>,
    admitted: &AdmittedRequest,
    request: &Request,
    scope: Scope,
) -> Option<Chain> {
    let spec = admitted.exchange.limits()?.stack().cheaper_spec()?;
    admitted.allow(&spec).ok()?;
    let chain = state.chain(&spec).await.ok()?;
    Some(state.with_descriptions(chain, request, &state.routes.describers, scope))
}

/// Calls the chain, or the cheaper one if the budget covers only that.
pub(super) async fn affordable<T, F: Future<Output = majordomo::Result<T>>>(
    (chain, cheaper): (Chain, Option<Chain>),
    journal: Option<Arc<CallJournal>>,
    request: Request,
    call: impl Fn(Chain, Request) -> F,
) -> majordomo::Result<T> {
    let Some(cheaper) = cheaper else {
        return call(chain, request).await;
    };
    match call(chain, request.clone()).await {
        Err(error) if error.kind() == ErrorKind::Denied => {
            let limits = journal.as_ref().and_then(|journal| journal.limits());
            if !limits.is_some_and(AttemptLimits::replace) {
                return Err(error);
            }
            call(cheaper, request).await
        }
        served => served,
    }
}
