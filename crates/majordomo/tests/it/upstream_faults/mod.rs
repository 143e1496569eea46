//! Upstream faults, and the reactions of a chain.
//!
//! Most cases run over real sockets: a provider named `head` that misbehaves, and a healthy
//! `tail` behind it. Cases with many requests or long times run in virtual time. What
//! concerns the transport alone is tested with it.

mod connecting;
mod harness;
mod many_requests;
mod responses;
mod statuses;
mod streams;
mod tool_calls;
