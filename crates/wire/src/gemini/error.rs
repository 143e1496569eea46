//! Writes errors as `google.rpc.Status`: `code`, `message`, `status`, `details`.

use bytes::BytesMut;
use majordomo_llm::Class;

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

/// Writes the `error` field of a body or of a stream chunk.
pub(super) fn write_into(error: &ClientError, object: &mut Object<'_>) {
    let status = error.common_status();
    object.object("error", |o| {
        o.number("code", status);
        o.string("message", &overlong::message(error, &overlong::GEMINI));
        o.string("status", status_name(status));
        let reason = reason(error).filter(|reason| *reason != status_name(status));
        if reason.is_none() && error.retry_after.is_none() {
            return;
        }
        o.array("details", |a| {
            if let Some(reason) = reason {
                a.object(|o| {
                    o.string("@type", "type.googleapis.com/google.rpc.ErrorInfo");
                    o.string("reason", reason);
                });
            }
            if error.code.as_deref() == Some("insufficient_quota") {
                a.object(|o| {
                    o.string("@type", "type.googleapis.com/google.rpc.QuotaFailure");
                    o.array("violations", |a| {
                        a.object(|o| o.string("description", &error.message));
                    });
                });
            }
            if let Some(delay) = error.retry_after {
                a.object(|o| {
                    o.string("@type", "type.googleapis.com/google.rpc.RetryInfo");
                    o.string("retryDelay", &format!("{}s", delay.as_secs_f64()));
                });
            }
        });
    });
}

/// Maps an HTTP status to its `google.rpc.Code` name.
fn status_name(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

/// Returns Google's `ErrorInfo` reason where one exists, since clients branch on
/// it, and the provider's own code otherwise.
fn reason(error: &ClientError) -> Option<&str> {
    match error.class {
        // With 403 the key is valid; clients would ask the user for another one.
        Class::ClientAuth if error.common_status() == 401 => Some("API_KEY_INVALID"),
        _ => error.code.as_deref(),
    }
}
