//! Errors in the form that OpenAI's clients expect.

use bytes::BytesMut;
use majordomo_llm::Error;

use crate::ErrorReply;
use crate::chat::error::{code, write_into};
use crate::failure::{retry_headers, status_for_client};
use crate::json::{Object, object};
use crate::overlong;

/// Writes status, headers and body.
pub(super) fn write_error(error: &Error) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, &overlong::RESPONSES, o));
    ErrorReply {
        status: status_for_client(error),
        headers: retry_headers(error),
        body: body.freeze(),
    }
}

/// Writes the `error` of a failed response: a code and a message.
pub(super) fn write_response_error(error: &Error, object: &mut Object<'_>) {
    object.object("error", |o| {
        o.string("code", code(error).unwrap_or("server_error"));
        o.string("message", &error_message(error));
    });
}

/// Writes the fields of a stream's `error` event.
pub(super) fn write_error_event(error: &Error, object: &mut Object<'_>) {
    match code(error) {
        Some(code) => object.string("code", code),
        None => object.raw("code", "null"),
    }
    object.string("message", &error_message(error));
    object.raw("param", "null");
    write_into(error, &overlong::RESPONSES, object);
}

/// Clients parse the delay out of the message, since a stream has no header for
/// it.
fn error_message(error: &Error) -> String {
    let text = overlong::message(error, &overlong::RESPONSES);
    match error.retry_after() {
        Some(wait) if !text.contains("try again in") => {
            format!("{text} Please try again in {}s.", wait.as_secs_f64())
        }
        _ => text,
    }
}
