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

mod processor;
mod registry;
mod stage;
#[cfg(test)]
mod tests;

pub use processor::{Processor, ProcessorError, Task};
pub use registry::Processors;
pub use stage::{Applied, Bypassed, Destination, ProcessorTrace, apply, destination, rehearse};
