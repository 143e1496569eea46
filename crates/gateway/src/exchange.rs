//! The lifecycle of one request, from arrival to end, and its log line.
//!
//! May be dropped at any time: the drop logs the request once, with what is known so
//! far. Never holds content or a key.

use std::sync::Arc;
use std::time::Duration;

use majordomo::llm::{AttemptLog, Change};
use majordomo::{Chain, Error, Event, Model, Usage};
#[cfg(feature = "otel")]
use majordomo::{Request, Response};
use majordomo_vision::{DescribeCall, Scope};
use majordomo_wire::Loss;
use tokio::time::Instant;

use crate::clip::clip;
use crate::clock::wall_clock;
use crate::fronts::Front;
use crate::metrics::Metrics;
use crate::outcome::{
    AttemptSummary, FinishedRequest, MAX_MODEL_NAME, MAX_TEXT, RequestOutcome, reason,
};
use crate::routes::RouteTrace;
#[cfg(feature = "otel")]
use crate::telemetry::{RequestSpanData, RequestWatch};
use crate::traces::{DescribeTrace, RequestTrace, Traces};

/// What is known of a request.
pub(crate) struct Exchange {
    /// Also sent to the client.
    pub(crate) id: Arc<str>,
    began: Instant,
    front: Front,
    key: Option<Arc<str>>,
    model: String,
    target: Option<String>,
    /// Known once a target serves or all have failed.
    calls: Option<usize>,
    changes: Vec<Change>,
    usage: Usage,
    first_token: Option<Duration>,
    status: u16,
    end: RequestOutcome,
    reason: Option<String>,
    attempts: Vec<AttemptSummary>,
    /// Candidate targets, in order.
    candidates: String,
    route: Option<RouteTrace>,
    /// The scope of its image descriptions.
    scope: Option<Scope>,
    streaming: bool,
    metrics: Arc<Metrics>,
    traces: Arc<Traces>,
    /// Additional data for spans, if they are exported.
    #[cfg(feature = "otel")]
    watch: Option<Box<RequestWatch>>,
}

impl Exchange {
    pub(crate) fn new(
        id: Arc<str>,
        front: Front,
        metrics: Arc<Metrics>,
        traces: Arc<Traces>,
    ) -> Self {
        metrics.open_requests.up();
        Self {
            id,
            began: Instant::now(),
            front,
            key: None,
            model: String::new(),
            target: None,
            calls: None,
            changes: Vec::new(),
            usage: Usage::default(),
            first_token: None,
            status: 200,
            end: RequestOutcome::default(),
            reason: None,
            attempts: Vec::new(),
            candidates: String::new(),
            route: None,
            scope: None,
            streaming: false,
            metrics,
            traces,
            #[cfg(feature = "otel")]
            watch: None,
        }
    }

    /// Marks the response as a stream.
    pub(crate) fn start_stream(&mut self) {
        if !std::mem::replace(&mut self.streaming, true) {
            self.metrics.open_streams.up();
        }
    }

    /// Sets the name of the client's key.
    pub(crate) fn set_key(&mut self, key: Option<Arc<str>>) {
        self.key = key;
    }

    /// Sets the requested model.
    pub(crate) fn set_model(&mut self, model: &str) {
        self.model = clip(model, MAX_MODEL_NAME).to_owned();
    }

    /// Sets the scope of image descriptions, should any be needed.
    pub(crate) fn set_describe_scope(&mut self, scope: Scope) {
        self.scope = Some(scope);
    }

    /// Sets the candidate targets and the routing decision.
    pub(crate) fn set_route(&mut self, chain: &Chain, route: Option<RouteTrace>) {
        if self.is_traced() {
            chain.name().clone_into(&mut self.candidates);
            self.route = route;
        }
    }

    /// Whether the routing decision is traced or exported.
    fn is_traced(&self) -> bool {
        #[cfg(feature = "otel")]
        if self.watch.is_some() {
            return true;
        }
        self.traces.are_kept()
    }

    /// Adds changes made before a target was chosen.
    pub(crate) fn add_changes(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.changes.extend(changes);
    }

    /// Records the serving target and its attempt log.
    pub(crate) fn served(&mut self, target: &str, attempt_log: &AttemptLog) {
        self.target = Some(clip(target, MAX_TEXT).to_owned());
        self.calls = Some(attempt_log.calls());
        self.attempts = AttemptSummary::all(attempt_log);
        self.changes.extend_from_slice(attempt_log.changes());
    }

    /// Records a complete response.
    pub(crate) fn complete(&mut self, usage: Usage) {
        self.usage = usage;
        self.end = RequestOutcome::Complete;
    }

    /// Observes an event of the response.
    pub(crate) fn observe(&mut self, event: &Event) {
        #[cfg(feature = "otel")]
        if let Some(watch) = &mut self.watch {
            watch.observe(event, || self.began.elapsed());
        }
        match event {
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(_) => self.end = RequestOutcome::Complete,
            event if self.first_token.is_none() && event.is_semantic() => {
                self.first_token = Some(self.began.elapsed());
            }
            _ => {}
        }
    }

    /// Adds the losses of the client's dialect.
    pub(crate) fn add_losses(&mut self, losses: Vec<Loss>) {
        self.changes.extend(losses.into_iter().map(Change::from));
    }

    /// Records an interrupted response.
    pub(crate) fn interrupted(&mut self, error: &Error) {
        self.end = RequestOutcome::Interrupted;
        // If the stream never opened, only the error has the attempt log.
        if self.calls.is_none() && !error.attempt_log().attempts.is_empty() {
            self.calls = Some(error.attempt_log().calls());
            self.attempts = AttemptSummary::all(error.attempt_log());
        }
        self.reason = Some(reason(error));
        #[cfg(feature = "otel")]
        if let Some(watch) = &mut self.watch {
            watch.interrupted(error, self.began.elapsed());
        }
    }

    /// Records a request that ends with an error response.
    pub(crate) fn failed(&mut self, error: &Error, status: u16) {
        self.end = RequestOutcome::Failed;
        self.status = status;
        self.calls = Some(error.attempt_log().calls());
        self.attempts = AttemptSummary::all(error.attempt_log());
        self.reason = Some(reason(error));
    }

    /// The serving target, if any.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Number of upstream calls, once known.
    pub(crate) fn attempts(&self) -> Option<usize> {
        self.calls
    }

    /// All changes so far.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }
}

#[cfg(feature = "otel")]
impl Exchange {
    /// Exports spans of this request.
    pub(crate) fn set_watch(&mut self, watch: RequestWatch) {
        self.watch = Some(Box::new(watch));
    }

    /// Records the start of the chain.
    pub(crate) fn chain_started(&mut self, request: Option<&Request>) {
        if let Some(watch) = &mut self.watch {
            watch.chain_started(request, self.began.elapsed());
        }
    }

    /// Records the metadata of a whole response.
    pub(crate) fn observe_response(&mut self, response: &Response) {
        if let Some(watch) = &mut self.watch {
            watch.observe_response(response);
        }
    }
}

impl Exchange {
    /// Stores the record for the operator. It is serialized only when queried.
    fn keep(&mut self, took: Duration, calls: &[DescribeCall]) {
        self.traces.keep(RequestTrace {
            id: Arc::clone(&self.id),
            ended: wall_clock(),
            took,
            first_token: self.first_token,
            key: self.key.take(),
            dialect: self.front.dialect(),
            stream: self.streaming,
            model: std::mem::take(&mut self.model),
            route: self.route.take(),
            candidates: std::mem::take(&mut self.candidates),
            attempts: std::mem::take(&mut self.attempts),
            described: calls.iter().map(DescribeTrace::from).collect(),
            changes: std::mem::take(&mut self.changes),
            usage: self.usage,
            status: self.status,
            outcome: self.end.name(),
            reason: self.reason.take(),
        });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.end = RequestOutcome::Failed;
            self.status = 500;
            self.reason = Some("panic".to_owned());
        }
        let took = self.began.elapsed();
        if self.streaming {
            self.metrics.open_streams.down();
        }
        self.metrics.open_requests.down();
        let calls = self.scope.as_ref().map(Scope::calls).unwrap_or_default();
        let dialect = self.front.dialect();
        let ended = FinishedRequest {
            dialect: dialect.as_str(),
            end: self.end,
            status: self.status,
            target: self.target.as_deref(),
            attempts: &self.attempts,
            changes: &self.changes,
            described: &calls,
            usage: self.usage,
            took,
            first_token: self.first_token,
        };
        self.metrics.record(&ended);
        #[cfg(feature = "otel")]
        if let Some(watch) = self.watch.take() {
            watch.export(&RequestSpanData {
                ended: &ended,
                id: &self.id,
                began: self.began,
                key: self.key.as_ref(),
                model: &self.model,
                route: self.route.as_ref(),
                stream: self.streaming,
                reason: self.reason.as_deref(),
            });
        }
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        let described = (!calls.is_empty()).then(|| {
            calls
                .iter()
                .fold(Usage::default(), |sum, call| sum + call.usage)
        });
        tracing::info!(
            request = &*self.id,
            key = self.key.as_deref(),
            dialect = %dialect,
            model = self.model,
            target = self.target,
            attempts = self.calls,
            changes = self.changes.len(),
            input_tokens = self.usage.input,
            output_tokens = self.usage.output,
            describe_calls = described.map(|_| calls.len()),
            describe_input_tokens = described.map(|usage| usage.input),
            describe_output_tokens = described.map(|usage| usage.output),
            first_token_ms = self.first_token.map(milliseconds),
            took_ms = milliseconds(took),
            status = self.status,
            outcome = self.end.name(),
            reason = self.reason,
            "served"
        );
        // A request without a model is not traced.
        if self.traces.are_kept() && !self.model.is_empty() {
            self.keep(took, &calls);
        }
    }
}

#[cfg(test)]
mod tests {
    use majordomo::llm::{Attempt, AttemptOutcome};
    use majordomo::{Class, ErrorKind};

    use super::*;
    use crate::config::ServerSettings;

    #[test]
    fn a_stream_that_never_opened_takes_its_attempts_from_the_error() {
        let attempt_log = AttemptLog {
            attempts: vec![Attempt {
                target: "up/m".to_owned(),
                at: Duration::ZERO,
                took: Duration::ZERO,
                changes: Vec::new(),
                outcome: AttemptOutcome::Failed {
                    class: Class::Transient,
                    status: Some(500),
                    reason: String::new(),
                },
            }],
        };
        let metrics = Arc::<Metrics>::default();
        let traces = Arc::new(Traces::new(&ServerSettings::default()));
        let mut exchange = Exchange::new("id".into(), Front::Chat, Arc::clone(&metrics), traces);
        exchange.start_stream();
        let error = Error::new(ErrorKind::Exhausted, "every target failed");
        exchange.interrupted(&error.with_attempt_log(attempt_log));
        drop(exchange);
        let page = metrics.page(&[], true);
        let line = "majordomo_attempts_total{target=\"up/m\",outcome=\"failed\"} 1";
        assert!(page.contains(line), "{page}");
    }
}
