//! Ollama's own API: chat, and generate as a second form of the same dialect.
//!
//! A message is one text with its pictures beside it, arguments are objects, a
//! stream is lines of JSON and ends with `done`. Native fields: a name with a
//! dot (`options.num_ctx`, `function.x`) belongs one level down, and `field`
//! names the key that a value came from: `thinking` on reasoning, `prompt` on
//! the one message of a generate request.
//!
//! [`Protocol::Ollama`] reads both forms and answers in that of chat; a front
//! for `/api/generate` uses [`generate`] instead. Which form a request has, and
//! so to which path its bytes belong, is told by [`form`].

mod error;
mod finish;
mod generate;
mod image;
mod models;
mod options;
mod read_message;
mod read_request;
mod response;
mod show;
mod stream_chunk;
mod stream_reader;
mod stream_writer;
mod target;
mod tool_calls;
mod usage;
mod write_fields;
mod write_message;
mod write_part;
mod write_request;

#[cfg(test)]
mod tests;

pub use generate::{Form, form};
pub use show::{Shown, read_show, read_show_request, read_version, write_show, write_version};
pub use target::{Target, Thinking};

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, Json, ModelInfo, Native, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    Codec, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// The mark on everything that was read from this dialect.
const OLLAMA: Dialect = Protocol::Ollama.dialect();

/// The key of reasoning.
const THINKING: &str = "thinking";

/// What reasoning of this dialect is marked with, so that it goes back there.
fn own_reasoning() -> Option<Box<Native>> {
    Native::new(OLLAMA)
        .with("field", Json::string(THINKING))
        .into_option()
}

/// The codec for clients of `/api/generate`. It differs from that of
/// [`Protocol::Ollama`] only in the answers that it writes.
pub fn generate() -> &'static dyn Codec {
    &Ollama(Form::Generate)
}

/// The codec; its form is that of the answers.
pub(crate) struct Ollama(pub(crate) Form);

impl Codec for Ollama {
    fn dialect(&self) -> Dialect {
        OLLAMA
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
        response::write(response, reply, self.0)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(LimitedStreamReader::<stream_reader::OllamaReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::OllamaWriter::new(reply, self.0))
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
