//! Errors in the form that Anthropic's clients expect.

use bytes::BytesMut;
use majordomo_llm::Class;

use crate::json::object;
use crate::overlong;
use crate::{ClientError, ErrorReply};

/// Writes status, headers and body.
pub(super) fn write_error(error: &ClientError) -> ErrorReply {
    let mut body = BytesMut::new();
    write_error_body(error, &mut body);
    let mut headers = error.retry_headers();
    if let Some(id) = error.request_id.as_deref() {
        headers.push(("request-id", id.to_owned()));
    }
    ErrorReply {
        status: error.status,
        headers,
        body: body.freeze(),
    }
}

/// Writes the body of an error response, which is also the data of an `error`
/// event.
pub(super) fn write_error_body(error: &ClientError, out: &mut BytesMut) {
    let kind = error_type(error);
    object(out, |o| {
        o.string("type", "error");
        o.object("error", |o| {
            o.string("type", kind);
            o.string("message", &overlong::message(error, &overlong::MESSAGES));
            if let Some(code) = error.code.as_deref().filter(|code| *code != kind) {
                o.object("details", |o| o.string("error_code", code));
            }
        });
        if let Some(id) = error.request_id.as_deref() {
            o.string("request_id", id);
        }
    });
}

fn error_type(error: &ClientError) -> &'static str {
    match error.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 if error.class == Class::Quota => "billing_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        _ if error.code.as_deref() == Some("overloaded_error") => "overloaded_error",
        _ => "api_error",
    }
}
