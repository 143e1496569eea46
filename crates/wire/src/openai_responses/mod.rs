//! OpenAI Responses: a conversation of items.
//!
//! Each item is read as one message: a function call as an assistant message with
//! one call, a reasoning item as one with its text and its whole state. Writers of
//! other dialects regroup them. Custom tools and namespaces become functions, see
//! [`crate::declared_tool`]. Hosted tools and their items are kept verbatim.
//!
//! The prefix of a native field tells where it belongs:
//!
//! - `text.x`, `text.format.x`, `reasoning.x`: inside those settings.
//! - `item.x` on a text: a field of the message item that this text ends.
//! - `echo.x` on a response: a field that repeats the request.
//! - `field`, `field.x`: not on the wire; they direct the writer.
//!
//! Unmodelled blocks inside a message have the kind prefix `content.`; all other
//! unmodelled blocks are items.
//!
//! Uses the shared modules of the crate, and `chat` for model lists and errors.

mod compaction;
mod count_tokens;
mod echo;
mod envelope;
mod error;
mod finish;
mod models;
mod opaque;
mod read_message;
mod read_part;
mod read_request;
mod read_tool;
mod response;
mod stream_event;
mod stream_event_writer;
mod stream_items;
mod stream_output;
mod stream_reader;
mod stream_writer;
mod usage;
mod write_item;
mod write_message;
mod write_part;
mod write_request;
mod write_tools;

#[cfg(test)]
mod tests;

pub use compaction::compaction;

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, ModelInfo, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    ClientError, Codec, CountTokens, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol,
    ReadError, Reply, RequestEcho, StreamReader, StreamWriter, Written,
};

/// Marks everything that was read from this dialect.
const RESPONSES: Dialect = Protocol::Responses.dialect();

/// Separates the paragraphs of a reasoning item.
const PARAGRAPH: &str = "\n\n";

/// The codec.
pub(crate) struct Responses;

impl Codec for Responses {
    fn dialect(&self) -> Dialect {
        RESPONSES
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

    fn echo(&self, request: &Request) -> RequestEcho {
        echo::echo(request)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(LimitedStreamReader::<stream_reader::ResponsesStreamReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::ResponsesStreamWriter::new(reply))
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

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::ResponsesTokenCounter)
    }
}
