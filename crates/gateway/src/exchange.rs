//! The lifecycle of one request, from arrival to end.
//!
//! May be dropped at any time: the drop hands the record to the sinks, once, with everything
//! known so far. Never holds content or a key.

use std::sync::Arc;
use std::time::Duration;

use majordomo::chain::{AttemptGate, AttemptKind};
use majordomo::llm::{AttemptLog, Change};
use majordomo::{Chain, Class, Event, Model, Request, Response, Usage};
use majordomo_ledger::Cost;
use majordomo_limits::Refusal;
use majordomo_vision::Scope;
use majordomo_wire::Loss;
use tokio::time::Instant;

use crate::call_journal::{CallJournal, JournalRequest};
use crate::capture::CaptureWriter;
use crate::clip::clip;
use crate::clock::wall_clock;
use crate::fronts::{EndpointLabels, Front};
use crate::identity::CallerIdentity;
use crate::outcome::{AttemptSummary, MAX_MODEL_NAME, MAX_TEXT, RequestOutcome, reason};
use crate::pricing::Pricing;
use crate::quota::{AttemptLimits, CallerLimits};
use crate::record::{
    Description, FinishedRequest, Needs, RequestKind, ResponseMetadata, RoutedRequest, Sinks,
    SpanIds, StartedRequest, TraceParent, UpstreamCall, UsageSource, charge, cut, limit_changes,
};
use crate::refusal::RequestError;
use crate::routes::RouteTrace;

/// A request in progress, and its record so far.
pub(crate) struct Exchange {
    sinks: Arc<Sinks>,
    needs: Needs,
    began: Instant,
    /// When the chain began, since the request's arrival.
    routed: Duration,
    /// The journal of calls to providers, once there may be calls.
    journal: Option<Arc<CallJournal>>,
    /// The scope of its image descriptions.
    scope: Option<Scope>,
    /// The limits of the caller.
    limits: Option<Arc<CallerLimits>>,
    /// If its key opted in.
    captured: Option<CaptureWriter>,
    /// Boxed, because every future that an exchange passes through has room for it.
    record: Box<FinishedRequest>,
}

/// The facts known about a request when it arrives.
pub(crate) struct Arrival {
    /// Also sent to the client.
    pub(crate) id: Arc<str>,
    pub(crate) front: Front,
    pub(crate) kind: RequestKind,
    pub(crate) endpoint: EndpointLabels,
    /// The client's program, if it is known.
    pub(crate) client: Option<&'static str>,
}

impl Exchange {
    pub(crate) fn new(arrival: Arrival, sinks: Arc<Sinks>) -> Self {
        let record = Box::new(FinishedRequest {
            id: arrival.id,
            dialect: arrival.front.dialect(),
            kind: arrival.kind,
            endpoint: arrival.endpoint,
            client: arrival.client,
            arrived: wall_clock(),
            ..FinishedRequest::default()
        });
        sinks.started(&StartedRequest {
            id: &record.id,
            dialect: &record.dialect,
            kind: record.kind,
            client: record.client,
            arrived: record.arrived,
        });
        Self {
            needs: sinks.needs(),
            sinks,
            journal: None,
            began: Instant::now(),
            routed: Duration::ZERO,
            scope: None,
            limits: None,
            captured: None,
            record,
        }
    }

    /// The id, which is also sent to the client.
    pub(crate) fn id(&self) -> &str {
        &self.record.id
    }

    /// The kind of the request.
    pub(crate) fn kind(&self) -> RequestKind {
        self.record.kind
    }

    /// The gate that every call of this request passes, at these prices. Its key and model
    /// are known by now.
    pub(crate) fn gate(&mut self, pricing: &Arc<Pricing>) -> Arc<dyn AttemptGate> {
        let journal = self.journal.get_or_insert_with(|| {
            let request = JournalRequest {
                id: Arc::clone(&self.record.id),
                began: self.began.into_std(),
                arrived: self.record.arrived,
                caller: self.record.caller.clone(),
                model: self.record.model.as_str().into(),
                pricing: Arc::clone(pricing),
            };
            let limits = self.limits.as_ref();
            let limits =
                limits.map(|limits| AttemptLimits::new(Arc::clone(limits), Arc::clone(pricing)));
            CallJournal::new(request, Arc::clone(&self.sinks), limits)
        });
        Arc::clone(journal) as _
    }

    /// Sets the limits of the caller.
    pub(crate) fn set_limits(&mut self, limits: Option<Arc<CallerLimits>>) {
        self.limits = limits;
    }

    /// The limits of the caller.
    pub(crate) fn limits(&self) -> Option<&Arc<CallerLimits>> {
        self.limits.as_ref()
    }

    /// The calls, once there may be any.
    pub(crate) fn journal(&self) -> Option<Arc<CallJournal>> {
        self.journal.clone()
    }

    /// Why limits refused an attempt.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.journal.as_ref()?.limits()?.refusal()
    }

    /// Budgets with `warn` that this request exceeds.
    pub(crate) fn exceeded_budgets(&self) -> Vec<String> {
        let limits = self.journal.as_ref().and_then(|journal| journal.limits());
        limits.map(AttemptLimits::exceeded).unwrap_or_default()
    }

    /// Sets the client's parent span, if a sink needs it.
    pub(crate) fn set_trace_parent(&mut self, parent: impl FnOnce() -> Option<TraceParent>) {
        if self.needs.metadata {
            self.record.trace_parent = parent();
            let ids = self.record.trace_parent.as_ref();
            let ids = ids.and_then(TraceParent::ids);
            self.record.span_ids = Some(SpanIds::below(ids));
        }
    }

    /// The request's own span, if a sink needs it.
    pub(crate) fn span_ids(&self) -> Option<SpanIds> {
        self.record.span_ids
    }

    /// Records the id that the client gave the request.
    pub(crate) fn set_client_request_id(&mut self, id: Option<&str>) {
        self.record.client_request_id = id.map(Box::from);
    }

    /// The id that the client gave the request.
    pub(crate) fn client_request_id(&self) -> Option<&str> {
        self.record.client_request_id.as_deref()
    }

    /// Marks the response as a stream.
    pub(crate) fn start_stream(&mut self) {
        if !std::mem::replace(&mut self.record.stream, true) {
            self.sinks.streaming(&self.record.id);
        }
    }

    /// Sets who the request is counted for.
    pub(crate) fn set_caller(&mut self, caller: CallerIdentity) {
        self.record.caller = caller;
    }

    /// The identity that the request is counted for.
    pub(crate) fn caller(&self) -> &CallerIdentity {
        &self.record.caller
    }

    /// Sets the requested model.
    pub(crate) fn set_model(&mut self, model: &str) {
        self.record.model = clip(model, MAX_MODEL_NAME).to_owned();
    }

    /// The requested model; empty until it is known.
    pub(crate) fn model(&self) -> &str {
        &self.record.model
    }

    /// Sets the scope of image descriptions, should any be needed.
    pub(crate) fn set_describe_scope(&mut self, scope: Scope) {
        self.scope = Some(scope);
    }

    /// Sets where the descriptions of its images are kept.
    pub(crate) fn set_capture(&mut self, captured: Option<CaptureWriter>) {
        self.captured = captured;
    }

    /// Records the routing decision and the start of the chain. Only the settings of the
    /// request are kept, never its content.
    pub(crate) fn routed(
        &mut self,
        chain: &Chain,
        route: Option<RouteTrace>,
        request: Option<&Request>,
    ) {
        if self.needs.candidates {
            chain.name().clone_into(&mut self.record.candidates);
            cut(&mut self.record.candidates);
        }
        self.routed = self.began.elapsed();
        self.record.routing = route;
        self.record.parameters = request.map(Into::into).unwrap_or_default();
        self.sinks.routed(&RoutedRequest {
            id: &self.record.id,
            caller: &self.record.caller,
            model: &self.record.model,
            route: self.record.route(),
            arrived: self.record.arrived,
        });
    }

    /// Adds changes made before a target was chosen.
    pub(crate) fn add_changes(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.record.changes.extend(changes);
    }

    /// Records the serving target and its attempt log.
    pub(crate) fn served(&mut self, target: &str, attempt_log: &AttemptLog) {
        self.record.target = Some(clip(target, MAX_TEXT).to_owned());
        self.set_attempts(attempt_log);
        let limits = self.journal.as_ref().and_then(|journal| journal.limits());
        let replacement = limits.and_then(AttemptLimits::replacement);
        self.record.changes.extend(replacement);
        self.record.changes.extend_from_slice(attempt_log.changes());
    }

    /// Records a complete response.
    pub(crate) fn complete(&mut self, usage: Usage) {
        self.record.usage = usage;
        self.record.outcome = RequestOutcome::Complete;
    }

    /// Records the metadata of a whole response.
    pub(crate) fn observe_response(&mut self, response: &Response) {
        if self.needs.metadata {
            self.record.response = ResponseMetadata::from(response);
        }
    }

    /// Observes an event of the response.
    pub(crate) fn observe(&mut self, event: &Event) {
        if self.needs.metadata {
            self.record.response.observe(event);
        }
        match event {
            Event::Usage(usage) => self.record.usage = *usage,
            Event::Finish(_) => self.record.outcome = RequestOutcome::Complete,
            event if self.record.first_token.is_none() && event.is_semantic() => {
                self.record.first_token = Some(self.began.elapsed());
            }
            _ => {}
        }
    }

    /// Adds the losses of the client's dialect.
    pub(crate) fn add_losses(&mut self, losses: Vec<Loss>) {
        let changes = losses.into_iter().map(Change::from);
        self.record.changes.extend(changes);
    }

    /// Records an interrupted response.
    pub(crate) fn interrupted(&mut self, error: &RequestError, class: Class) {
        self.record.outcome = RequestOutcome::Interrupted;
        // If the stream never opened, only the error has the attempt log.
        if let RequestError::Failed(error) = error
            && self.record.attempts_sent.is_none()
            && !error.attempt_log().attempts.is_empty()
        {
            self.set_attempts(error.attempt_log());
        }
        self.record.reason = Some(reason(error));
        self.record.interrupted = Some(class);
    }

    /// Records a request that ends with an error response.
    pub(crate) fn failed(&mut self, error: &RequestError, status: u16) {
        self.record.outcome = RequestOutcome::Failed;
        self.record.status = status;
        match error {
            RequestError::Refused(_) => self.set_attempts(&AttemptLog::default()),
            RequestError::Failed(error) => self.set_attempts(error.attempt_log()),
        }
        self.record.reason = Some(reason(error));
    }

    fn set_attempts(&mut self, attempt_log: &AttemptLog) {
        self.record.attempts_sent = Some(attempt_log.calls());
        self.record.attempts = AttemptSummary::all(attempt_log, self.routed);
    }

    /// When the request arrived.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// The serving target, if any.
    pub(crate) fn target(&self) -> Option<&str> {
        self.record.target.as_deref()
    }

    /// Number of upstream calls, once known.
    pub(crate) fn attempts(&self) -> Option<usize> {
        self.record.attempts_sent
    }

    /// All changes so far.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.record.changes
    }

    /// What the request has cost, if all prices are known and a provider was called.
    pub(crate) fn cost(&self) -> Option<Cost> {
        self.journal.as_ref()?.cost()
    }

    /// Completes the record and takes it.
    fn finish(&mut self) -> FinishedRequest {
        let mut record = std::mem::take(&mut *self.record);
        record.took = self.began.elapsed();
        let described = self.scope.as_ref().map(Scope::calls).unwrap_or_default();
        if let (Some(captured), Some(scope)) = (&self.captured, &self.scope) {
            captured.describe(scope.used());
        }
        self.settle(&mut record);
        charge(&mut record.calls);
        record.descriptions = described.iter().map(Description::from).collect();
        record.change_count = record.changes.len();
        limit_changes(&mut record.changes);
        record.reason.iter_mut().for_each(cut);
        if let Some(route) = &mut record.routing {
            let errors = route.processors.iter_mut().map(|ran| &mut ran.error);
            errors.flatten().for_each(cut);
        }
        record
    }

    /// Completes the record from its calls: with their number if the chain was dropped, and
    /// with the tokens that no provider reported.
    fn settle(&self, record: &mut FinishedRequest) {
        let Some(journal) = &self.journal else {
            return;
        };
        record.calls = journal.close(record.took);
        let own = |call: &&UpstreamCall| call.kind != AttemptKind::Describe;
        let Some(last) = record.calls.iter().rfind(own) else {
            return;
        };
        let count = || record.calls.iter().filter(own).count();
        record.attempts_sent.get_or_insert_with(count);
        let counted = matches!(
            last.usage_source,
            UsageSource::Partial | UsageSource::Estimated
        );
        if counted && last.kind == AttemptKind::Answer {
            record.usage = last.usage;
            record.usage_estimated = true;
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.record.outcome = RequestOutcome::Failed;
            self.record.status = 500;
            self.record.reason = Some("panic".to_owned());
        }
        let record = self.finish();
        self.sinks.finished(record);
    }
}

#[cfg(test)]
mod tests {
    use majordomo::llm::{Attempt, AttemptOutcome};
    use majordomo::{Error, ErrorKind};

    use super::*;
    use crate::metrics::Metrics;

    impl Arrival {
        /// A generation request that arrived at this front.
        pub(crate) fn at(front: Front) -> Self {
            Self {
                id: "id".into(),
                front,
                kind: RequestKind::Generate,
                endpoint: EndpointLabels::default(),
                client: None,
            }
        }
    }

    #[test]
    fn a_stream_that_never_opened_takes_its_attempts_from_the_error() {
        let attempt_log = AttemptLog::new(vec![Attempt {
            target: "up/m".to_owned(),
            at: Duration::ZERO,
            took: Duration::ZERO,
            changes: Vec::new(),
            outcome: AttemptOutcome::Failed {
                class: Class::Transient,
                status: Some(500),
                reason: String::new(),
            },
        }]);
        let metrics = Arc::<Metrics>::default();
        let sinks = Arc::new(Sinks::new([metrics.clone() as _]));
        let mut exchange = Exchange::new(Arrival::at(Front::Chat), sinks);
        exchange.start_stream();
        let error = Error::new(ErrorKind::Exhausted, "every target failed");
        let error = error.with_attempt_log(attempt_log).into();
        exchange.interrupted(&error, Class::Local);
        drop(exchange);
        let page = metrics.snapshot().text();
        let line = "majordomo_attempts_total{target=\"up/m\",outcome=\"failed\"} 1";
        assert!(page.contains(line), "{page}");
    }
}
