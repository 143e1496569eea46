//! Counting tokens: `{"contents": …}`, or a whole request inside
//! `generateContentRequest`, which must name its model.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Request, Result};

use super::write_request::{edited, fresh, member, rename};
use super::{GEMINI, keys, read_request};
use crate::json::{self, ReadError, object, write_string};
use crate::splice::{self, FieldAction};
use crate::{CountTokens, Incoming, Outgoing, Written};

pub(super) struct Counting;

const WHOLE: &str = "generateContentRequest";

impl CountTokens for Counting {
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request::read(body)
    }

    /// A question keeps the form that it came in; a new one is as short as it can be.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        if let Some(source) = request.untouched(&GEMINI) {
            return Written {
                body: untouched(source, to).unwrap_or_else(|| source.clone()),
                losses: Vec::new(),
            };
        }
        if let Some(source) = request.source().filter(|s| *s.dialect() == GEMINI)
            && let Ok(text) = std::str::from_utf8(source.bytes())
        {
            let whole = member(text, WHOLE);
            if let Some(written) = edited(request, source, whole.unwrap_or(text), to) {
                return match whole {
                    Some(_) => wrapped(written, None),
                    None => written,
                };
            }
        }
        let written = fresh(request, to);
        match has_only_contents(&written.body) {
            true => written,
            false => wrapped(written, Some(to.model)),
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
            let text = "the provider's answer does not say how many tokens it counted";
            Error::new(ErrorKind::BadResponse, text)
        })
    }

    fn write_response(&self, tokens: u64) -> Bytes {
        let mut body = BytesMut::new();
        object(&mut body, |o| o.number("totalTokens", tokens));
        body.freeze()
    }
}

/// The client's own bytes, but for the model inside.
fn untouched(source: &Bytes, to: &Outgoing<'_>) -> Option<Bytes> {
    let text = std::str::from_utf8(source).ok()?;
    member(text, WHOLE)?;
    let mut out = BytesMut::with_capacity(source.len() + 64);
    let mut whole = |key: &str, value: &str, out: &mut BytesMut| match keys::camel(key) == WHOLE
        && rename(value, to, out)
    {
        true => FieldAction::Replace,
        false => FieldAction::Keep,
    };
    splice::object(text, &mut out, &mut whole).then(|| out.freeze())
}

fn has_only_contents(body: &[u8]) -> bool {
    let mut fields = 0;
    let read = json::read(body, |cursor| {
        cursor.loose_object(|_, _| {
            fields += 1;
            Ok(())
        })
    });
    read.is_ok() && fields == 1
}

/// Puts a request inside a question, with its model's name if it has none.
fn wrapped(written: Written, model: Option<&str>) -> Written {
    let mut body = BytesMut::with_capacity(written.body.len() + 64);
    object(&mut body, |o| {
        let out = o.value(WHOLE);
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
