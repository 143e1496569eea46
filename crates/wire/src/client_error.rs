//! An error as a client sees it, in any dialect.
//!
//! A client sees only a part of a chain's error, and a gateway also rejects requests that
//! never reach a chain. Both become a [`ClientError`], the only form of error that codecs
//! write.

use std::time::Duration;

use majordomo_llm::{Class, Error, ErrorKind};

use crate::handles_all::handles_all;

/// The error that a client receives for a failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientError {
    /// The HTTP status.
    pub status: u16,
    /// The class, which selects the dialect's own codes.
    pub class: Class,
    /// The provider's or the gateway's code, for classes without a code of the dialect.
    pub code: Option<String>,
    /// The text for people.
    pub message: String,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The provider's request id.
    pub request_id: Option<String>,
}

impl ClientError {
    /// An error with a status, a class and a text.
    pub fn new(status: u16, class: Class, message: impl Into<String>) -> Self {
        Self {
            status,
            class,
            code: None,
            message: message.into(),
            retry_after: None,
            request_id: None,
        }
    }

    /// Sets the code.
    #[must_use]
    pub fn with_code(mut self, code: Option<&str>) -> Self {
        self.code = code.map(str::to_owned);
        self
    }

    /// Sets when to try again.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The status for clients other than Anthropic's, which alone know 529.
    pub(crate) fn common_status(&self) -> u16 {
        match self.status {
            529 => 503,
            status => status,
        }
    }

    /// `retry-after` in whole seconds.
    pub(crate) fn retry_headers(&self) -> Vec<(&'static str, String)> {
        let seconds = |wait: Duration| wait.as_secs_f64().ceil().to_string();
        self.retry_after
            .map(|wait| ("retry-after", seconds(wait)))
            .into_iter()
            .collect()
    }
}

impl From<&Error> for ClientError {
    fn from(error: &Error) -> Self {
        let class = error.class();
        Self {
            status: status(error, class),
            class,
            code: error.code().map(str::to_owned),
            message: error.report(),
            retry_after: error.retry_after(),
            request_id: error.request_id().map(str::to_owned),
        }
    }
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

handles_all!(21 of Class);

/// The status to send to the client. An upstream that rejects the gateway's
/// credentials is a bad gateway: the client's key and request are not at fault.
fn status(error: &Error, class: Class) -> u16 {
    let own = |range: std::ops::Range<u16>| error.status().filter(|s| range.contains(s));
    match class {
        Class::RateLimited | Class::ClientLimited | Class::Quota => 429,
        Class::Denied => own(400..600).unwrap_or(429),
        Class::ClientAuth => own(401..404).or(own(429..430)).unwrap_or(401),
        Class::ModelNotFound => 404,
        Class::Conflict => own(400..500).unwrap_or(409),
        Class::Unsupported | Class::ContextLength | Class::Policy => own(400..500).unwrap_or(400),
        Class::Invalid => own(400..500).unwrap_or(400),
        Class::Forbidden => 403,
        Class::Cancelled => 499,
        Class::Deadline => 504,
        Class::Local if error.kind() == ErrorKind::Internal => 500,
        Class::Local => error.status().unwrap_or(503),
        Class::Auth | Class::Tls | Class::NeverSent | Class::BadResponse | Class::Empty => 502,
        Class::Transient => match error.kind() {
            ErrorKind::Timeout(_) => 504,
            _ => own(500..600).or(own(429..430)).unwrap_or(502),
        },
        _ => 502,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_without_a_retry_delay_stays_a_429() {
        let error = Error::http(429, "slow down");
        assert_eq!(ClientError::from(&error).status, 429);
    }

    #[test]
    fn a_failure_of_this_process_is_a_500_and_a_lack_of_resources_a_503() {
        for (kind, status) in [(ErrorKind::Internal, 500), (ErrorKind::Overloaded, 503)] {
            let error = Error::new(kind, "m");
            assert_eq!(ClientError::from(&error).status, status, "{kind:?}");
        }
    }
}
