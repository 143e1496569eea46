//! Decoding errors, as reported to the client.

use std::borrow::Cow;

use majordomo_llm::{Class, Error, ErrorKind};

use crate::ClientError;

/// A body that cannot be decoded, and the position of the error.
///
/// ```
/// use majordomo_wire::Protocol;
///
/// let error = Protocol::Chat
///     .codec()
///     .read_request(r#"{"model": "m", "messages": [{"role": 7}]}"#.into())
///     .unwrap_err();
/// assert_eq!(error.to_string(), "messages[0].role: expected a string, found a number");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", path, if path.is_empty() { "" } else { ": " })]
pub struct ReadError {
    path: String,
    message: String,
}

impl ReadError {
    /// An error at this path; empty means the whole body.
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: shortened(path.into()),
            message: shortened(message.into()),
        }
    }

    /// The path, as in `messages[0].role`; empty for the whole body.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Converts this to the error of a provider whose response cannot be
    /// decoded.
    pub(crate) fn in_response(self) -> Error {
        Error::new(
            ErrorKind::BadResponse,
            format!("cannot decode the provider's response: {self}"),
        )
    }
}

/// Quotes enough of a body to locate the error, without echoing the body.
fn shortened(mut text: String) -> String {
    const MOST: usize = 256;
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.shrink_to_fit();
        text.push('…');
    }
    text
}

/// The client's fault; no target was called.
impl From<ReadError> for ClientError {
    fn from(error: ReadError) -> Self {
        Self::new(400, Class::Invalid, error.to_string()).with_code(Some("invalid_request_error"))
    }
}

/// What is wrong, and at which byte; becomes a [`ReadError`] at the top level.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: Cow<'static, str>,
}

/// The result of decoding a value.
pub(crate) type ReadResult<T> = Result<T, Fault>;
