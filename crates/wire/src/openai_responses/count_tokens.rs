//! `POST /v1/responses/input_tokens`: the same request, with a token count as the response.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Request, Result};

use super::{read_request, write_request};
use crate::json::{self, ReadError, object};
use crate::splice::{self, FieldAction};
use crate::{CountTokens, Incoming, Outgoing, Written};

pub(super) struct ResponsesTokenCounter;

/// Generation settings that the counting endpoint rejects.
const NOT_COUNTED: &[&str] = &[
    "background",
    "client_metadata",
    "context_management",
    "include",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "moderation",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "top_logprobs",
    "top_p",
    "user",
];

impl CountTokens for ResponsesTokenCounter {
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read_request(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        let to = to.clone().stream(false);
        let mut written = write_request::write_request(request, &to);
        let mut body = BytesMut::with_capacity(written.body.len());
        let mut counted = |key: &str, _: &str, _: &mut BytesMut| match NOT_COUNTED.contains(&key) {
            true => FieldAction::Remove,
            false => FieldAction::Keep,
        };
        let text = std::str::from_utf8(&written.body).unwrap_or_default();
        if splice::object(text, &mut body, &mut counted) {
            written.body = body.freeze();
        }
        written
    }

    fn read_response(&self, body: &[u8]) -> Result<u64> {
        let mut tokens = None;
        json::read(body, |cursor| {
            cursor.loose_object(|key, cursor| {
                if key == "input_tokens" {
                    tokens = cursor.count()?;
                }
                Ok(())
            })
        })
        .map_err(ReadError::in_response)?;
        tokens.ok_or_else(|| {
            let text = "the provider's response has no token count";
            Error::new(ErrorKind::BadResponse, text)
        })
    }

    fn write_response(&self, tokens: u64) -> Bytes {
        let mut body = BytesMut::new();
        object(&mut body, |o| {
            o.string("object", "response.input_tokens");
            o.number("input_tokens", tokens);
        });
        body.freeze()
    }
}
