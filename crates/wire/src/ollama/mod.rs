//! Codec for Ollama's native API: `/api/chat` and `/api/generate`.
//!
//! A message is one text with separate `images`, tool call arguments are objects,
//! and a stream is NDJSON that ends with `done`.
//!
//! Native fields: a dotted name (`options.num_ctx`, `function.x`) belongs one level
//! down, and `field` names the key a value was read from: `thinking` on reasoning,
//! `prompt` on the single message of a generate request.
//!
//! [`Protocol::Ollama`] reads requests to both endpoints and writes chat responses;
//! a front for `/api/generate` uses [`generate()`]. [`endpoint`] returns the endpoint
//! that a request is written for.
//!
//! Uses the crate's shared modules and no other protocol.

mod digest;
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

pub use generate::{OllamaEndpoint, endpoint};
pub use show::{
    ShowResponse, read_show, read_show_request, read_version, write_show, write_version,
};
pub use target::{OllamaTarget, ThinkSupport};

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, Json, ModelInfo, Native, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    ClientError, Codec, EmulatedCall, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol,
    ReadError, Reply, StreamReader, StreamWriter, Written,
};

/// Marks native fields and opaque parts read from this dialect.
const OLLAMA: Dialect = Protocol::Ollama.dialect();

/// The key of reasoning in a message.
const THINKING_KEY: &str = "thinking";

/// Native fields that mark reasoning as read from this dialect.
fn reasoning_native() -> Option<Box<Native>> {
    Native::new(OLLAMA)
        .with("field", Json::string(THINKING_KEY))
        .into_option()
}

/// Returns the codec for clients of `/api/generate`. It differs from that of
/// [`Protocol::Ollama`] only in the responses it writes.
pub fn generate() -> &'static dyn Codec {
    &Ollama(OllamaEndpoint::Generate)
}

/// The Ollama codec; the endpoint determines the form of responses.
pub(crate) struct Ollama(pub(crate) OllamaEndpoint);

impl Codec for Ollama {
    fn dialect(&self) -> Dialect {
        OLLAMA
    }

    fn takes_image_url(&self, _url: &str) -> bool {
        false
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read_request(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        write_request::write_request(request, to)
    }

    fn emulated_call(&self, request: &Request, to: &Outgoing<'_>) -> Option<EmulatedCall> {
        write_fields::emulated_call(request.prompt(), to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        response::read_response(body, first_call).and_then(tool_call_limits::check_tool_calls)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        response::write_response(response, reply, self.0)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(LimitedStreamReader::<stream_reader::OllamaStreamReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::OllamaStreamWriter::new(reply, self.0))
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
