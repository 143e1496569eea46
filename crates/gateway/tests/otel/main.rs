//! The spans that reach a collector: real sockets, scripted upstreams.

mod collector;
mod spans_and_secrets;
mod spans_of_attempts;
mod spans_of_requests;
mod stage;
