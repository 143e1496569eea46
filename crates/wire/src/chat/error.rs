//! Writes errors in OpenAI's format: `error.message`, `type`, `param` and `code`.

use bytes::BytesMut;
use majordomo_llm::{Class, Error};

use crate::ErrorReply;
use crate::failure::{retry_headers, status_for_client};
use crate::json::{Object, object};
use crate::overlong::{self, OverlongWords};

/// Writes the status, the retry headers and the body.
pub(super) fn write_error(error: &Error) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, &overlong::CHAT, o));
    ErrorReply {
        status: status_for_client(error),
        headers: retry_headers(error),
        body: body.freeze(),
    }
}

/// Writes the `error` field of a body or of a stream chunk.
pub(crate) fn write_into(error: &Error, words: &OverlongWords, object: &mut Object<'_>) {
    object.object("error", |o| {
        o.string("message", &overlong::message(error, words));
        o.string("type", error_type(error));
        o.raw("param", "null");
        match code(error) {
            Some(code) => o.string("code", code),
            None => o.raw("code", "null"),
        }
    });
}

fn error_type(error: &Error) -> &'static str {
    match status_for_client(error) {
        401 => "authentication_error",
        403 => "permission_error",
        429 if is_quota(error) => "insufficient_quota",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

/// Whether the account has no money left, at the provider or at the gateway.
fn is_quota(error: &Error) -> bool {
    error.class() == Class::Quota || error.code() == Some("insufficient_quota")
}

/// Returns OpenAI's error code where one exists, since clients branch on it, and
/// the provider's own code otherwise.
pub(crate) fn code(error: &Error) -> Option<&str> {
    Some(match error.class() {
        Class::ContextLength => "context_length_exceeded",
        Class::ModelNotFound => "model_not_found",
        Class::Quota => "insufficient_quota",
        Class::RateLimited => "rate_limit_exceeded",
        // With 403 the key is valid; clients would ask the user for another one.
        Class::ClientAuth if status_for_client(error) == 401 => "invalid_api_key",
        _ => return error.code(),
    })
}
