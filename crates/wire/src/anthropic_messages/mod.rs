//! Anthropic Messages, as spoken by Anthropic and compatible servers.
//!
//! A conversation consists of alternating turns of content blocks: writers merge
//! the messages of one side and put tool results first. Native fields: a name with
//! a dot (`thinking.display`, `source.x`) belongs one level down, and `field`
//! marks a block that has no other native field.
//!
//! - `read_request`, `read_settings` and `read_message` read a client's request;
//! - `read_part` reads content blocks: text, images, documents, `tool_use`, `tool_result`,
//!   thinking;
//! - `write_request`, `write_settings`, `write_message` and `write_part` are their
//!   counterparts;
//! - `cache_marks` sets prompt-cache breakpoints in a written body;
//! - `response` and `stream_*` read and write responses.
//!
//! Uses the shared modules of the crate, and no other dialect.

mod cache_marks;
mod call_id;
mod count_tokens;
mod error;
mod finish;
mod models;
mod opaque;
mod read_message;
mod read_part;
mod read_request;
mod read_settings;
mod response;
mod stream_block_queue;
mod stream_blocks;
mod stream_event;
mod stream_reader;
mod stream_writer;
mod usage;
mod write_message;
mod write_part;
mod write_request;
mod write_settings;

#[cfg(test)]
mod tests;

pub use cache_marks::{mark_prompt_cache, sets_cache_marks};

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, ModelInfo, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    ClientError, Codec, CountTokens, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol,
    ReadError, Reply, StreamReader, StreamWriter, Written,
};

/// Marks everything that was read from this dialect.
const MESSAGES: Dialect = Protocol::Messages.dialect();

/// The codec.
pub(crate) struct Messages;

impl Codec for Messages {
    fn dialect(&self) -> Dialect {
        MESSAGES
    }

    fn takes_image_url(&self, url: &str) -> bool {
        url.starts_with("http")
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
        Box::new(LimitedStreamReader::<stream_reader::MessagesStreamReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::MessagesStreamWriter::new(reply))
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
        models::write_models(models, false, created)
    }

    fn write_model_page(&self, models: &[ModelInfo], more: bool, created: u64) -> Bytes {
        models::write_models(models, more, created)
    }

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::MessagesTokenCounter)
    }
}
