//! Records as the ledger's rows.

use std::sync::Arc;

use majordomo::chain::AttemptKind as CallKind;
use majordomo_ledger::{
    AttemptKind, AttemptRow, FinishedRow, OpenAttempt, PriceRef, RequestId, RequestRow,
};

use crate::record::{FinishedRequest, StartedCall, UpstreamCall, unix_millis};

/// The id of a request, as its client received it.
fn request_id(id: &str, arrived: impl FnOnce() -> i64) -> RequestId {
    // An id of another form can only come from a test.
    id.parse()
        .unwrap_or_else(|_| RequestId::new(arrived(), fastrand::u64(..).into()))
}

/// The trace of an attempt that is about to be sent.
pub(super) fn opened(call: &StartedCall<'_>) -> OpenAttempt {
    OpenAttempt {
        request: request_id(call.id, super::now_millis),
        number: u16::try_from(call.number).unwrap_or(u16::MAX),
        kind: kind(call.kind),
        target: call.target.into(),
        key: call.caller.key.clone(),
        team: call.caller.team.clone(),
        model: Arc::clone(call.model),
        input_estimate: call.input_estimate,
        cost_if_lost: call.cost_estimate,
    }
}

fn kind(kind: CallKind) -> AttemptKind {
    match kind {
        CallKind::Describe => AttemptKind::Describe,
        CallKind::Embed => AttemptKind::Embed,
        CallKind::Count => AttemptKind::Count,
        CallKind::Image => AttemptKind::Image,
        _ => AttemptKind::Answer,
    }
}

pub(super) fn finished(record: &FinishedRequest) -> FinishedRow {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let request = RequestRow {
        id: request_id(&record.id, || unix_millis(record.arrived)),
        key: record.caller.key.clone(),
        team: record.caller.team.clone(),
        user: record.caller.user.clone(),
        tags: record.caller.tags.clone(),
        dialect: record.dialect.as_str().into(),
        route: record.route().map(Into::into),
        rule: record.rule().map(Into::into),
        model: record.model.as_str().into(),
        outcome: record.outcome.name().into(),
        status: record.status,
        duration_ms: millis(record.took),
        first_token_ms: record.first_token.map(millis),
    };
    let attempts = record.calls.iter().map(attempt).collect();
    FinishedRow { request, attempts }
}

fn attempt(call: &UpstreamCall) -> AttemptRow {
    let failure = call.class.map(|class| format!("{class:?}"));
    AttemptRow {
        number: u16::try_from(call.number).unwrap_or(u16::MAX),
        kind: kind(call.kind),
        target: call.target.as_str().into(),
        price: call.price.as_deref().map(PriceRef::from),
        used: call.quantities(),
        cost: call.cost,
        reported_cost: None,
        settle: call.settle,
        failure: failure.map(|text| Arc::from(text.as_str())),
    }
}
