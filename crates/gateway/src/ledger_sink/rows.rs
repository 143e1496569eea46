//! Records as the ledger's rows.

use std::sync::Arc;

use majordomo::chain::AttemptKind as CallKind;
use majordomo_ledger::{
    AttemptKind, AttemptRow, FinishedRow, OpenAttempt, PriceRef, Quantities, RequestId, RequestRow,
};

use crate::record::{FinishedRequest, RoutedRequest, UpstreamCall, unix_millis};

/// The id of a request in the ledger: its arrival, and the random part of its own id.
fn request_id(id: &str, arrived_millis: i64) -> RequestId {
    // Ids are base 32: five bits per letter.
    let random = id.bytes().fold(0_u128, |bits, letter| {
        let digit = match letter {
            b'a'..=b'z' => letter - b'a',
            _ => letter.wrapping_sub(b'2').wrapping_add(26) & 31,
        };
        (bits << 5) | u128::from(digit)
    });
    RequestId::new(arrived_millis, random)
}

/// The trace of a request that is about to be sent. Its target is not chosen yet.
pub(super) fn opened(request: &RoutedRequest<'_>) -> OpenAttempt {
    OpenAttempt {
        request: request_id(request.id, unix_millis(request.arrived)),
        number: 1,
        kind: AttemptKind::Answer,
        target: "".into(),
        key: request.caller.key.clone(),
        team: request.caller.team.clone(),
        model: request.model.into(),
        input_estimate: 0,
        cost_if_lost: None,
    }
}

pub(super) fn finished(record: &FinishedRequest) -> FinishedRow {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let request = RequestRow {
        id: request_id(&record.id, unix_millis(record.arrived)),
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
        kind: match call.kind {
            CallKind::Describe => AttemptKind::Describe,
            CallKind::Embed => AttemptKind::Embed,
            CallKind::Count => AttemptKind::Count,
            _ => AttemptKind::Answer,
        },
        target: call.target.as_str().into(),
        price: call.price.as_deref().map(PriceRef::from),
        used: Quantities::from(&call.usage),
        cost: call.cost,
        reported_cost: None,
        settle: call.settle,
        failure: failure.map(|text| Arc::from(text.as_str())),
    }
}
