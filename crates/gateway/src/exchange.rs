//! One request from its admitted to its end, and the line that is logged of it.
//!
//! Whoever holds it may drop it at any time: the line is written then, once, and
//! says how far things went. It never holds content or a key.

use std::sync::Arc;
use std::time::Duration;

use majordomo::{AttemptLog, Chain, Change, Error, Event, Model, Usage};
#[cfg(feature = "otel")]
use majordomo::{Request, Response};
use majordomo_vision::{DescribeCall, Scope};
use majordomo_wire::Loss;
use tokio::time::Instant;

use crate::clip::clip;
use crate::clock::wall_clock;
use crate::fronts::Front;
use crate::metrics::Metrics;
use crate::outcome::{End, Ended, MAX_MODEL_NAME, MAX_TEXT, Tried, reason};
use crate::routes::RouteTrace;
#[cfg(feature = "otel")]
use crate::telemetry::{Finished, Watch};
use crate::traces::{Described, Record, Traces};

/// What is known of a request so far.
pub(crate) struct Exchange {
    /// Its id, which the client gets, too.
    pub(crate) id: Arc<str>,
    began: Instant,
    front: Front,
    key: Option<Arc<str>>,
    asked: String,
    target: Option<String>,
    /// Known when somebody serves, or nobody does.
    attempts: Option<usize>,
    changes: Vec<Change>,
    usage: Usage,
    first_token: Option<Duration>,
    status: u16,
    end: End,
    reason: Option<String>,
    tried: Vec<Tried>,
    /// The targets that may serve it, in order, and why they are these.
    candidates: String,
    route: Option<RouteTrace>,
    /// Where its images are described.
    scope: Option<Scope>,
    streaming: bool,
    metrics: Arc<Metrics>,
    traces: Arc<Traces>,
    /// What spans tell beside all this, if they go anywhere.
    #[cfg(feature = "otel")]
    watch: Option<Box<Watch>>,
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
            asked: String::new(),
            target: None,
            attempts: None,
            changes: Vec::new(),
            usage: Usage::default(),
            first_token: None,
            status: 200,
            end: End::default(),
            reason: None,
            tried: Vec::new(),
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

    /// Its answer is a stream.
    pub(crate) fn streams(&mut self) {
        if !std::mem::replace(&mut self.streaming, true) {
            self.metrics.open_streams.up();
        }
    }

    /// Who asks.
    pub(crate) fn by(&mut self, key: Option<Arc<str>>) {
        self.key = key;
    }

    /// The model that was asked for.
    pub(crate) fn asks_for(&mut self, model: &str) {
        self.asked = clip(model, MAX_MODEL_NAME).to_owned();
    }

    /// Its images are described here, should that be needed.
    pub(crate) fn describes_in(&mut self, scope: Scope) {
        self.scope = Some(scope);
    }

    /// Who may serve it, and why they.
    pub(crate) fn goes_to(&mut self, chain: &Chain, route: Option<RouteTrace>) {
        if self.is_told() {
            chain.name().clone_into(&mut self.candidates);
            self.route = route;
        }
    }

    /// Whether somebody may ask why it went where it went.
    fn is_told(&self) -> bool {
        #[cfg(feature = "otel")]
        if self.watch.is_some() {
            return true;
        }
        self.traces.are_kept()
    }

    /// Changes that were made before any target was chosen.
    pub(crate) fn changed(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.changes.extend(changes);
    }

    /// Somebody answers.
    pub(crate) fn served(&mut self, target: &str, attempt_log: &AttemptLog) {
        self.target = Some(clip(target, MAX_TEXT).to_owned());
        self.attempts = Some(attempt_log.calls());
        self.tried = Tried::all(attempt_log);
        self.changes.extend_from_slice(attempt_log.changes());
    }

    /// A whole answer came.
    pub(crate) fn complete(&mut self, usage: Usage) {
        self.usage = usage;
        self.end = End::Complete;
    }

    /// An event of the answer passes by.
    pub(crate) fn saw(&mut self, event: &Event) {
        #[cfg(feature = "otel")]
        if let Some(watch) = &mut self.watch {
            watch.saw(event, || self.began.elapsed());
        }
        match event {
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(_) => self.end = End::Complete,
            event if self.first_token.is_none() && event.is_semantic() => {
                self.first_token = Some(self.began.elapsed());
            }
            _ => {}
        }
    }

    /// What the client's dialect could not say.
    pub(crate) fn lost(&mut self, losses: Vec<Loss>) {
        self.changes.extend(losses.into_iter().map(Change::from));
    }

    /// The answer broke off.
    pub(crate) fn broke(&mut self, error: &Error) {
        self.end = End::Interrupted;
        // Of a stream that nobody began, only the error knows who was asked.
        if self.attempts.is_none() && !error.attempt_log().attempts.is_empty() {
            self.attempts = Some(error.attempt_log().calls());
            self.tried = Tried::all(error.attempt_log());
        }
        self.reason = Some(reason(error));
        #[cfg(feature = "otel")]
        if let Some(watch) = &mut self.watch {
            watch.broke(error, self.began.elapsed());
        }
    }

    /// There is no answer.
    pub(crate) fn failed(&mut self, error: &Error, status: u16) {
        self.end = End::Failed;
        self.status = status;
        self.attempts = Some(error.attempt_log().calls());
        self.tried = Tried::all(error.attempt_log());
        self.reason = Some(reason(error));
    }

    /// Who serves, if somebody does.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// How many requests went out, once that is known.
    pub(crate) fn attempts(&self) -> Option<usize> {
        self.attempts
    }

    /// What was altered.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }
}

#[cfg(feature = "otel")]
impl Exchange {
    /// Spans will be made of it.
    pub(crate) fn watched(&mut self, watch: Watch) {
        self.watch = Some(Box::new(watch));
    }

    /// Targets are asked from now on.
    pub(crate) fn asks(&mut self, request: Option<&Request>) {
        if let Some(watch) = &mut self.watch {
            watch.asks(request, self.began.elapsed());
        }
    }

    /// What a whole answer says of itself.
    pub(crate) fn answered(&mut self, response: &Response) {
        if let Some(watch) = &mut self.watch {
            watch.answered(response);
        }
    }
}

impl Exchange {
    /// Leaves what is known for the operator. Nothing is written out before
    /// somebody asks for it.
    fn keep(&mut self, took: Duration, calls: &[DescribeCall]) {
        self.traces.keep(Record {
            id: Arc::clone(&self.id),
            ended: wall_clock(),
            took,
            first_token: self.first_token,
            key: self.key.take(),
            dialect: self.front.dialect(),
            stream: self.streaming,
            model: std::mem::take(&mut self.asked),
            route: self.route.take(),
            candidates: std::mem::take(&mut self.candidates),
            attempts: std::mem::take(&mut self.tried),
            described: calls.iter().map(Described::from).collect(),
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
            self.end = End::Failed;
            self.status = 500;
            self.reason = Some("a panic".to_owned());
        }
        let took = self.began.elapsed();
        if self.streaming {
            self.metrics.open_streams.down();
        }
        self.metrics.open_requests.down();
        let calls = self.scope.as_ref().map(Scope::calls).unwrap_or_default();
        let dialect = self.front.dialect();
        let ended = Ended {
            dialect: dialect.as_str(),
            end: self.end,
            status: self.status,
            target: self.target.as_deref(),
            tried: &self.tried,
            changes: &self.changes,
            described: &calls,
            usage: self.usage,
            took,
            first_token: self.first_token,
        };
        self.metrics.ended(&ended);
        #[cfg(feature = "otel")]
        if let Some(watch) = self.watch.take() {
            watch.tell(&Finished {
                ended: &ended,
                id: &self.id,
                began: self.began,
                key: self.key.as_ref(),
                model: &self.asked,
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
            model = self.asked,
            target = self.target,
            attempts = self.attempts,
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
        // Whoever named no model asked nothing that could be traced.
        if self.traces.are_kept() && !self.asked.is_empty() {
            self.keep(took, &calls);
        }
    }
}

#[cfg(test)]
mod tests {
    use majordomo::{Attempt, AttemptOutcome, Class, ErrorKind};

    use super::*;
    use crate::config::ServerSettings;

    #[test]
    fn a_stream_that_nobody_began_has_its_attempts_from_the_error() {
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
        exchange.streams();
        let error = Error::new(ErrorKind::Exhausted, "nobody could");
        exchange.broke(&error.with_attempt_log(attempt_log));
        drop(exchange);
        let page = metrics.page(&[], true);
        let line = "majordomo_attempts_total{target=\"up/m\",outcome=\"failed\"} 1";
        assert!(page.contains(line), "{page}");
    }
}
