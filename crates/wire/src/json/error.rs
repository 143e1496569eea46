//! Why a body could not be read, for the person who sent it.

use std::borrow::Cow;

use majordomo_llm::{Error, ErrorKind};

/// A body that cannot be read, and where in it.
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
    /// What is wrong with the value at this path; empty means the whole body.
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: shortened(path.into()),
            message: shortened(message.into()),
        }
    }

    /// The place, as in `messages[0].role`; empty for the whole body.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The error of a provider whose answer cannot be read.
    pub(crate) fn in_answer(self) -> Error {
        Error::new(
            ErrorKind::BadResponse,
            format!("the provider's answer cannot be read: {self}"),
        )
    }
}

/// What is quoted of a body is enough to find it there, and no echo of it.
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

/// As the client's fault: nobody was asked.
impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::new(ErrorKind::Local, error.to_string())
            .with_status(400)
            .with_code("invalid_request_error")
    }
}

/// What is wrong, and at which byte; becomes a [`ReadError`] at the top.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: Cow<'static, str>,
}

/// A step of reading.
pub(crate) type Read<T> = Result<T, Fault>;
