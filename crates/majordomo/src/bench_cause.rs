//! Why a target or a credential is benched, without the provider's text.

use std::fmt;

use majordomo_llm::{Class, Error, ErrorKind};

/// Why a target or a credential is benched.
///
/// A bench is logged and shown to every client. A provider's error text may repeat one
/// client's prompt, so this type cannot hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchCause {
    /// An attempt failed.
    Failed {
        /// The error's kind.
        kind: ErrorKind,
        /// Its class.
        class: Class,
        /// The HTTP status, if there was a response.
        status: Option<u16>,
    },
    /// The operator benched it.
    ByHand {
        /// The operator's reason.
        reason: String,
    },
}

impl BenchCause {
    /// The cause of a bench after this error.
    pub(crate) fn from_error(error: &Error, class: Class) -> Self {
        Self::Failed {
            kind: error.kind(),
            class,
            status: error.status(),
        }
    }

    /// The class of the failure, unless benched by hand.
    pub fn class(&self) -> Option<Class> {
        match self {
            Self::Failed { class, .. } => Some(*class),
            Self::ByHand { .. } => None,
        }
    }

    /// The HTTP status of the failure, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Failed { status, .. } => *status,
            Self::ByHand { .. } => None,
        }
    }
}

/// Formats as `HTTP 401, key rejected`, without the unknown parts.
impl fmt::Display for BenchCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, class, status) = match self {
            Self::ByHand { reason } => return f.write_str(reason),
            Self::Failed {
                kind,
                class,
                status,
            } => (*kind, *class, *status),
        };
        match status {
            Some(status) => write!(f, "HTTP {status}")?,
            None => describe_kind(kind, f)?,
        }
        match class {
            _ if kind == ErrorKind::MissingKey => Ok(()),
            Class::Auth => f.write_str(", key rejected"),
            Class::Quota => f.write_str(", quota or credit exhausted"),
            Class::RateLimited => f.write_str(", rate limited"),
            _ => Ok(()),
        }
    }
}

fn describe_kind(kind: ErrorKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = match kind {
        ErrorKind::Connect => "connection failed",
        ErrorKind::Dns => "name resolution failed",
        ErrorKind::Tls => "certificate not trusted",
        ErrorKind::ConnectionLost | ErrorKind::NeverSent => "connection lost",
        ErrorKind::Timeout(timer) => return write!(f, "{timer} timeout"),
        ErrorKind::BadResponse => "malformed response",
        ErrorKind::Truncated => "truncated response",
        ErrorKind::Empty => "empty response",
        ErrorKind::Refused => "response not accepted",
        ErrorKind::MissingKey => "no key is configured",
        _ => "provider error",
    };
    f.write_str(text)
}
