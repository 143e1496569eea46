//! The error type.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::redact::{self, redact};
use crate::redacted_cause::RedactedCause;
use crate::{AttemptLog, Class, ErrorKind, KeyOwner, Response, classify};

/// A `Result` whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed request: what failed, at which target, and what is known about it.
///
/// Cheap to move. The text never contains keys or URL queries; see [`redact`].
///
/// ```
/// use majordomo_llm::{Class, Error};
///
/// let error = Error::http(503, "overloaded").with_target("groq", "llama");
/// assert_eq!(error.to_string(), "groq/llama: HTTP 503: overloaded");
/// assert_eq!(error.class(), Class::Transient);
/// ```
#[derive(Clone)]
pub struct Error(Box<ErrorDetail>);

#[derive(Clone)]
struct ErrorDetail {
    kind: ErrorKind,
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    code: Option<String>,
    message: String,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
    key_owner: KeyOwner,
    cause: Option<RedactedCause>,
    partial: Option<Box<Response>>,
    attempt_log: AttemptLog,
}

impl Error {
    /// Creates an error. The message is redacted.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self(Box::new(ErrorDetail {
            kind,
            provider: None,
            model: None,
            status: None,
            code: None,
            message: redact(message.as_ref()),
            request_id: None,
            retry_after: None,
            retryable: None,
            key_owner: KeyOwner::default(),
            cause: None,
            partial: None,
            attempt_log: AttemptLog::default(),
        }))
    }

    /// Creates an error from a provider's HTTP error response.
    pub fn http(status: u16, message: impl AsRef<str>) -> Self {
        let mut error = Self::new(ErrorKind::Provider, message);
        error.0.status = Some(status);
        error
    }

    /// Sets the target, unless it is already set.
    #[must_use]
    pub fn with_target(mut self, provider: &str, model: &str) -> Self {
        self.0.provider.get_or_insert_with(|| provider.to_owned());
        self.0.model.get_or_insert_with(|| model.to_owned());
        self
    }

    /// Sets the provider.
    #[must_use]
    pub fn with_provider(mut self, provider: &str) -> Self {
        self.0.provider = Some(provider.to_owned());
        self
    }

    /// Sets the provider's error code or type.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Sets the delay requested by the provider; see [`retry_after`](crate::retry_after).
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    /// Sets whether repeating the request may succeed, instead of deriving it from the class.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// Sets the provider's request id.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Sets the owner of the key that was used.
    #[must_use]
    pub fn with_key_owner(mut self, owner: KeyOwner) -> Self {
        self.0.key_owner = owner;
        self
    }

    /// Sets the cause, which [`source`](StdError::source) returns. Its texts are redacted, as
    /// are those of its own causes.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError) -> Self {
        self.0.cause = Some(RedactedCause::new(&cause));
        self
    }

    /// Sets the partial response.
    #[must_use]
    pub fn with_partial(mut self, partial: Response) -> Self {
        self.0.partial = Some(Box::new(partial));
        self
    }

    /// Sets the attempt log.
    #[must_use]
    pub fn with_attempt_log(mut self, attempt_log: AttemptLog) -> Self {
        self.0.attempt_log = attempt_log;
        self
    }

    /// Redacts a key from all texts, because providers echo what they receive.
    ///
    /// Strings too short to be a key are ignored.
    #[must_use]
    pub fn redacting(mut self, key: &str) -> Self {
        if key.len() < redact::MIN_KEY_LEN {
            return self;
        }
        let detail = &mut *self.0;
        let texts = [Some(&mut detail.message), detail.code.as_mut()];
        for text in texts
            .into_iter()
            .chain([detail.request_id.as_mut()])
            .flatten()
        {
            if text.contains(key) {
                *text = text.replace(key, redact::HIDDEN);
            }
        }
        detail.cause.take_if(|cause| cause.contains(key));
        self
    }

    /// Returns what failed.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Classifies the error; see [`classify`].
    pub fn class(&self) -> Class {
        classify(self)
    }

    /// Returns the provider's name.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// Returns the model's id.
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    /// Returns the HTTP status, if the provider responded.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the provider's error code or type.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Returns the message, without target, status and cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Formats the error without its target, but with its causes.
    pub fn reason(&self) -> String {
        self.with_causes(ErrorReason(&self.0, "").to_string())
    }

    /// Formats the error with its target and its causes, followed by the other targets
    /// that did not serve the request, each with its reason.
    pub fn report(&self) -> String {
        let text = self.with_causes(self.to_string());
        let others = self.0.attempt_log.other_targets(&text);
        text + &others
    }

    fn with_causes(&self, mut text: String) -> String {
        let mut cause = self.0.cause.as_ref();
        while let Some(next) = cause {
            let separator = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{separator}{next}");
            cause = next.next();
        }
        text
    }

    /// Returns the provider's request id.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Returns the delay requested by the provider.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns `true` if repeating the request may succeed. The error of an exhausted chain
    /// is retryable if one of its targets failed temporarily.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable.unwrap_or_else(|| match self.class() {
            Class::Denied | Class::Local => self.0.retry_after.is_some(),
            class => class.is_temporary(),
        })
    }

    /// Returns the owner of the key that was used.
    pub fn key_owner(&self) -> KeyOwner {
        self.0.key_owner
    }

    /// Returns what was received of the response before it failed.
    pub fn partial(&self) -> Option<&Response> {
        self.0.partial.as_deref()
    }

    /// Returns the attempts. Empty unless a chain returned the error.
    pub fn attempt_log(&self) -> &AttemptLog {
        &self.0.attempt_log
    }
}

/// Formats as `provider/model: HTTP 429 [code]: message`, omitting what is unknown.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.0;
        let Some(provider) = &detail.provider else {
            return ErrorReason(detail, "").fmt(f);
        };
        f.write_str(provider)?;
        if let Some(model) = &detail.model {
            write!(f, "/{model}")?;
        }
        ErrorReason(detail, ": ").fmt(f)
    }
}

/// Displays status, code and message, preceded by a separator.
struct ErrorReason<'a>(&'a ErrorDetail, &'static str);

impl fmt::Display for ErrorReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(detail, before) = self;
        let mut separator = *before;
        // A chain's error lists the statuses and codes of its attempts.
        let from_upstream = detail.kind != ErrorKind::Exhausted;
        if let Some(status) = detail.status.filter(|_| from_upstream) {
            write!(f, "{separator}HTTP {status}")?;
            separator = ": ";
        }
        if let Some(code) = detail.code.as_ref().filter(|_| from_upstream) {
            let space = if separator.is_empty() { "" } else { " " };
            write!(f, "{space}[{code}]")?;
            separator = ": ";
        }
        if !detail.message.is_empty() {
            write!(f, "{separator}{}", detail.message)?;
        }
        Ok(())
    }
}

/// Uses the `Display` text: kind and text say more than a list of empty fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let cause = self.0.cause.as_ref()?;
        Some(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_upstream_status_is_displayed() {
        let exhausted = Error::new(ErrorKind::Exhausted, "every target failed").with_status(503);
        assert_eq!(exhausted.to_string(), "every target failed");
        let upstream = Error::http(413, "too large");
        assert_eq!(upstream.to_string(), "HTTP 413: too large");
    }

    #[test]
    fn the_text_contains_target_status_code_and_message() {
        let error = Error::http(429, "slow down")
            .with_target("openai", "gpt-6")
            .with_code("rate_limit_exceeded")
            .with_cause(std::io::Error::other("reset"));
        assert_eq!(
            error.to_string(),
            "openai/gpt-6: HTTP 429 [rate_limit_exceeded]: slow down"
        );
        assert_eq!(error.source().unwrap().to_string(), "reset");
        assert_eq!(
            error.reason(),
            "HTTP 429 [rate_limit_exceeded]: slow down: reset"
        );
        assert_eq!(
            error.report(),
            "openai/gpt-6: HTTP 429 [rate_limit_exceeded]: slow down: reset"
        );
    }

    #[test]
    fn no_text_contains_a_key_or_a_query() {
        let cause = std::io::Error::other("GET https://x.example/v1?key=CANARY failed");
        let error = Error::new(ErrorKind::Unknown, "Incorrect API key: sk-CANARY1234567890")
            .with_cause(cause);
        let source = error.source().unwrap();
        for text in [
            error.to_string(),
            error.reason(),
            format!("{error:?}"),
            format!("{error:#?}"),
            source.to_string(),
            format!("{source:?}"),
        ] {
            assert!(!text.contains("CANARY"), "{text}");
        }
    }

    #[test]
    fn a_known_key_is_redacted_whatever_it_looks_like() {
        let error = Error::http(401, "the key hunter2-hunter2 is wrong")
            .with_code("hunter2-hunter2")
            .with_request_id("hunter2-hunter2")
            .with_cause(std::io::Error::other("hunter2-hunter2"))
            .redacting("hunter2-hunter2");
        assert_eq!(
            error.to_string(),
            "HTTP 401 [[hidden]]: the key [hidden] is wrong"
        );
        assert_eq!(error.request_id(), Some("[hidden]"));
        assert!(error.source().is_none(), "a cause with the key is dropped");
    }

    #[test]
    fn the_first_target_wins() {
        let error = Error::new(ErrorKind::Connect, "refused")
            .with_target("a", "x")
            .with_target("b", "y");
        assert_eq!(error.to_string(), "a/x: refused");
    }
}
