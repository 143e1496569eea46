//! The spans that reach a collector: real sockets, scripted upstreams.

mod attempts;
mod collector;
mod requests;
mod secrets;
mod stage;
