//! What may change a request after a rule matched, once.
//!
//! A processor is bound to an operation. When the matched rule has such an
//! operation, the rule does not choose the destination: its services are the
//! processor's own upstreams, its processors run in the order of its operations,
//! and the balancer then picks from the route's own services with the changed
//! request. Rules are not asked again. A processor that fails is in the trace and
//! never fails the request.

mod processor;
mod registry;
mod stage;
#[cfg(test)]
mod tests;

pub use processor::{Processor, ProcessorError, Task};
pub use registry::Processors;
pub use stage::{Applied, Bypassed, Destination, ProcessorTrace, apply, destination, rehearse};
