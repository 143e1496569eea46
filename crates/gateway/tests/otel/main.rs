//! Spans and metrics as a collector receives them: real sockets, scripted upstreams.
//!
//! A separate binary because it needs the feature `otel`.

mod collector;
mod metrics;
mod spans_and_secrets;
mod spans_of_attempts;
mod spans_of_requests;
mod test_gateway;
