//! Processors: request transformations that run once, after a rule matched.
//!
//! A processor is bound to an operation. If the matched rule has such an operation,
//! the rule does not choose the destination. Its services become the processors'
//! upstreams, the processors run in the order of the operations, and the balancer
//! then picks from the route's services with the changed request. Rules are not
//! evaluated again. A processor's failure is recorded in the trace and never fails
//! the request.
//!
//! Uses the rest of this crate; nothing outside this folder uses it.

mod apply;
mod processor;
mod registry;
#[cfg(test)]
mod tests;

pub use apply::{Applied, Bypassed, Destination, ProcessorTrace, apply, destination, dry_run};
pub use processor::{Processor, ProcessorError, ProcessorTask};
pub use registry::Processors;
