//! The sinks that receive a server's requests.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use majordomo::BoxFuture;
use majordomo::chain::AttemptKind;
use majordomo::llm::Dialect;
use majordomo_ledger::Cost;

use super::{FinishedRequest, RequestKind};
use crate::identity::CallerIdentity;

/// Receives the start and the record of every request.
///
/// Runs on the request path: a sink that writes somewhere hands the record to a queue and
/// never waits. The record is shared, so keeping it costs no copy.
pub trait RequestSink: Send + Sync {
    /// The parts of the record that this sink needs.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// A request arrived; its key and model are not known yet.
    fn started(&self, _request: &StartedRequest<'_>) {}

    /// The request has a route and is about to be sent.
    fn routed(&self, _request: &RoutedRequest<'_>) {}

    /// A call to a provider begins.
    fn calling(&self, _call: &StartedCall<'_>) {}

    /// The response is a stream, which begins.
    fn streaming(&self, _id: &str) {}

    /// The request has ended. Called exactly once per request, even during a panic.
    fn finished(&self, record: &Arc<FinishedRequest>);

    /// The server stops: flushes the queue, within a bounded time.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Parts of a record that cost allocations and are left out unless a sink reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The chain's targets.
    pub candidates: bool,
    /// The client's parent span and the provider's response metadata.
    pub metadata: bool,
}

/// A request that arrived.
#[non_exhaustive]
pub struct StartedRequest<'a> {
    /// Its id.
    pub id: &'a Arc<str>,
    /// The client's dialect.
    pub dialect: &'a Dialect,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The client's program, if its headers tell: `Claude Code`.
    pub client: Option<&'static str>,
    /// The wall clock at arrival.
    pub arrived: SystemTime,
}

/// A request with a route.
#[non_exhaustive]
pub struct RoutedRequest<'a> {
    /// Its id.
    pub id: &'a str,
    /// The identity that it is counted for.
    pub caller: &'a CallerIdentity,
    /// The requested model.
    pub model: &'a str,
    /// The route's name, if the model is one.
    pub route: Option<&'a str>,
    /// The wall clock at arrival.
    pub arrived: SystemTime,
}

/// A call to a provider that begins.
#[non_exhaustive]
pub struct StartedCall<'a> {
    /// The request's id.
    pub id: &'a Arc<str>,
    /// Its number among the calls of the request, from 1.
    pub number: u32,
    /// Its purpose.
    pub kind: AttemptKind,
    /// `provider/model`, truncated.
    pub target: &'a str,
    /// When it begins, since the request's arrival.
    pub at: Duration,
    /// The identity that the request is counted for.
    pub caller: &'a CallerIdentity,
    /// The requested model.
    pub model: &'a Arc<str>,
    /// Our estimate of its input tokens.
    pub input_estimate: u64,
    /// The cost of that input; `None` if the price is unknown.
    pub cost_estimate: Option<Cost>,
}

/// The sinks of a server, in order. A request keeps the sinks that saw its start.
#[derive(Default)]
pub(crate) struct Sinks(Vec<Arc<dyn RequestSink>>);

impl Sinks {
    pub(crate) fn new(sinks: impl IntoIterator<Item = Arc<dyn RequestSink>>) -> Self {
        Self(sinks.into_iter().collect())
    }

    /// The same sinks, with one more.
    pub(crate) fn with(&self, sink: Arc<dyn RequestSink>) -> Self {
        Self::new(self.0.iter().cloned().chain([sink]))
    }

    /// The parts of a record that any of the sinks needs.
    pub(crate) fn needs(&self) -> Needs {
        let all = self.0.iter().map(|sink| sink.needs());
        all.fold(Needs::default(), |sum, needs| Needs {
            candidates: sum.candidates | needs.candidates,
            metadata: sum.metadata | needs.metadata,
        })
    }

    pub(crate) fn started(&self, request: &StartedRequest<'_>) {
        self.0.iter().for_each(|sink| sink.started(request));
    }

    pub(crate) fn routed(&self, request: &RoutedRequest<'_>) {
        self.0.iter().for_each(|sink| sink.routed(request));
    }

    pub(crate) fn calling(&self, call: &StartedCall<'_>) {
        self.0.iter().for_each(|sink| sink.calling(call));
    }

    pub(crate) fn streaming(&self, id: &str) {
        self.0.iter().for_each(|sink| sink.streaming(id));
    }

    pub(crate) fn finished(&self, record: FinishedRequest) {
        let record = Arc::new(record);
        self.0.iter().for_each(|sink| sink.finished(&record));
    }

    /// Stops the sinks, one after another.
    pub(crate) async fn stop(&self) {
        for sink in &self.0 {
            sink.stop().await;
        }
    }
}
