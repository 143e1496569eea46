//! Error bodies, in the forms that all dialects share.
//!
//! Proxies and compatible servers return error bodies of every shape, so every
//! dialect reads all of them. Classification happens elsewhere.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use majordomo_llm::{Error, ErrorKind, retry_after};

use crate::FailedResponse;
use crate::json::{self, Cursor, JsonKind, ReadResult};

/// Longest message taken from a body that is not JSON.
const MAX_TEXT_CHARS: usize = 500;

/// The fields of an error body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    /// The most specific of the provider's codes and types.
    pub(crate) code: Option<String>,
    /// A code that is an HTTP status.
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    /// Google puts the retry delay into the body.
    retry_after: Option<Duration>,
    kind: Option<String>,
}

/// Reads a failed response of any dialect.
pub(crate) fn read_failed_response(failed: &FailedResponse<'_>) -> Error {
    let body = ErrorBody::of(failed.body);
    let request_id = ["x-request-id", "request-id"]
        .iter()
        .find_map(|name| (failed.header)(name))
        .map(str::to_owned)
        .or_else(|| body.request_id.clone());
    let wait = retry_after(failed.header, failed.now).or(body.retry_after);
    let mut error = body.into_error(Some(failed.status)).with_retry_after(wait);
    if let Some(id) = request_id {
        error = error.with_request_id(id);
    }
    error
}

impl ErrorBody {
    /// Reads a body; a body that is not JSON becomes the message.
    pub(crate) fn of(body: &[u8]) -> Self {
        let mut read = Self::default();
        let parsed = json::read(body, |cursor| read.read_value(cursor));
        if parsed.is_err() || read.message.is_none() {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            if !text.is_empty() {
                let short: String = text.chars().take(MAX_TEXT_CHARS).collect();
                read.message.get_or_insert(short);
            }
        }
        read
    }

    /// Reads the value of an `error` key inside a stream or a response.
    pub(crate) fn inside(raw: &str) -> Self {
        let mut read = Self::default();
        let _ = json::read_str(raw, |cursor| read.read_value(cursor));
        if read.message.is_none() {
            read.message = Some(raw.to_owned());
        }
        read
    }

    /// Builds the error; `status` is the response's, or `None` if the error was
    /// inside a success.
    pub(crate) fn into_error(self, status: Option<u16>) -> Error {
        let message = match (&self.message, status) {
            (Some(message), _) => message.clone(),
            (None, Some(_)) => "the provider gave no reason".to_owned(),
            (None, None) => "the provider reported an error inside its response".to_owned(),
        };
        let mut error = Error::new(ErrorKind::Provider, message).with_retry_after(self.retry_after);
        if let Some(status) = status.or(self.status) {
            error = error.with_status(status);
        }
        if let Some(code) = self.code.or(self.kind) {
            error = error.with_code(code);
        }
        if let Some(id) = self.request_id {
            error = error.with_request_id(id);
        }
        error
    }

    fn read_value(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        match cursor.peek()? {
            JsonKind::String => self.message = Some(cursor.string()?.into_owned()),
            JsonKind::Object => self.read_object(cursor)?,
            // Some servers wrap the error in a list.
            JsonKind::Array => cursor.array(|cursor| self.read_value(cursor))?,
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    }

    fn read_object(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        cursor.loose_object(|key, cursor| {
            let keep = |slot: &mut Option<String>, text: Option<Cow<'_, str>>| {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    slot.get_or_insert_with(|| text.into_owned());
                }
            };
            match &**key {
                "error" | "errors" | "metadata" => self.read_value(cursor)?,
                // FastAPI puts a list of validation errors here, Google a list
                // of details.
                "detail" | "details" => match cursor.peek()? {
                    JsonKind::String | JsonKind::Object => self.read_value(cursor)?,
                    _ => self.read_details(cursor)?,
                },
                "message" | "msg" => match cursor.peek()? {
                    JsonKind::String => {
                        // The outermost message wins.
                        let text = cursor.string()?.into_owned();
                        self.message.get_or_insert(text);
                    }
                    _ => self.read_value(cursor)?,
                },
                "code" | "error_code" | "error_type" | "reason" => match cursor.peek()? {
                    JsonKind::Number => self.read_number(cursor)?,
                    _ => {
                        let text = cursor.maybe_string()?;
                        match text.as_ref().and_then(|text| text.parse().ok()) {
                            Some(number) => self.keep_status(number),
                            None => keep(&mut self.code, text),
                        }
                    }
                },
                "type" | "status" => match cursor.peek()? {
                    JsonKind::Number => self.read_number(cursor)?,
                    _ => {
                        let text = cursor.maybe_string()?.filter(|text| text != "error");
                        keep(&mut self.kind, text);
                    }
                },
                "retryDelay" => {
                    let delay = cursor.maybe_string()?;
                    self.retry_after = delay.as_deref().and_then(seconds).or(self.retry_after);
                }
                "violations" => self.read_details(cursor)?,
                // A daily quota is not a rate limit: more specific than any
                // other code.
                "quotaId" => {
                    let id = cursor.maybe_string()?.filter(|id| id.contains("PerDay"));
                    self.code = id.map(Cow::into_owned).or(self.code.take());
                }
                "request_id" => keep(&mut self.request_id, cursor.maybe_string()?),
                _ => {}
            }
            Ok(())
        })
    }

    fn read_details(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        match cursor.peek()? {
            JsonKind::Array => cursor.array(|cursor| match cursor.peek()? {
                JsonKind::Object => self.read_object(cursor),
                _ => Ok(()),
            }),
            _ => Ok(()),
        }
    }

    fn read_number(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        if let Some(number) = cursor.count()? {
            self.keep_status(number);
        }
        Ok(())
    }

    fn keep_status(&mut self, number: u64) {
        let status = u16::try_from(number).ok();
        self.status = self
            .status
            .or(status.filter(|status| (400..600).contains(status)));
    }
}

/// Parses a protobuf duration such as `34.4s`, bounded like a `retry-after`
/// header.
fn seconds(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let header = |name: &str| (name == "retry-after").then_some(number);
    retry_after(header, SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientError;

    #[test]
    fn every_recorded_shape_of_error_body_is_read() {
        type ErrorBodyCase<'a> = (&'a str, &'a str, Option<&'a str>, Option<u16>);
        let rows: [ErrorBodyCase<'_>; 14] = [
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#,
                "m",
                Some("c"),
                None,
            ),
            (
                r#"{"error":{"message":"m","type":"t","code":null}}"#,
                "m",
                Some("t"),
                None,
            ),
            (
                r#"{"error":{"message":"m","type":"T","code":400}}"#,
                "m",
                Some("T"),
                Some(400),
            ),
            (
                r#"{"error":{"code":"401","message":"m"}}"#,
                "m",
                None,
                Some(401),
            ),
            (
                r#"{"error":{"code":502,"message":"m","metadata":{"error_type":"provider_overloaded"}}}"#,
                "m",
                Some("provider_overloaded"),
                Some(502),
            ),
            (r#"{"error":"m"}"#, "m", None, None),
            (
                r#"{"code":"invalid-argument","error":"m"}"#,
                "m",
                Some("invalid-argument"),
                None,
            ),
            (r#"{"detail":"m"}"#, "m", None, None),
            (
                r#"{"detail":[{"loc":["body"],"msg":"m","type":"missing"}]}"#,
                "m",
                Some("missing"),
                None,
            ),
            (
                r#"{"object":"error","message":"m","type":"t","code":3}"#,
                "m",
                Some("t"),
                None,
            ),
            (
                r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#,
                "m",
                Some("RESOURCE_EXHAUSTED"),
                Some(429),
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"x"}}}"#,
                "m",
                Some("x"),
                None,
            ),
            (
                "<html>502 Bad Gateway</html>",
                "<html>502 Bad Gateway</html>",
                None,
                None,
            ),
            (
                r#"{"nothing":"known"}"#,
                r#"{"nothing":"known"}"#,
                None,
                None,
            ),
        ];
        for (body, message, code, status) in rows {
            let read = ErrorBody::of(body.as_bytes());
            assert_eq!(read.message.as_deref(), Some(message), "{body}");
            assert_eq!(
                read.code.as_deref().or(read.kind.as_deref()),
                code,
                "{body}"
            );
            assert_eq!(read.status, status, "{body}");
        }
    }

    #[test]
    fn google_error_details_give_the_retry_delay_and_a_daily_quota() {
        let rows = [
            (
                r#"[{"@type":"x/RetryInfo","retryDelay":"34.4s"}]"#,
                Some(34.4),
                "RESOURCE_EXHAUSTED",
            ),
            (
                r#"[{"violations":[{"quotaId":"RequestsPerMinute"},{"quotaId":"RequestsPerDayPerProject"}]},{"retryDelay":"0s"}]"#,
                Some(0.0),
                "RequestsPerDayPerProject",
            ),
            (
                r#"[{"reason":"API_KEY_INVALID","retryDelay":"soon"}]"#,
                None,
                "API_KEY_INVALID",
            ),
        ];
        for (details, wait, code) in rows {
            let body = format!(
                r#"{{"error":{{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":{details}}}}}"#
            );
            let error = read_failed_response(&FailedResponse {
                status: 429,
                header: &|_| None,
                body: body.as_bytes(),
                now: SystemTime::UNIX_EPOCH,
            });
            assert_eq!(
                error.retry_after(),
                wait.map(Duration::from_secs_f64),
                "{details}"
            );
            assert_eq!(error.code(), Some(code), "{details}");
            let inside = ErrorBody::of(body.as_bytes()).into_error(None);
            assert_eq!(inside.retry_after(), error.retry_after(), "{details}");
        }
    }

    #[test]
    fn headers_give_the_request_id_and_the_retry_delay() {
        let header = |name: &str| match name {
            "x-request-id" => Some("req_1"),
            "retry-after" => Some("3"),
            _ => None,
        };
        let error = read_failed_response(&FailedResponse {
            status: 429,
            header: &header,
            body: b"",
            now: std::time::SystemTime::UNIX_EPOCH,
        });
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(error.message(), "the provider gave no reason");
        let error = ClientError::from(&error);
        assert_eq!(error.retry_headers(), [("retry-after", "3".to_owned())]);
        assert_eq!(error.status, 429);
    }
}
