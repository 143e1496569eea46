//! One error type: what happened, to which target, what is known about it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::redact::{self, redact};
use crate::{AttemptLog, Class, KeyOwner, Response, classify};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What happened, before anybody judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The server could not be reached.
    Connect,
    /// The server's name could not be resolved.
    Dns,
    /// The server's certificate or host name is not to be trusted.
    Tls,
    /// The connection broke.
    ConnectionLost,
    /// A pooled connection died before a byte of the request left.
    NeverSent,
    /// One of the attempt's own timers ran out.
    Timeout(Timer),
    /// The provider answered with an error; status and code say which.
    Provider,
    /// The answer could not be understood.
    BadResponse,
    /// The answer ended without its terminator.
    Truncated,
    /// The answer said nothing.
    Empty,
    /// The caller's accept hook refused the answer.
    Refused,
    /// The target cannot take this request.
    Unsupported,
    /// The provider does not have this model.
    ModelNotFound,
    /// The request does not fit the target's context window.
    ContextLength,
    /// No key is configured for the provider.
    MissingKey,
    /// The request was cancelled.
    Cancelled,
    /// The caller's deadline passed.
    Deadline,
    /// The spec, alias, DSN or provider name is wrong.
    Spec,
    /// No target of the chain could serve.
    Exhausted,
    /// The gateway itself refused: a full queue, a shutdown.
    Local,
    /// The target serves as many requests as it may already; nothing was sent.
    Busy,
    /// Anything else.
    Unknown,
}

/// The timers of an attempt; each names itself in its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// Connecting, TLS included.
    Connect,
    /// Waiting for the first byte of the answer.
    FirstByte,
    /// Waiting for the first event that carries something.
    FirstEvent,
    /// Waiting for the next byte of a stream.
    Idle,
    /// Waiting for the next event that carries something, while bytes come.
    EventIdle,
    /// Writing the request.
    Write,
    /// The whole answer.
    Total,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::FirstByte => "first-byte",
            Self::FirstEvent => "first-event",
            Self::Idle => "idle",
            Self::EventIdle => "event-idle",
            Self::Write => "write",
            Self::Total => "total",
        })
    }
}

/// What went wrong. Cheap to move and to clone; its text never holds a key or a
/// URL's query.
///
/// ```
/// use majordomo_llm::{Class, Error};
///
/// let error = Error::provider(503, "overloaded").with_target("groq", "llama");
/// assert_eq!(error.to_string(), "groq/llama: HTTP 503: overloaded");
/// assert_eq!(error.class(), Class::Transient);
/// ```
#[derive(Clone)]
pub struct Error(Box<Detail>);

#[derive(Clone)]
struct Detail {
    kind: ErrorKind,
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    code: Option<String>,
    message: String,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    key_owner: KeyOwner,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
    partial: Option<Box<Response>>,
    attempt_log: AttemptLog,
}

impl Error {
    /// An error of this kind, in a sentence.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self(Box::new(Detail {
            kind,
            provider: None,
            model: None,
            status: None,
            code: None,
            message: redact(message.as_ref()),
            request_id: None,
            retry_after: None,
            key_owner: KeyOwner::default(),
            cause: None,
            partial: None,
            attempt_log: AttemptLog::default(),
        }))
    }

    /// An error that the provider answered with.
    pub fn provider(status: u16, message: impl AsRef<str>) -> Self {
        let mut error = Self::new(ErrorKind::Provider, message);
        error.0.status = Some(status);
        error
    }

    /// Says which target it happened to, unless that is known already.
    #[must_use]
    pub fn with_target(mut self, provider: &str, model: &str) -> Self {
        self.0.provider.get_or_insert_with(|| provider.to_owned());
        self.0.model.get_or_insert_with(|| model.to_owned());
        self
    }

    /// Says which provider it happened to.
    #[must_use]
    pub fn with_provider(mut self, provider: &str) -> Self {
        self.0.provider = Some(provider.to_owned());
        self
    }

    /// Adds the provider's own error code or type.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds how long the provider wants to be left alone.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    /// Adds the provider's id of the failed request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Says whose key was used.
    #[must_use]
    pub fn with_key_owner(mut self, owner: KeyOwner) -> Self {
        self.0.key_owner = owner;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    /// Adds what had come of the answer.
    #[must_use]
    pub fn with_partial(mut self, partial: Response) -> Self {
        self.0.partial = Some(Box::new(partial));
        self
    }

    /// Adds who was asked.
    #[must_use]
    pub fn with_attempt_log(mut self, attempt_log: AttemptLog) -> Self {
        self.0.attempt_log = attempt_log;
        self
    }

    /// Takes a key out of everything that the error says: providers repeat what
    /// they were sent. Texts too short to be a key are left alone.
    #[must_use]
    pub fn redacting(mut self, key: &str) -> Self {
        if key.len() < redact::SHORTEST_KEY {
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
        detail
            .cause
            .take_if(|cause| cause.to_string().contains(key));
        self
    }

    /// What happened.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What it means for the chain.
    pub fn class(&self) -> Class {
        classify(self)
    }

    /// The provider that it happened to.
    pub fn provider_name(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// The model that it happened to.
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    /// The HTTP status, if the provider answered at all.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's own error code or type.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The sentence, without target, status and cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The text without the target, for places that name it already.
    pub fn reason(&self) -> String {
        Reason(&self.0, "").to_string()
    }

    /// The provider's id of the failed request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long the provider wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whose key was used.
    pub fn key_owner(&self) -> KeyOwner {
        self.0.key_owner
    }

    /// What had come of the answer before a stream broke.
    pub fn partial(&self) -> Option<&Response> {
        self.0.partial.as_deref()
    }

    /// Who was asked, if this is a chain's error.
    pub fn attempt_log(&self) -> &AttemptLog {
        &self.0.attempt_log
    }
}

/// `provider/model: HTTP 429 [code]: message: cause`, whatever of it is known.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.0;
        let Some(provider) = &detail.provider else {
            return Reason(detail, "").fmt(f);
        };
        f.write_str(provider)?;
        if let Some(model) = &detail.model {
            write!(f, "/{model}")?;
        }
        Reason(detail, ": ").fmt(f)
    }
}

/// Status, code, message and cause, after a separator.
struct Reason<'a>(&'a Detail, &'static str);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(detail, before) = self;
        let mut separator = *before;
        // A status of our own is for the client's head; nobody said it to us.
        let answered = detail.kind != ErrorKind::Local;
        if let Some(status) = detail.status.filter(|_| answered) {
            write!(f, "{separator}HTTP {status}")?;
            separator = ": ";
        }
        if let Some(code) = &detail.code {
            let space = if separator.is_empty() { "" } else { " " };
            write!(f, "{space}[{code}]")?;
            separator = ": ";
        }
        if !detail.message.is_empty() {
            write!(f, "{separator}{}", detail.message)?;
            separator = ": ";
        }
        if let Some(cause) = &detail.cause {
            write!(f, "{separator}{}", redact(&cause.to_string()))?;
        }
        Ok(())
    }
}

/// The same text as for people: a derived form would print the cause unscrubbed.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

/// The cause is part of the text, so it is not told again as a source.
impl StdError for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_only_where_somebody_answered_with_it() {
        let ours = Error::new(ErrorKind::Local, "the body is too large").with_status(413);
        assert_eq!(ours.to_string(), "the body is too large");
        let theirs = Error::provider(413, "too large");
        assert_eq!(theirs.to_string(), "HTTP 413: too large");
    }

    #[test]
    fn the_text_names_target_status_code_message_and_cause() {
        let error = Error::provider(429, "slow down")
            .with_target("openai", "gpt-6")
            .with_code("rate_limit_exceeded")
            .with_cause(std::io::Error::other("reset"));
        assert_eq!(
            error.to_string(),
            "openai/gpt-6: HTTP 429 [rate_limit_exceeded]: slow down: reset"
        );
        assert_eq!(
            error.reason(),
            "HTTP 429 [rate_limit_exceeded]: slow down: reset"
        );
    }

    #[test]
    fn no_text_holds_a_key_or_a_query() {
        let cause = std::io::Error::other("GET https://x.example/v1?key=CANARY failed");
        let error = Error::new(ErrorKind::Unknown, "Incorrect API key: sk-CANARY1234567890")
            .with_cause(cause);
        for text in [
            error.to_string(),
            format!("{error:?}"),
            format!("{error:#?}"),
        ] {
            assert!(!text.contains("CANARY"), "{text}");
        }
    }

    #[test]
    fn a_key_that_looks_like_none_is_hidden_by_its_owner() {
        let error = Error::provider(401, "the key hunter2-hunter2 is wrong")
            .with_code("hunter2-hunter2")
            .with_request_id("hunter2-hunter2")
            .with_cause(std::io::Error::other("hunter2-hunter2"))
            .redacting("hunter2-hunter2");
        assert_eq!(
            error.to_string(),
            "HTTP 401 [[hidden]]: the key [hidden] is wrong"
        );
        assert_eq!(error.request_id(), Some("[hidden]"));
    }

    #[test]
    fn the_first_target_named_stands() {
        let error = Error::new(ErrorKind::Connect, "refused")
            .with_target("a", "x")
            .with_target("b", "y");
        assert_eq!(error.to_string(), "a/x: refused");
    }
}
