//! Response heads, and the distinction between success and error status.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::HeaderMap;
use http::{StatusCode, response};
use majordomo_llm::{Error, retry_after};

/// A response with a 2xx, 4xx or 5xx status. Redirects, empty responses and the
/// like are transport errors instead.
#[derive(Debug)]
pub enum TransportResponse<B> {
    /// A success with its body.
    Success(ResponseHead, B),
    /// An error status with at most 64 KiB of its body.
    ErrorStatus(ResponseHead, Bytes),
}

/// Status and headers of a response.
#[derive(Clone)]
pub struct ResponseHead {
    status: StatusCode,
    headers: HeaderMap,
    retry_after: Option<Duration>,
}

/// Headers in which providers and their proxies return a request id.
const REQUEST_IDS: [&str; 6] = [
    "request-id",
    "x-request-id",
    "x-goog-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "cf-ray",
];

impl ResponseHead {
    pub(crate) fn new(parts: response::Parts, wall_clock: fn() -> SystemTime) -> Self {
        let may_have_delay = matches!(parts.status.as_u16(), 408 | 429 | 503 | 529);
        let retry_after = may_have_delay
            .then(|| first_valid_delay(&parts.headers, wall_clock))
            .flatten();
        Self {
            status: parts.status,
            headers: parts.headers,
            retry_after,
        }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A header's value as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The provider's request id.
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_IDS.iter().find_map(|name| self.header(name))
    }

    /// The requested delay, on 408, 429, 503 and 529.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Adds the provider's request id to an error inside a successful response,
    /// whose status would mislead.
    #[must_use]
    pub fn add_request_id(&self, error: Error) -> Error {
        match self.request_id() {
            Some(id) => error.with_request_id(id),
            None => error,
        }
    }

    /// Adds status, request id and retry delay to an error.
    #[must_use]
    pub fn add_to(&self, error: Error) -> Error {
        let error = error
            .with_status(self.status.as_u16())
            .with_retry_after(self.retry_after);
        match self.request_id() {
            Some(id) => error.with_request_id(id),
            None => error,
        }
    }
}

/// The first parseable value, if a header is repeated.
fn first_valid_delay(headers: &HeaderMap, wall_clock: fn() -> SystemTime) -> Option<Duration> {
    ["retry-after-ms", "retry-after"].iter().find_map(|name| {
        headers.get_all(*name).iter().find_map(|value| {
            let value = value.to_str().ok()?;
            retry_after(|wanted| (wanted == *name).then_some(value), wall_clock())
        })
    })
}

/// Prints no header values, which may contain cookies or account ids.
impl fmt::Debug for ResponseHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHead")
            .field("status", &self.status.as_u16())
            .field("request_id", &self.request_id())
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (parts, ()) = response.body(()).unwrap().into_parts();
        ResponseHead::new(parts, || {
            SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770)
        })
    }

    #[test]
    fn the_retry_delay_is_read_in_every_form_from_retryable_statuses() {
        type Row<'a> = (u16, &'a [(&'a str, &'a str)], Option<u64>);
        let date = "Sun, 06 Nov 1994 08:50:00 GMT";
        let rows: &[Row<'_>] = &[
            (429, &[("retry-after", "7")], Some(7_000)),
            (429, &[("retry-after", date)], Some(30_000)),
            (503, &[("retry-after-ms", "250")], Some(250)),
            (
                429,
                &[("retry-after", "9"), ("retry-after-ms", "250")],
                Some(250),
            ),
            (
                429,
                &[("retry-after", "abc"), ("retry-after", "3")],
                Some(3_000),
            ),
            (
                529,
                &[("retry-after", "3"), ("retry-after", "9")],
                Some(3_000),
            ),
            (429, &[("retry-after", "-1")], None),
            (429, &[], None),
            (500, &[("retry-after", "7")], None),
            (200, &[("retry-after", "7")], None),
        ];
        for (status, headers, expected) in rows {
            let delay = head(*status, headers).retry_after();
            let expected = expected.map(Duration::from_millis);
            assert_eq!(delay, expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn an_error_gets_status_request_id_and_retry_delay() {
        let head = head(429, &[("x-request-id", "req_1"), ("retry-after", "2")]);
        let error = head.add_to(Error::new(majordomo_llm::ErrorKind::Provider, "slow down"));
        assert_eq!(error.status(), Some(429));
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    }
}
