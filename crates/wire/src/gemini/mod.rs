//! Codec for `generateContent` of the Gemini API and Vertex AI.
//!
//! The URL holds the model and selects streaming, so an unchanged request keeps
//! its body. Keys are read in camelCase and snake_case (`inlineData`,
//! `inline_data`) and written in camelCase. A `thoughtSignature` belongs to the
//! part it came with, so signed parts are never merged.
//!
//! Native fields: a dotted name (`inlineData.x`, `generationConfig.x`) belongs one
//! level down, and `field` on a part names the form it was read from.
//!
//! Uses the crate's shared modules and no other protocol.

mod count_tokens;
mod error;
mod finish;
mod generation;
mod keys;
mod models;
mod opaque;
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
    ClientError, Codec, CountTokens, ErrorReply, FailedResponse, Incoming, Outgoing, Protocol,
    ReadError, Reply, StreamReader, StreamWriter, Written,
};

/// Marks native fields and opaque parts read from this dialect.
const GEMINI: Dialect = Protocol::Gemini.dialect();

/// The Gemini codec.
pub(crate) struct Gemini;

impl Codec for Gemini {
    fn dialect(&self) -> Dialect {
        GEMINI
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
        Box::new(LimitedStreamReader::<stream_reader::GeminiStreamReader>::default())
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::GeminiStreamWriter::new(reply))
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

    fn write_models(&self, models: &[ModelInfo], _created: u64) -> Bytes {
        models::write_models(models, false)
    }

    fn write_model_page(&self, models: &[ModelInfo], more: bool, _created: u64) -> Bytes {
        models::write_models(models, more)
    }

    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        Some(&count_tokens::GeminiCountTokens)
    }
}
