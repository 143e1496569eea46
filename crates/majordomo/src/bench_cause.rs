//! Why something is benched, in words that everybody may read.

use std::fmt;

use majordomo_llm::{Class, Error, ErrorKind};

/// Why a target or a credential is benched.
///
/// A bench is shown to every client and in the log, and a provider's own words may
/// repeat what one client asked. So they are not kept: this has no place for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchCause {
    /// An attempt failed.
    Failed {
        /// What happened.
        kind: ErrorKind,
        /// What it meant.
        class: Class,
        /// The HTTP status, if the provider answered.
        status: Option<u16>,
    },
    /// Somebody benched it by hand.
    ByHand {
        /// Why, in their words.
        reason: String,
    },
}

impl BenchCause {
    /// What an error may leave behind.
    pub(crate) fn of(error: &Error, class: Class) -> Self {
        Self::Failed {
            kind: error.kind(),
            class,
            status: error.status(),
        }
    }

    /// The class of the failure, unless it was benched by hand.
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

/// `HTTP 401, the key was refused`, whatever of it is known.
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
            None => happened(kind, f)?,
        }
        match class {
            _ if kind == ErrorKind::MissingKey => Ok(()),
            Class::Auth => f.write_str(", the key was refused"),
            Class::Quota => f.write_str(", the account is out of money or quota"),
            Class::RateLimited => f.write_str(", it asked to be left alone"),
            _ => Ok(()),
        }
    }
}

fn happened(kind: ErrorKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = match kind {
        ErrorKind::Connect => "it could not be reached",
        ErrorKind::Dns => "its name could not be resolved",
        ErrorKind::Tls => "its certificate is not trusted",
        ErrorKind::ConnectionLost | ErrorKind::NeverSent => "the connection broke",
        ErrorKind::Timeout(timer) => return write!(f, "the {timer} timeout passed"),
        ErrorKind::BadResponse => "its answer could not be understood",
        ErrorKind::Truncated => "its answer broke off",
        ErrorKind::Empty => "its answer was empty",
        ErrorKind::Refused => "its answer was not accepted",
        ErrorKind::MissingKey => "no key is configured",
        _ => "it reported an error",
    };
    f.write_str(text)
}
