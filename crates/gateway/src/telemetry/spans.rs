//! Builds the spans of a finished request: one server span and a client span per
//! upstream call.
//!
//! All timestamps derive from the wall clock at the request's end; durations are
//! subtracted from it.

use std::sync::Arc;

use majordomo::redact;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use tokio::time::Instant;

use super::attributes::{Attributes, number, word};
use super::calls::was_asked;
use super::names;
use super::watch::Watch;
use crate::clock::wall_clock;
use crate::outcome::End;
use crate::outcome::{Ended, Tried};
use crate::routes::RouteTrace;

/// A finished request, as input for its spans.
pub(crate) struct Finished<'a> {
    pub(crate) ended: &'a Ended<'a>,
    pub(crate) id: &'a str,
    pub(crate) began: Instant,
    pub(crate) key: Option<&'a Arc<str>>,
    pub(crate) model: &'a str,
    pub(crate) route: Option<&'a RouteTrace>,
    pub(crate) stream: bool,
    pub(crate) reason: Option<&'a str>,
}

impl Watch {
    /// Exports the spans.
    pub(crate) fn tell(self, finished: &Finished<'_>) {
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
            .with_attributes(self.of_request(finished).into_inner());
        let mut span = self.tracer.build_with_context(builder, &self.parent);
        if !span.is_recording() {
            return;
        }
        if is_error(ended) {
            let reason = finished.reason.unwrap_or_default().to_owned();
            span.set_status(Status::error(reason));
        }
        let context = Context::new().with_span(span);
        self.tell_answers(finished, arrived, &context);
        for call in ended.described {
            self.tell_description(call, finished.began, arrived, &context);
        }
        context.span().end_with_timestamp(now);
    }

    fn of_request(&self, finished: &Finished<'_>) -> Attributes {
        let ended = finished.ended;
        let (asked, skipped): (Vec<&Tried>, Vec<&Tried>) =
            ended.tried.iter().partition(|tried| was_asked(tried));
        let text = |text: &str| text.to_owned();
        let mut told = Attributes::default();
        told.set(names::HTTP_METHOD, self.method);
        told.set_known(names::HTTP_ROUTE, self.route);
        // A client that disconnected before the response received no status.
        let begun = ended.end != End::ClientGone || finished.stream;
        told.set_known(names::HTTP_STATUS, begun.then_some(i64::from(ended.status)));
        told.set_known(names::ERROR_TYPE, error_type(ended));
        told.set(names::REQUEST_ID, text(finished.id));
        told.set_known(names::KEY, finished.key.map(|key| text(key)));
        told.set(names::DIALECT, text(ended.dialect));
        let model = Some(finished.model).filter(|model| !model.is_empty());
        told.set_known(names::MODEL, model.map(redact));
        told.set_known(names::ROUTE, finished.route.map(|route| text(&route.route)));
        told.set_known(names::RULE, finished.route.and_then(rule));
        told.set_known(names::TARGET, ended.target.map(text));
        told.set(names::ATTEMPTS, number(asked.len() as u64));
        told.list(names::SKIPPED, skipped.into_iter().map(skipped_target));
        told.set(names::CHANGES, number(ended.changes.len() as u64));
        told.set(names::OUTCOME, ended.end.name());
        told
    }
}

/// The rule that matched, if rules were traced.
fn rule(route: &RouteTrace) -> Option<String> {
    let rules = route.rules.as_ref()?.trace().rules;
    let matched = rules.into_iter().find(|rule| rule.matched);
    matched.map(|rule| rule.name)
}

/// Whether the server span is an error: the gateway's or a target's, not the client's.
fn is_error(ended: &Ended<'_>) -> bool {
    match ended.end {
        End::Interrupted => true,
        End::Failed => ended.status >= 500,
        End::Complete | End::ClientGone => false,
    }
}

fn error_type(ended: &Ended<'_>) -> Option<String> {
    is_error(ended).then(|| match ended.end {
        End::Failed => ended.status.to_string(),
        end => end.name().to_owned(),
    })
}

/// A skipped target, and why.
fn skipped_target(tried: &Tried) -> String {
    let why = tried.class.map_or_else(|| "benched".to_owned(), word);
    format!("{}: {why}", tried.target)
}
