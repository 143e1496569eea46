//! Google Gemini generateContent, as the Gemini API and Vertex AI speak it.
//!
//! The model and whether to stream are in the URL, so the body of an untouched
//! request goes out as it came. Clients may spell every key in two ways
//! (`inlineData`, `inline_data`); only one is written. A `thoughtSignature`
//! belongs to exactly the part that it came with, so signed parts are never
//! joined with others. Native fields: a name with a dot (`inlineData.x`,
//! `generationConfig.x`) belongs one level down, and `field` on a part tells
//! which form of the dialect it came in.

mod count_tokens;
mod error;
mod finish;
mod generation;
mod keys;
mod models;
mod partial_args;
mod read_config;
mod read_message;
mod read_part;
mod read_request;
mod response;
mod schema;
mod stream_chunk;
mod stream_reader;
mod stream_writer;
mod tool_results;
mod tools;
mod usage;
mod write_config;
mod write_message;
mod write_part;
mod write_request;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use majordomo_llm::{Dialect, Error, ModelInfo, Request, Response, Result};

use crate::tool_call_limits::{self, LimitedStreamReader};
use crate::{
    Codec, CountTokens, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// The mark on everything that was read from this dialect.
const GEMINI: Dialect = Protocol::Gemini.dialect();

/// The codec.
pub(crate) struct Gemini;

impl Codec for Gemini {
    fn dialect(&self) -> Dialect {
        GEMINI
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
        Box::new(LimitedStreamReader::<stream_reader::GeminiReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::GeminiWriter::new(reply))
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

    fn write_models(&self, models: &[ModelInfo], _created: u64) -> Bytes {
        models::write(models)
    }

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::Counting)
    }
}
