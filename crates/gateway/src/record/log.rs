//! The log line of a finished request.

use std::sync::Arc;

use majordomo::Usage;

use super::{FinishedRequest, RequestSink, milliseconds};
use crate::outcome::RequestOutcome;

/// Writes one line per request. Its level and message follow the outcome, so that a
/// filter for warnings shows every failure that is not the client's.
pub(crate) struct RequestLog;

impl RequestSink for RequestLog {
    fn finished(&self, record: &Arc<FinishedRequest>) {
        let described = (!record.descriptions.is_empty()).then(|| {
            let descriptions = record.descriptions.iter();
            descriptions.fold(Usage::default(), |sum, described| sum + described.usage)
        });
        let charged = record.cost().filter(|_| !record.calls.is_empty());
        let cost = charged.map(tracing::field::display);
        let client_paid = record.calls.iter().any(|call| call.client_paid);
        // The level of an event is part of its static metadata.
        macro_rules! line {
            ($level:ident, $message:literal) => {
                tracing::$level!(
                    request = &*record.id,
                    client_request = record.client_request_id.as_deref(),
                    key = record.caller.key.as_deref(),
                    team = record.caller.team.as_deref(),
                    dialect = %record.dialect,
                    model = record.model,
                    target = record.target,
                    attempts = record.attempts_sent,
                    changes = record.change_count,
                    input_tokens = record.usage.input,
                    output_tokens = record.usage.output,
                    tokens_estimated = record.usage_estimated.then_some(true),
                    cost,
                    client_paid = client_paid.then_some(true),
                    describe_calls = described.map(|_| record.descriptions.len()),
                    describe_input_tokens = described.map(|usage| usage.input),
                    describe_output_tokens = described.map(|usage| usage.output),
                    first_token_ms = record.first_token.map(milliseconds),
                    took_ms = milliseconds(record.took),
                    status = record.status,
                    outcome = record.outcome.name(),
                    reason = record.reason,
                    $message
                )
            };
        }
        match record.outcome {
            RequestOutcome::Complete => line!(info, "served"),
            RequestOutcome::ClientGone => line!(info, "client disconnected"),
            RequestOutcome::Interrupted => line!(warn, "interrupted"),
            RequestOutcome::Failed if record.status < 500 => line!(info, "refused"),
            RequestOutcome::Failed => line!(warn, "failed"),
        }
    }
}
