//! OpenAI Responses: a conversation of items, each a message of its own.
//!
//! An item is read as one message: a function call as an assistant's message
//! with one call, a reasoning item as one with one thought and its whole state.
//! Writers of other dialects group them again. Hosted tools, their items and
//! custom tools are kept as they are.
//!
//! Native fields: a dot tells where a field belongs.
//!
//! - `text.x`, `text.format.x`, `reasoning.x`: inside those settings.
//! - `item.x` on a text: a field of the message item that this text ends.
//! - `echo.x` on an answer: what the server repeats of the request.
//!
//! Blocks inside a message that are not modelled have `content.` before their
//! kind; all others are items.

mod count_tokens;
mod envelope;
mod error;
mod finish;
mod models;
mod read_message;
mod read_part;
mod read_request;
mod response;
mod stream_event;
mod stream_frames;
mod stream_items;
mod stream_output;
mod stream_reader;
mod stream_writer;
mod usage;
mod write_item;
mod write_message;
mod write_part;
mod write_request;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, ModelInfo, Request, Response, Result};

use crate::call_bounds::{self, Bounded};
use crate::{
    Codec, CountTokens, ErrorReply, FailedAnswer, Incoming, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// The mark on everything that was read from this dialect.
const RESPONSES: Dialect = Protocol::Responses.dialect();

/// Stands between the paragraphs of a reasoning item.
const PARAGRAPH: &str = "\n\n";

/// The codec.
pub(crate) struct Responses;

impl Codec for Responses {
    fn dialect(&self) -> Dialect {
        RESPONSES
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        write_request::write(request, to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        response::read(body, first_call).and_then(call_bounds::check)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        response::write(response, reply)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(Bounded::<stream_reader::ResponsesReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::ResponsesWriter::new(reply))
    }

    fn read_error(&self, failed: &FailedAnswer<'_>) -> Error {
        crate::failure::read(failed)
    }

    fn write_error(&self, error: &Error) -> ErrorReply {
        error::write(error)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>> {
        models::read_models(body)
    }

    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes {
        models::write_models(models, created)
    }

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::InputTokens)
    }
}
