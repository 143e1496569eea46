//! Misbehaving clients, upstreams and files, on raw sockets. `docs/faults.md` lists
//! every case with its test.
//!
//! A separate binary: every case checks the descriptors, panics and log lines of the
//! whole process, so nothing else may run in it.
//!
//! Decisions that may surprise:
//!
//! - A lone surrogate is served: JavaScript truncates strings inside a character, and
//!   one such half must not end a conversation.
//! - A disconnect during the upload ends as `failed` with 400, not as `client_gone`: no
//!   request had arrived.
//! - Beyond 120 wrong keys an address gets 429 for wrong keys, and only for those.
//! - `n` above 1 is for the target to refuse.
//! - An undecodable image is a 400, not a 422, as any request no target can serve.
//! - Key timing is measured by hand (`examples/key_timing.rs`): a busy machine is too
//!   noisy for a test.

mod attribution;
mod bodies;
mod browsers;
mod budgets;
mod connections;
mod cors;
mod disconnects;
mod drain;
mod framing;
mod headers;
mod http2;
mod http2_floods;
mod images;
mod keys;
mod model_names;
mod operator;
mod reload;
mod request_heads;
mod request_kind;
mod secrets;
mod test_gateway;
mod tls;
mod unread_bodies;
