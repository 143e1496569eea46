//! Bodies of the operator's responses: whole, a stream of events, or a client's response.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use super::events::EventStream;
use super::open_connections::Serving;
use super::relayed_body::RelayedBody;

/// The body of an operator's response. Its connection counts as busy until it is sent.
pub(super) struct OperatorBody {
    content: Content,
    serving: Option<Serving>,
}

enum Content {
    Whole(Full<Bytes>),
    Events(EventStream),
    Relayed(RelayedBody),
}

impl OperatorBody {
    pub(super) fn events(events: EventStream) -> Self {
        Self {
            content: Content::Events(events),
            serving: None,
        }
    }

    /// The body of a client's response.
    pub(super) fn relayed(body: RelayedBody) -> Self {
        Self {
            content: Content::Relayed(body),
            serving: None,
        }
    }

    /// Keeps the connection busy until the body is sent.
    pub(super) fn holding(mut self, serving: Serving) -> Self {
        self.serving = Some(serving);
        self
    }
}

impl<B: Into<Bytes>> From<B> for OperatorBody {
    fn from(bytes: B) -> Self {
        Self {
            content: Content::Whole(Full::new(bytes.into())),
            serving: None,
        }
    }
}

impl Body for OperatorBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(body) => Pin::new(body).poll_frame(cx),
            Content::Events(events) => events.poll(cx).map(|chunk| chunk.map(Frame::data).map(Ok)),
            Content::Relayed(body) => body.poll(cx).map(|chunk| chunk.map(Frame::data).map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(body) => body.is_end_stream(),
            Content::Events(_) | Content::Relayed(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(body) => body.size_hint(),
            Content::Events(_) | Content::Relayed(_) => SizeHint::default(),
        }
    }
}
