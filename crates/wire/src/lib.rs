//! Five language model protocols, each read *and* written.
//!
//! Pure and without I/O: bytes in, values out. The same [`Codec`] serves a
//! provider (write the request, read the answer) and a gateway's front (read the
//! request, write the answer), so whatever one side learns the other one knows.
//!
//! ```
//! use majordomo_llm::Request;
//! use majordomo_wire::{Outgoing, Protocol};
//!
//! let request = Request::user("hi").max_tokens(10);
//! let written = Protocol::Chat.codec().write_request(&request, &Outgoing::new("gpt-6"));
//! assert_eq!(
//!     written.body,
//!     r#"{"model":"gpt-6","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":10}"#
//! );
//! assert!(written.losses.is_empty());
//! ```
//!
//! Every dialect lives in a folder of its own with the same files; what they
//! share is in `json`, `framing`, `call_bounds`, `splice`, `conversation`, `open_calls`, `failure`
//! and `loss`.

mod base64;
mod call_bounds;
mod chat;
mod codec;
mod conversation;
mod effort;
mod failure;
mod framing;
mod function_tool;
mod gemini;
mod json;
mod loss;
mod messages;
mod model_name;
pub mod ollama;
mod open_calls;
mod protocol;
mod responses;
mod rfc3339;
mod splice;

pub use codec::{
    Codec, CountTokens, ErrorReply, FailedAnswer, Incoming, Outgoing, Reply, StreamReader,
    StreamWriter, Written,
};
pub use framing::Frames;
pub use json::ReadError;
pub use loss::Loss;
pub use model_name::{model_of, with_model};
pub use protocol::Protocol;
