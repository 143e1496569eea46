//! OpenAI Chat Completions, as OpenAI and some thirty compatible servers speak it.
//!
//! Reading is tolerant, because the servers differ in everything that is not
//! the plain case; writing is what all of them accept. Native fields: a name
//! with a dot (`function.x`, `image_url.detail`) belongs one level down, and
//! `field` on a reasoning part names the key that it came from.

pub(crate) mod error;
mod finish;
pub(crate) mod models;
mod read_message;
mod read_request;
mod response;
mod stream_calls;
mod stream_chunk;
mod stream_reader;
mod stream_writer;
mod tool_calls;
mod usage;
mod write_message;
mod write_part;
mod write_request;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, Json, ModelInfo, Native, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    Codec, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// The mark on everything that was read from this dialect.
const CHAT: Dialect = Protocol::Chat.dialect();

/// The key under which clients look for reasoning; there is no official one.
const REASONING: &str = "reasoning_content";

/// What reasoning of another dialect is marked with to be shown to a client.
fn shown_reasoning() -> Option<Box<Native>> {
    Native::new(CHAT)
        .with("field", Json::string(REASONING))
        .into_option()
}

/// The codec.
pub(crate) struct Chat;

impl Codec for Chat {
    fn dialect(&self) -> Dialect {
        CHAT
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        write_request::write(request, to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        response::read(body, first_call).and_then(tool_call_limits::check_tool_calls)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        response::write(response, reply)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(LimitedStreamReader::<stream_reader::ChatReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::ChatWriter::new(reply))
    }

    fn read_error(&self, failed: &FailedResponse<'_>) -> Error {
        crate::failure::read_failed_response(failed)
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
}
