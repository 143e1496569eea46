//! Codec for OpenAI Chat Completions and the servers compatible with it.
//!
//! Compatible servers disagree on everything beyond the basics, so the reader is
//! lenient and the writer keeps to the subset that all of them accept.
//!
//! Native fields: a dotted name (`function.x`, `image_url.detail`) belongs one
//! level down, and `field` on a reasoning part names the key it was read from.
//!
//! Uses the crate's shared modules and no other protocol; `openai_responses` reuses
//! [`error`] and [`models`].

pub(crate) mod error;
mod finish;
pub(crate) mod models;
mod opaque;
mod read_message;
mod read_request;
mod response;
mod stream_calls;
mod stream_chunk;
mod stream_reader;
mod stream_usage;
mod stream_writer;
mod text_completions;
mod tool_calls;
mod usage;
mod write_assistant;
mod write_message;
mod write_part;
mod write_request;

#[cfg(test)]
mod tests;

pub use stream_usage::{ask_for_usage, is_usage_chunk};
pub use text_completions::text_completions;

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, Json, ModelInfo, Native, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    ClientError, Codec, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// Marks native fields and opaque parts read from this dialect.
const CHAT: Dialect = Protocol::Chat.dialect();

/// The key under which clients expect reasoning; OpenAI specifies none.
const REASONING_KEY: &str = "reasoning_content";

/// Native fields that make reasoning from another dialect visible to a client.
fn client_reasoning_native() -> Option<Box<Native>> {
    Native::new(CHAT)
        .with("field", Json::string(REASONING_KEY))
        .into_option()
}

/// The Chat Completions codec.
pub(crate) struct Chat;

impl Codec for Chat {
    fn dialect(&self) -> Dialect {
        CHAT
    }

    fn takes_image_url(&self, _url: &str) -> bool {
        true
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read_request(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        write_request::write_request(request, to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        response::read_response(body, first_call).and_then(tool_call_limits::check_tool_calls)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        response::write_response(response, reply)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(LimitedStreamReader::<stream_reader::ChatStreamReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::ChatStreamWriter::new(reply))
    }

    fn read_error(&self, failed: &FailedResponse<'_>) -> Error {
        crate::failure::read_failed_response(failed)
    }

    fn write_client_error(&self, error: &ClientError) -> ErrorReply {
        error::write_error(error)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>> {
        models::read_models(body)
    }

    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes {
        models::write_models(models, created)
    }
}
