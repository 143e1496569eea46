//! Five LLM protocols, each read *and* written.
//!
//! Pure, without I/O: bytes in, values out. The same [`Codec`] serves a provider
//! (write the request, read the response) and a gateway's front (read the request,
//! write the response).
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
//! Every dialect has a folder with the same files: `read_request`, `read_message` and
//! `read_part` read a client's request, tool results included, `write_*` are their
//! counterparts, `response` and `stream_*` handle responses. They share `arguments`, `base64`,
//! `client_error`, `conversation`, `custom_input`, `declared_tool`, `effort`, `emulated_call`,
//! `failure`, `frame_content`, `framing`, `function_tool`, `image_forms`, `json`, `loss`,
//! `opaque_images`, `open_calls`, `overlong`, `request_echo`, `rfc3339`, `sealed_state`, `splice` and
//! `tool_call_limits`, and use each other only where two dialects of one vendor overlap.

mod anthropic_messages;
mod arguments;
mod base64;
mod client_error;
mod codec;
mod conversation;
mod custom_input;
mod declared_tool;
mod effort;
mod embeddings;
mod emulated_call;
mod failure;
mod forwarded_calls;
mod frame_content;
mod framing;
mod function_tool;
mod gemini;
mod handles_all;
mod image_forms;
pub mod images;
mod json;
mod loss;
mod model_name;
pub mod ollama;
mod opaque_images;
mod open_calls;
mod openai_chat;
mod openai_responses;
mod overlong;
mod protocol;
mod read_opaque_image;
mod request_echo;
mod rfc3339;
mod sealed_state;
mod splice;
mod stopwatch;
mod tool_call_limits;

pub use anthropic_messages::{mark_prompt_cache, sets_cache_marks};
pub use client_error::ClientError;
pub use codec::{
    Codec, CountTokens, ErrorReply, FailedResponse, Incoming, Outgoing, Reply, StreamReader,
    StreamWriter, Written,
};
pub use embeddings::EmbeddingProtocol;
pub use emulated_call::EmulatedCall;
pub use forwarded_calls::ForwardedCalls;
pub use frame_content::FrameContent;
pub use framing::Frames;
pub use json::ReadError;
pub use loss::{Loss, LossVerb};
pub use model_name::{model_of, with_model};
pub use openai_chat::{ask_for_usage, is_usage_chunk, text_completions};
pub use openai_responses::compaction;
pub use protocol::Protocol;
pub use read_opaque_image::read_opaque_image;
pub use request_echo::RequestEcho;
pub use sealed_state::restore_reasoning;
pub use stopwatch::Stopwatch;
