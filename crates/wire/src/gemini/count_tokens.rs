//! Codec for `countTokens`: `{"contents": …}`, or a complete request in
//! `generateContentRequest`, which must name its model.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Request, Result};

use super::write_request::{build_request, member, replace_model, splice_request};
use super::{GEMINI, keys, read_request};
use crate::json::{self, ReadError, object, write_string};
use crate::splice::{self, FieldAction};
use crate::{CountTokens, Incoming, Outgoing, Written};

/// The `countTokens` codec.
pub(super) struct GeminiCountTokens;

const GENERATE_REQUEST: &str = "generateContentRequest";

impl CountTokens for GeminiCountTokens {
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read_request(body)
    }

    /// Keeps the form the client used; a new request takes the shorter one that fits.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        if let Some(source) = request.untouched(&GEMINI) {
            return Written {
                body: copy_request(source, to).unwrap_or_else(|| source.clone()),
                losses: Vec::new(),
            };
        }
        if let Some(source) = splice::source(request, &GEMINI)
            && let Ok(text) = std::str::from_utf8(source.bytes())
        {
            let nested = member(text, GENERATE_REQUEST);
            if let Some(written) = splice_request(request, source, nested.unwrap_or(text), to) {
                return match nested {
                    Some(_) => wrap(written, None),
                    None => written,
                };
            }
        }
        let written = build_request(request.prompt(), to);
        match has_only_contents(&written.body) {
            true => written,
            false => wrap(written, Some(to.model)),
        }
    }

    fn read_response(&self, body: &[u8]) -> Result<u64> {
        let mut tokens = None;
        json::read(body, |cursor| {
            cursor.loose_object(|key, cursor| {
                if key == "totalTokens" {
                    tokens = cursor.count()?;
                }
                Ok(())
            })
        })
        .map_err(ReadError::in_response)?;
        tokens.ok_or_else(|| {
            let text = "the provider's response has no totalTokens";
            Error::new(ErrorKind::BadResponse, text)
        })
    }

    fn write_response(&self, tokens: u64) -> Bytes {
        let mut body = BytesMut::new();
        object(&mut body, |o| o.number("totalTokens", tokens));
        body.freeze()
    }
}

/// Copies the client's bytes with the nested `model` replaced.
fn copy_request(source: &Bytes, to: &Outgoing<'_>) -> Option<Bytes> {
    let text = std::str::from_utf8(source).ok()?;
    member(text, GENERATE_REQUEST)?;
    let mut out = BytesMut::with_capacity(source.len() + 64);
    let mut rewrite = |key: &str, value: &str, out: &mut BytesMut| match keys::camel_case(key)
        == GENERATE_REQUEST
        && replace_model(value, to, out)
    {
        true => FieldAction::Replace,
        false => FieldAction::Keep,
    };
    splice::object(text, &mut out, &mut rewrite).then(|| out.freeze())
}

fn has_only_contents(body: &[u8]) -> bool {
    let mut fields = 0;
    let result = json::read(body, |cursor| {
        cursor.loose_object(|_, _| {
            fields += 1;
            Ok(())
        })
    });
    result.is_ok() && fields == 1
}

/// Wraps a request in `generateContentRequest`, adding `model` if given.
fn wrap(written: Written, model: Option<&str>) -> Written {
    let mut body = BytesMut::with_capacity(written.body.len() + 64);
    object(&mut body, |o| {
        let out = o.value(GENERATE_REQUEST);
        match (model, written.body.strip_prefix(b"{")) {
            (Some(model), Some(fields)) => {
                out.extend_from_slice(b"{\"model\":");
                write_string(out, &format!("models/{model}"));
                out.extend_from_slice(b",");
                out.extend_from_slice(fields);
            }
            _ => out.extend_from_slice(&written.body),
        }
    });
    Written {
        body: body.freeze(),
        losses: written.losses,
    }
}
