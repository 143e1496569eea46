//! Response bodies: whole or streamed.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::relay::{BrokenStream, Relay};

/// Frame size of a whole body: hyper takes sixteen frames before it yields.
const FRAME_SIZE: usize = 64 * 1024;

/// The body of a client response.
pub(crate) enum Body {
    /// Whole, sent in frames; holds the unsent rest.
    Whole(Bytes),
    /// Relayed as the model generates.
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
    type Error = BrokenStream;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => {
                let chunk = bytes.split_to(bytes.len().min(FRAME_SIZE));
                Poll::Ready(Some(Ok(Frame::data(chunk))))
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
