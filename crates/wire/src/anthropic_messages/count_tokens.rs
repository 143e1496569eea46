//! Token counting: the same request, without generation settings.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Request, Result};

use super::{read_request, write_request};
use crate::json::{self, ReadError, object};
use crate::splice::{self, FieldAction};
use crate::{CountTokens, Incoming, Outgoing, Written};

pub(super) struct MessagesTokenCounter;

/// Fields that the counting endpoint rejects.
const NOT_COUNTED: &[&str] = &[
    "max_tokens",
    "stream",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "metadata",
    "service_tier",
    "inference_geo",
    "container",
];

impl CountTokens for MessagesTokenCounter {
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read_request(body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        let written = write_request::write_request(request, &to.clone().stream(false));
        let mut body = BytesMut::with_capacity(written.body.len());
        let mut counted = |key: &str, _: &str, _: &mut BytesMut| match NOT_COUNTED.contains(&key) {
            true => FieldAction::Remove,
            false => FieldAction::Keep,
        };
        let text = String::from_utf8_lossy(&written.body);
        splice::object(&text, &mut body, &mut counted);
        Written {
            body: body.freeze(),
            ..written
        }
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
        let text = "the provider's response has no token count";
        tokens.ok_or_else(|| Error::new(ErrorKind::BadResponse, text))
    }

    fn write_response(&self, tokens: u64) -> Bytes {
        let mut body = BytesMut::new();
        object(&mut body, |o| o.number("input_tokens", tokens));
        body.freeze()
    }
}
