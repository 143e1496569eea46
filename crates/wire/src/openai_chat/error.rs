//! Writes errors in OpenAI's format: `error.message`, `type`, `param` and `code`.

use bytes::BytesMut;
use majordomo_llm::Class;

use crate::json::{Object, object};
use crate::overlong::{self, OverlongWords};
use crate::{ClientError, ErrorReply};

/// Writes the status, the retry headers and the body.
pub(super) fn write_error(error: &ClientError) -> ErrorReply {
    let mut body = BytesMut::new();
    object(&mut body, |o| write_into(error, &overlong::CHAT, o));
    ErrorReply {
        status: error.common_status(),
        headers: error.retry_headers(),
        body: body.freeze(),
    }
}

/// Writes the `error` field of a body or of a stream chunk.
pub(crate) fn write_into(error: &ClientError, words: &OverlongWords, object: &mut Object<'_>) {
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

fn error_type(error: &ClientError) -> &'static str {
    match error.common_status() {
        401 => "authentication_error",
        403 => "permission_error",
        429 if is_quota(error) => "insufficient_quota",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

/// Whether the account's funds are exhausted, at the provider or at the gateway.
fn is_quota(error: &ClientError) -> bool {
    error.class == Class::Quota || error.code.as_deref() == Some("insufficient_quota")
}

/// Returns OpenAI's error code where one exists, since clients branch on it, and
/// the provider's own code otherwise.
pub(crate) fn code(error: &ClientError) -> Option<&str> {
    Some(match error.class {
        Class::ContextLength => "context_length_exceeded",
        Class::ModelNotFound => "model_not_found",
        Class::Quota => "insufficient_quota",
        Class::RateLimited | Class::ClientLimited => "rate_limit_exceeded",
        // With 403 the key is valid; clients would ask the user for another one.
        Class::ClientAuth if error.common_status() == 401 => "invalid_api_key",
        _ => return error.code.as_deref(),
    })
}
