//! Writes errors in Ollama's format: `{"error": "message"}`.

use bytes::BytesMut;
use majordomo_llm::Error;

use crate::ErrorReply;
use crate::failure::{retry_headers, status_for_client};
use crate::json::{Object, object};
use crate::overlong;

/// Writes the status, the retry headers and the body.
pub(super) fn write_error(error: &Error) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, o));
    ErrorReply {
        status: status_for_client(error),
        headers: retry_headers(error),
        body: body.freeze(),
    }
}

/// Writes the `error` field of a body or of a stream line.
pub(super) fn write_into(error: &Error, object: &mut Object<'_>) {
    object.string("error", &overlong::message(error, &overlong::OLLAMA));
}
