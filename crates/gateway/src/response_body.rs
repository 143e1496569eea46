//! The body of an answer: whole, or as it comes.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::relay::{Broken, Relay};

/// So much of a whole answer is handed over at once: hyper takes sixteen of these
/// before it lets others have their turn.
const PIECE: usize = 64 * 1024;

/// What goes back to a client.
pub(crate) enum Body {
    /// Whole, in pieces; what was sent is taken off.
    Whole(Bytes),
    /// As the model answers.
    Stream(Box<Relay>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => {
                let piece = bytes.split_to(bytes.len().min(PIECE));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Self::Stream(relay) => relay.poll(cx).map(|item| item.map(|r| r.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
