//! Errors in the form that OpenAI's clients expect.

use bytes::BytesMut;

use crate::json::{Object, object};
use crate::openai_chat::error::{code, write_into};
use crate::overlong;
use crate::{ClientError, ErrorReply};

/// Writes status, headers and body.
pub(super) fn write_error(error: &ClientError) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, &overlong::RESPONSES, o));
    ErrorReply {
        status: error.common_status(),
        headers: error.retry_headers(),
        body: body.freeze(),
    }
}

/// Writes the `error` of a failed response: a code and a message.
pub(super) fn write_response_error(error: &ClientError, object: &mut Object<'_>) {
    object.object("error", |o| {
        o.string("code", code(error).unwrap_or("server_error"));
        o.string("message", &error_message(error));
    });
}

/// Writes the fields of a stream's `error` event.
pub(super) fn write_error_event(error: &ClientError, object: &mut Object<'_>) {
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
fn error_message(error: &ClientError) -> String {
    let text = overlong::message(error, &overlong::RESPONSES);
    match error.retry_after {
        Some(wait) if !text.contains("try again in") => {
            format!("{text} Please try again in {}s.", wait.as_secs_f64())
        }
        _ => text,
    }
}
