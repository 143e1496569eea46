//! The gateway: five client dialects in, any provider out.
//!
//! A request goes one way: a front authenticates, bounds and reads it; rules say
//! which route and why; processors may change it, once; balance orders the
//! route's services; the chain serves it; a relay writes the answer back in the
//! client's own dialect. No step is entered twice.

pub mod config;
pub mod demo;
pub mod explain;
pub mod fetch;
pub mod keys;

mod admitted;
mod catalogue;
mod client_error;
mod clip;
mod clock;
mod counts;
mod exchange;
mod fronts;
mod handlers;
mod heavy_lane;
mod json_values;
mod metrics;
mod operator;
mod outcome;
mod relay;
mod reload;
mod request_id;
mod respond;
mod response_body;
mod response_headers;
mod routes;
mod run;
mod server;
mod shapes;
mod state;
#[cfg(feature = "otel")]
mod telemetry;
mod traces;
mod trust;

pub use majordomo_balance as balance;
pub use majordomo_rules as rules;
pub use majordomo_vision as vision;
pub use run::{Gateway, Options, StartError};
pub use server::{Handle, Limits, Server};
pub use state::State;

/// The allocator that the command has: the system's may trim its heap in any call.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
