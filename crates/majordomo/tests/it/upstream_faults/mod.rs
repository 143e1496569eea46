//! What upstreams do wrong, case by case, and what a chain makes of it.
//!
//! The numbers are those of the project's fault catalogue. Most cases play over
//! real sockets: a provider named `head` that misbehaves, and a healthy `tail`
//! behind it. Cases about many requests and long times play in virtual time.
//! What the transport alone must hold is tested beside it.

mod answers;
mod connecting;
mod many_requests;
mod stage;
mod statuses;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod tool_calls;
