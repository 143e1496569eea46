//! Errors as OpenAI's clients expect them.

use bytes::BytesMut;
use majordomo_llm::{Class, Error};

use crate::ErrorReply;
use crate::failure::{retry_headers, status_for_client};
use crate::json::{Object, object};

/// Status, headers and body.
pub(super) fn write(error: &Error) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, o));
    ErrorReply {
        status: status_for_client(error),
        headers: retry_headers(error),
        body: body.freeze(),
    }
}

/// The `error` field of a body or of a chunk.
pub(crate) fn write_into(error: &Error, object: &mut Object<'_>) {
    object.object("error", |o| {
        o.string("message", &error.to_string());
        o.string("type", kind(error));
        o.raw("param", "null");
        match code(error) {
            Some(code) => o.string("code", code),
            None => o.raw("code", "null"),
        }
    });
}

fn kind(error: &Error) -> &'static str {
    match status_for_client(error) {
        401 => "authentication_error",
        403 => "permission_error",
        429 if error.class() == Class::Quota => "insufficient_quota",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

/// OpenAI's own word where there is one, since clients branch on it.
pub(crate) fn code(error: &Error) -> Option<&str> {
    Some(match error.class() {
        Class::ContextLength => "context_length_exceeded",
        Class::ModelNotFound => "model_not_found",
        Class::Quota => "insufficient_quota",
        Class::RateLimited => "rate_limit_exceeded",
        Class::ClientAuth => "invalid_api_key",
        _ => return error.code(),
    })
}
