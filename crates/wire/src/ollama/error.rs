//! Writes errors in Ollama's format: `{"error": "message"}`.

use bytes::BytesMut;

use crate::json::{Object, object};
use crate::overlong;
use crate::{ClientError, ErrorReply};

/// Writes the status, the retry headers and the body.
pub(super) fn write_error(error: &ClientError) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, o));
    ErrorReply {
        status: error.common_status(),
        headers: error.retry_headers(),
        body: body.freeze(),
    }
}

/// Writes the `error` field of a body or of a stream line.
pub(super) fn write_into(error: &ClientError, object: &mut Object<'_>) {
    object.string("error", &overlong::message(error, &overlong::OLLAMA));
}
