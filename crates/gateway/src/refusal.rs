//! The gateway's own refusals: requests that it rejects before a target is called.
//!
//! A refusal has no target and no attempts, and its text is ours, so logs may show it. The
//! failure of a chain or a provider is an [`Error`]; [`RequestError`] is either.

use std::borrow::Cow;
use std::time::Duration;

use majordomo::llm::redact;
use majordomo::{Class, Error};
use majordomo_wire::ClientError;

/// A request that the gateway rejects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}{}", if detail.is_some() { ": " } else { "" }, detail.as_deref().unwrap_or_default())]
pub struct RequestRefusal {
    status: u16,
    class: Class,
    message: String,
    detail: Option<String>,
    code: Option<Cow<'static, str>>,
    retry_after: Option<Duration>,
}

impl RequestRefusal {
    /// A refusal with an HTTP status and a text for people, which is redacted.
    pub fn new(status: u16, message: impl AsRef<str>) -> Self {
        Self {
            status,
            class: Class::Local,
            message: redact(message.as_ref()),
            detail: None,
            code: None,
            retry_after: None,
        }
    }

    /// A refusal because of the client's key: clients treat 401 as a wrong key.
    pub(crate) fn of_key(status: u16, message: impl AsRef<str>) -> Self {
        Self {
            class: Class::ClientAuth,
            ..Self::new(status, message)
        }
    }

    /// Sets the code that clients branch on.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets when to try again.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds a detail that may quote the request: clients see it, logs do not.
    #[must_use]
    pub(crate) fn with_detail(mut self, detail: impl ToString) -> Self {
        self.detail = Some(redact(&detail.to_string()));
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// When to try again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The text, without what may quote the request.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<&RequestRefusal> for ClientError {
    fn from(refusal: &RequestRefusal) -> Self {
        Self::new(refusal.status, refusal.class, refusal.to_string())
            .with_code(refusal.code.as_deref())
            .with_retry_after(refusal.retry_after)
    }
}

/// Why a request gets an error instead of a response.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The gateway rejects it.
    #[error(transparent)]
    Refused(#[from] RequestRefusal),
    /// The chain or a processor failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// A `Result` whose error defaults to [`RequestError`].
pub(crate) type Result<T, E = RequestError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_reaches_the_client_and_not_the_message() {
        let refusal =
            RequestRefusal::new(400, "the request cannot be decoded").with_detail("at byte 7: `x`");
        let shown = ClientError::from(&refusal);
        assert_eq!(
            shown.message,
            "the request cannot be decoded: at byte 7: `x`"
        );
        assert_eq!(refusal.message(), "the request cannot be decoded");
    }

    #[test]
    fn a_key_in_the_text_is_redacted() {
        let refusal =
            RequestRefusal::new(400, "sk-CANARY1234567890").with_detail("sk-CANARY1234567890");
        assert!(!refusal.to_string().contains("CANARY"));
    }
}
