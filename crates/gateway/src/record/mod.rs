//! The record of a finished request, and the sinks that receive it.
//!
//! Each request leaves exactly one [`FinishedRequest`], whether it was served, refused or
//! abandoned. The log, metrics, traces and spans read nothing else. A record holds no content,
//! only the name of a key, and no provider's text, which may quote the request; texts that
//! clients choose are bounded. May use `clip`, `fronts`, `identity`, `outcome`, `pricing` and
//! `routes`.

mod bounds;
mod call;
mod charge;
mod log;
mod response;
mod sink;
mod trace_parent;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use majordomo::llm::{Change, Dialect, OutputFormat};
use majordomo::{Class, Effort, Request, Usage};
use majordomo_ledger::Cost;
use majordomo_vision::DescribeCall;

pub(crate) use crate::clock::unix_millis;
pub(crate) use bounds::{cut, limit_changes};
pub use call::{CallOutcome, UpstreamCall, UsageSource};
pub(crate) use charge::{charge, cost_of, total};
pub(crate) use log::RequestLog;
pub use response::ResponseMetadata;
pub(crate) use sink::Sinks;
pub use sink::{Needs, RequestSink, RoutedRequest, StartedCall, StartedRequest};
pub use trace_parent::{SpanIds, TraceParent};

use crate::fronts::EndpointLabels;
use crate::identity::CallerIdentity;
use crate::outcome::{AttemptSummary, RequestOutcome};
use crate::routes::RouteTrace;

/// A finished request, without content. Durations count from its arrival.
#[non_exhaustive]
pub struct FinishedRequest {
    /// The id, which the client received as well.
    pub id: Arc<str>,
    /// The wall clock at arrival.
    pub arrived: SystemTime,
    /// When it was over.
    pub took: Duration,
    /// When a stream had its first content.
    pub first_token: Option<Duration>,
    /// The identity that it is counted for.
    pub caller: CallerIdentity,
    /// The client's dialect.
    pub dialect: Dialect,
    /// The client's program, if its headers tell: `Claude Code`.
    pub client: Option<&'static str>,
    /// What it asked for.
    pub kind: RequestKind,
    /// Whether the response was a stream.
    pub stream: bool,
    /// The requested model; empty if the request was refused before it was read.
    pub model: String,
    /// The target that served, as `provider/model`.
    pub target: Option<String>,
    /// Every request sent to a provider, in order.
    pub calls: Vec<UpstreamCall>,
    /// The usage of the response; calls for descriptions have their own.
    pub usage: Usage,
    /// Whether some of the usage is our own estimate, because the provider did not report
    /// all of it.
    pub usage_estimated: bool,
    /// The HTTP status of the response.
    pub status: u16,
    /// How it ended.
    pub outcome: RequestOutcome,
    /// The reason for a failure, without a provider's text.
    pub reason: Option<String>,
    /// The HTTP method and path.
    pub endpoint: EndpointLabels,
    /// The client's parent span, if a sink needs it.
    pub trace_parent: Option<TraceParent>,
    /// The request's own span, if a sink needs it.
    pub span_ids: Option<SpanIds>,
    /// The id that the client gave it.
    pub client_request_id: Option<Box<str>>,
    pub(crate) routing: Option<RouteTrace>,
    /// The chain's targets, comma-separated, if a sink needs them.
    pub(crate) candidates: String,
    /// The chain's attempts in order, skipped targets included. Empty if the client left
    /// before the chain ended.
    pub(crate) attempts: Vec<AttemptSummary>,
    /// Number of attempts that were sent, once the chain ended.
    pub(crate) attempts_sent: Option<usize>,
    pub(crate) descriptions: Vec<Description>,
    pub(crate) changes: Vec<Change>,
    /// Number of changes, of which `changes` may hold only a part.
    pub(crate) change_count: usize,
    /// The request's settings.
    pub parameters: RequestParameters,
    /// The metadata that the provider reported with its response, if a sink needs it.
    pub response: ResponseMetadata,
    /// Why a stream was interrupted.
    pub interrupted: Option<Class>,
}

impl FinishedRequest {
    /// The cost of all calls, or `None` if one of them has no known price.
    pub fn cost(&self) -> Option<Cost> {
        total(&self.calls)
    }

    /// The name of the route, if the model is one.
    pub fn route(&self) -> Option<&str> {
        self.routing.as_ref().map(|routing| &*routing.route)
    }

    /// The name of the smart rule that matched.
    pub fn rule(&self) -> Option<&str> {
        self.routing.as_ref()?.rule.as_deref()
    }
}

impl Default for FinishedRequest {
    fn default() -> Self {
        Self {
            id: Arc::default(),
            arrived: UNIX_EPOCH,
            took: Duration::ZERO,
            first_token: None,
            caller: CallerIdentity::default(),
            dialect: Dialect::new(""),
            client: None,
            kind: RequestKind::default(),
            endpoint: EndpointLabels::default(),
            trace_parent: None,
            span_ids: None,
            client_request_id: None,
            stream: false,
            model: String::new(),
            routing: None,
            candidates: String::new(),
            target: None,
            attempts: Vec::new(),
            attempts_sent: None,
            calls: Vec::new(),
            descriptions: Vec::new(),
            changes: Vec::new(),
            change_count: 0,
            usage: Usage::default(),
            usage_estimated: false,
            parameters: RequestParameters::default(),
            response: ResponseMetadata::default(),
            status: 200,
            outcome: RequestOutcome::default(),
            interrupted: None,
            reason: None,
        }
    }
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestKind {
    /// A generation, whole or streamed.
    Generate,
    /// Embeddings.
    Embed,
    /// Generated or edited images.
    Image,
    /// A token count.
    CountTokens,
    /// Model lists and details, unknown paths.
    #[default]
    Other,
}

/// The request's settings, without its content.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RequestParameters {
    /// The most output tokens.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Top-k sampling.
    pub top_k: Option<u64>,
    /// The presence penalty.
    pub presence_penalty: Option<f64>,
    /// The frequency penalty.
    pub frequency_penalty: Option<f64>,
    /// The seed.
    pub seed: Option<i64>,
    /// The reasoning effort.
    pub effort: Option<Effort>,
    /// The output format, `text` or `json`.
    pub output: Option<&'static str>,
}

impl From<&Request> for RequestParameters {
    fn from(request: &Request) -> Self {
        let prompt = request.prompt();
        Self {
            max_tokens: prompt.max_tokens,
            temperature: prompt.temperature,
            top_p: prompt.top_p,
            top_k: prompt.top_k,
            presence_penalty: prompt.presence_penalty,
            frequency_penalty: prompt.frequency_penalty,
            seed: prompt.seed,
            effort: prompt.effort,
            output: Some(match prompt.output {
                OutputFormat::Text => "text",
                OutputFormat::Json | OutputFormat::Schema(_) => "json",
            }),
        }
    }
}

/// One description of an image, requested from a describer.
pub(crate) struct Description {
    /// `described`, `failed` or `cancelled`.
    pub(crate) outcome: &'static str,
    /// The target that responded, else the last one attempted; may be empty.
    pub(crate) target: String,
    pub(crate) attempts: Vec<AttemptSummary>,
    pub(crate) usage: Usage,
    pub(crate) took: Duration,
}

impl From<&DescribeCall> for Description {
    fn from(call: &DescribeCall) -> Self {
        Self {
            outcome: call.outcome(),
            target: call.last_target().to_owned(),
            attempts: call.attempts.iter().map(AttemptSummary::from).collect(),
            usage: call.usage,
            took: call.took,
        }
    }
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
