//! What came back: the head of an answer, and whether it was an answer at all.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::HeaderMap;
use http::{StatusCode, response};
use majordomo_llm::{Error, retry_after};

/// An answer of the provider, good or bad. Redirects, empty answers and the
/// like are errors of the transport and never come this far.
#[derive(Debug)]
pub enum Reply<B> {
    /// A success, with its body.
    Accepted(Head, B),
    /// An error status, with at most 64 KiB of what the provider said about it.
    Refused(Head, Bytes),
}

/// Status and headers of an answer.
#[derive(Clone)]
pub struct Head {
    status: StatusCode,
    headers: HeaderMap,
    retry_after: Option<Duration>,
}

/// Where providers and the proxies before them put the id of a request.
const REQUEST_IDS: [&str; 6] = [
    "request-id",
    "x-request-id",
    "x-goog-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "cf-ray",
];

impl Head {
    pub(crate) fn new(parts: response::Parts, wall_clock: fn() -> SystemTime) -> Self {
        let wants_peace = matches!(parts.status.as_u16(), 408 | 429 | 503 | 529);
        let retry_after = wants_peace
            .then(|| first_readable_wait(&parts.headers, wall_clock))
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

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The provider's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_IDS.iter().find_map(|name| self.header(name))
    }

    /// How long the provider wants to be left alone, on 408, 429, 503 and 529.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Adds the provider's id of the request to an error inside a success, whose
    /// status would only mislead.
    #[must_use]
    pub fn describe(&self, error: Error) -> Error {
        match self.request_id() {
            Some(id) => error.with_request_id(id),
            None => error,
        }
    }

    /// Adds to an error what the head knows: status, request id, wait.
    #[must_use]
    pub fn explain(&self, error: Error) -> Error {
        let error = error
            .with_status(self.status.as_u16())
            .with_retry_after(self.retry_after);
        match self.request_id() {
            Some(id) => error.with_request_id(id),
            None => error,
        }
    }
}

/// Of headers that are sent twice the first readable one counts.
fn first_readable_wait(headers: &HeaderMap, wall_clock: fn() -> SystemTime) -> Option<Duration> {
    ["retry-after-ms", "retry-after"].iter().find_map(|name| {
        headers.get_all(*name).iter().find_map(|value| {
            let value = value.to_str().ok()?;
            retry_after(|asked| (asked == *name).then_some(value), wall_clock())
        })
    })
}

/// Status and header names: values may hold cookies or accounts.
impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
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

    fn head(status: u16, headers: &[(&str, &str)]) -> Head {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (parts, ()) = response.body(()).unwrap().into_parts();
        Head::new(parts, || {
            SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770)
        })
    }

    #[test]
    fn the_wait_is_read_in_every_form_and_only_where_it_means_one() {
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
            let wait = head(*status, headers).retry_after();
            let expected = expected.map(Duration::from_millis);
            assert_eq!(wait, expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn an_error_learns_status_request_id_and_wait() {
        let head = head(429, &[("x-request-id", "req_1"), ("retry-after", "2")]);
        let error = head.explain(Error::new(majordomo_llm::ErrorKind::Provider, "slow down"));
        assert_eq!(error.status(), Some(429));
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    }
}
