//! The gateway: five client dialects in, any provider out.
//!
//! A request takes one path, and enters no step twice:
//!
//! 1. `trust` decides whether it is accepted (a client's key is checked in
//!    `trust::authenticate`); `server` bounds and reads it.
//! 2. A front decodes its dialect (`fronts`, `handlers`).
//! 3. `routes` applies the smart rules of its model, runs processors such as
//!    `proxy_vision`, and orders the services.
//! 4. The chain serves it (`majordomo::chain`): retries, failover and the commit point of
//!    a stream are decided there.
//! 5. `relay` encodes the response in the client's dialect.
//!
//! The command and the integration tests use the items re-exported here. [`config`] is
//! public as a whole: it is the schema of the configuration file.

pub mod config;

mod admitted;
mod bench_history;
mod call_journal;
mod capture;
mod catalogue;
mod client_error;
mod client_program;
mod clip;
mod clock;
mod cluster;
mod demo;
mod direct;
mod exchange;
mod explain;
mod fetch;
mod fronts;
mod gateway;
mod handlers;
mod heavy_lane;
mod identity;
mod json_values;
mod keys;
mod ledger_sink;
mod live;
mod max_counts;
mod metrics;
mod operator;
mod outcome;
mod pricing;
mod processors;
mod propagation;
mod quota;
mod record;
mod refusal;
mod relay;
mod reload;
mod request_id;
mod respond;
mod response_body;
mod response_headers;
mod routes;
mod server;
mod shapes;
mod state;
mod stored_keys;
#[cfg(feature = "otel")]
mod telemetry;
mod traces;
mod trust;

pub use config::{Config, Diagnostics, environment, find_config};
pub use demo::Demo;
pub use explain::{
    Candidate, DialectFrom, ExcludedService, ExplainRequest, Explanation, PickedService,
    ProcessorPlan, TargetPlan,
};
pub use fetch::{AddressPolicy, FetchError, Fetcher, is_public};
pub use fronts::EndpointLabels;
pub use gateway::{Gateway, GatewayBuilder, ServeOptions, StartError};
pub use identity::CallerIdentity;
pub use keys::{ClientKey, ClientKeys, KeyRefusal, NewKey, generate_key};
pub use ledger_sink::LedgerTools;
pub use majordomo_ledger as ledger;
pub use majordomo_rules::{
    ConditionTrace, Processor, ProcessorError, ProcessorTask, RuleTrace, Subject,
};
pub use outcome::RequestOutcome;
pub use record::{
    CallOutcome, FinishedRequest, Needs, RequestKind, RequestParameters, RequestSink,
    ResponseMetadata, RoutedRequest, SpanIds, StartedCall, StartedRequest, TraceParent,
    UpstreamCall, UsageSource,
};
pub use refusal::{RequestError, RequestRefusal};
pub use server::{Handle, Limits, Server, check_tls};
pub use state::GatewayState;
pub use stored_keys::{AccessFailure, AccessRequest, AccessTools, parse_overlap};

/// The allocator of the command: the system's may trim its heap in any call.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
