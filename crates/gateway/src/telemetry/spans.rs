//! Builds the spans of a finished request: one server span and a client span per
//! upstream call.
//!
//! All timestamps derive from the wall clock at the request's end; durations are
//! subtracted from it.

use std::sync::Arc;

use majordomo::llm::redact;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use tokio::time::Instant;

use super::attributes::{Attributes, number, word};
use super::calls::was_called;
use super::names;
use super::watch::RequestWatch;
use crate::clock::wall_clock;
use crate::outcome::RequestOutcome;
use crate::outcome::{AttemptSummary, FinishedRequest};
use crate::routes::RouteTrace;

/// A finished request, as input for its spans.
pub(crate) struct RequestSpanData<'a> {
    pub(crate) ended: &'a FinishedRequest<'a>,
    pub(crate) id: &'a str,
    pub(crate) began: Instant,
    pub(crate) key: Option<&'a Arc<str>>,
    pub(crate) model: &'a str,
    pub(crate) route: Option<&'a RouteTrace>,
    pub(crate) stream: bool,
    pub(crate) reason: Option<&'a str>,
}

impl RequestWatch {
    /// Exports the spans.
    pub(crate) fn export(self, finished: &RequestSpanData<'_>) {
        let ended = finished.ended;
        let now = wall_clock();
        let arrived = now.checked_sub(ended.took).unwrap_or(now);
        let name = match self.route {
            Some(route) => format!("{} {route}", self.method),
            None => self.method.to_owned(),
        };
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Server)
            .with_start_time(arrived)
            .with_attributes(self.request_attributes(finished).into_inner());
        let mut span = self.tracer.build_with_context(builder, &self.parent);
        if !span.is_recording() {
            return;
        }
        if is_error(ended) {
            let reason = finished.reason.unwrap_or_default().to_owned();
            span.set_status(Status::error(reason));
        }
        let context = Context::new().with_span(span);
        self.export_calls(finished, arrived, &context);
        for call in ended.described {
            self.export_describe_calls(call, finished.began, arrived, &context);
        }
        context.span().end_with_timestamp(now);
    }

    fn request_attributes(&self, finished: &RequestSpanData<'_>) -> Attributes {
        let ended = finished.ended;
        let (called, skipped): (Vec<&AttemptSummary>, Vec<&AttemptSummary>) = ended
            .attempts
            .iter()
            .partition(|attempt| was_called(attempt));
        let text = |text: &str| text.to_owned();
        let mut attributes = Attributes::default();
        attributes.set(names::HTTP_METHOD, self.method);
        attributes.set_known(names::HTTP_ROUTE, self.route);
        // A client that disconnected before the response received no status.
        let begun = ended.end != RequestOutcome::ClientGone || finished.stream;
        attributes.set_known(names::HTTP_STATUS, begun.then_some(i64::from(ended.status)));
        attributes.set_known(names::ERROR_TYPE, error_type(ended));
        attributes.set(names::REQUEST_ID, text(finished.id));
        attributes.set_known(names::KEY, finished.key.map(|key| text(key)));
        attributes.set(names::DIALECT, text(ended.dialect));
        let model = Some(finished.model).filter(|model| !model.is_empty());
        attributes.set_known(names::MODEL, model.map(redact));
        attributes.set_known(names::ROUTE, finished.route.map(|route| text(&route.route)));
        attributes.set_known(names::RULE, finished.route.and_then(rule));
        attributes.set_known(names::TARGET, ended.target.map(text));
        attributes.set(names::ATTEMPTS, number(called.len() as u64));
        attributes.list(names::SKIPPED, skipped.into_iter().map(skipped_target));
        attributes.set(names::CHANGES, number(ended.changes.len() as u64));
        attributes.set(names::OUTCOME, ended.end.name());
        attributes
    }
}

/// The rule that matched, if rules were traced.
fn rule(route: &RouteTrace) -> Option<String> {
    let rules = route.rules.as_ref()?.trace().rules;
    let matched = rules.into_iter().find(|rule| rule.matched);
    matched.map(|rule| rule.name)
}

/// Whether the server span is an error: the gateway's or a target's, not the client's.
fn is_error(ended: &FinishedRequest<'_>) -> bool {
    match ended.end {
        RequestOutcome::Interrupted => true,
        RequestOutcome::Failed => ended.status >= 500,
        RequestOutcome::Complete | RequestOutcome::ClientGone => false,
    }
}

fn error_type(ended: &FinishedRequest<'_>) -> Option<String> {
    is_error(ended).then(|| match ended.end {
        RequestOutcome::Failed => ended.status.to_string(),
        end => end.name().to_owned(),
    })
}

/// A skipped target, and why.
fn skipped_target(attempt: &AttemptSummary) -> String {
    let why = attempt.class.map_or_else(|| "benched".to_owned(), word);
    format!("{}: {why}", attempt.target)
}
