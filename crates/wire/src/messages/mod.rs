//! Anthropic Messages, as Anthropic and servers that imitate it speak it.
//!
//! A conversation is turns of blocks that must alternate: writing joins what
//! belongs to one side and puts the answers of tools first. Native fields: a
//! name with a dot (`thinking.display`, `source.x`) belongs one level down, and
//! `field` marks a block that has nothing else of its own.

mod call_id;
mod count_tokens;
mod error;
mod finish;
mod models;
mod read_message;
mod read_part;
mod read_request;
mod read_settings;
mod response;
mod stream_blocks;
mod stream_event;
mod stream_items;
mod stream_reader;
mod stream_writer;
mod usage;
mod write_message;
mod write_part;
mod write_request;
mod write_settings;

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
const MESSAGES: Dialect = Protocol::Messages.dialect();

/// The codec.
pub(crate) struct Messages;

impl Codec for Messages {
    fn dialect(&self) -> Dialect {
        MESSAGES
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
        Box::new(Bounded::<stream_reader::MessagesReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::MessagesWriter::new(reply))
    }

    fn read_error(&self, failed: &FailedAnswer<'_>) -> Error {
        crate::failure::read(failed)
    }

    fn write_error(&self, error: &Error) -> ErrorReply {
        error::write(error)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>> {
        models::read(body)
    }

    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes {
        models::write(models, created)
    }

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::Counter)
    }
}
