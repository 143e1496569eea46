//! Builds the spans of a finished request: one server span and a client span per
//! upstream call.

use majordomo::llm::redact;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};

use super::attributes::{Attributes, number, word};
use super::preset_ids::PresetIds;
use super::{Spans, names, parent};
use crate::outcome::{AttemptSummary, RequestOutcome};
use crate::record::FinishedRequest;

impl Spans {
    /// Exports the spans of a request.
    pub(super) fn export(&self, record: &FinishedRequest) {
        let method = record.endpoint.method;
        let name = match record.endpoint.path {
            Some(path) => format!("{method} {path}"),
            None => method.to_owned(),
        };
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Server)
            .with_start_time(record.arrived)
            .with_attributes(request_attributes(record).into_inner());
        let parent = parent::context(record.trace_parent.as_ref());
        let build = || self.tracer.build_with_context(builder, &parent);
        let mut span = PresetIds::with(record.span_ids, build);
        if !span.is_recording() {
            return;
        }
        if is_error(record) {
            let reason = record.reason.clone().unwrap_or_default();
            span.set_status(Status::error(reason));
        }
        let context = Context::new().with_span(span);
        self.export_calls(record, &context);
        let ended = record.arrived + record.took;
        context.span().end_with_timestamp(ended);
    }
}

fn request_attributes(record: &FinishedRequest) -> Attributes {
    let text = |text: &str| text.to_owned();
    let mut attributes = Attributes::default();
    attributes.set(names::HTTP_METHOD, record.endpoint.method);
    attributes.set_known(names::HTTP_ROUTE, record.endpoint.path);
    // A client that disconnected before the response received no status.
    let begun = record.outcome != RequestOutcome::ClientGone || record.stream;
    let status = begun.then_some(i64::from(record.status));
    attributes.set_known(names::HTTP_STATUS, status);
    attributes.set_known(names::ERROR_TYPE, error_type(record));
    attributes.set(names::REQUEST_ID, text(&record.id));
    attributes.set_known(names::KEY, record.caller.key.as_deref().map(text));
    attributes.set(names::DIALECT, text(record.dialect.as_str()));
    let model = Some(&*record.model).filter(|model| !model.is_empty());
    attributes.set_known(names::MODEL, model.map(redact));
    attributes.set_known(names::ROUTE, record.route().map(text));
    attributes.set_known(names::RULE, record.rule().map(text));
    attributes.set_known(names::TARGET, record.target.as_deref().map(text));
    let sent = record.attempts_sent.unwrap_or_default();
    attributes.set(names::ATTEMPTS, number(sent as u64));
    let skipped = record
        .attempts
        .iter()
        .filter(|attempt| attempt.outcome == "skipped");
    attributes.list(names::SKIPPED, skipped.map(skipped_target));
    attributes.set(names::CHANGES, number(record.change_count as u64));
    attributes.set(names::OUTCOME, record.outcome.name());
    attributes
}

/// Whether the server span is an error: the gateway's or a target's, not the client's.
fn is_error(record: &FinishedRequest) -> bool {
    match record.outcome {
        RequestOutcome::Interrupted => true,
        RequestOutcome::Failed => record.status >= 500,
        RequestOutcome::Complete | RequestOutcome::ClientGone => false,
    }
}

fn error_type(record: &FinishedRequest) -> Option<String> {
    is_error(record).then(|| match record.outcome {
        RequestOutcome::Failed => record.status.to_string(),
        outcome => outcome.name().to_owned(),
    })
}

/// A skipped target, and why.
fn skipped_target(attempt: &AttemptSummary) -> String {
    let why = attempt.class.map_or_else(|| "benched".to_owned(), word);
    format!("{}: {why}", attempt.target)
}
