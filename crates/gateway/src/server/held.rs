//! An answer's body with everything that must live as long as it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use majordomo::{Error, ErrorKind};

use super::admission::Permit;
use super::bell::{Bell, Heard};
use super::body::Body;
use super::turn::Turn;
use crate::relay::Broken;

/// A body on its way out.
pub(crate) struct Held {
    body: Body,
    /// The end of the server, which a stream tells its client.
    cut: Option<Heard>,
    permit: Option<Permit>,
    turn: Option<Arc<Turn>>,
}

impl Held {
    /// Holds the permit and the connection's turn until the body is out.
    pub(super) fn new(
        body: Body,
        permit: Option<Permit>,
        turn: Option<Arc<Turn>>,
        cut: &Bell,
    ) -> Self {
        let stream = matches!(body, Body::Stream(_));
        let cut = stream.then(|| cut.heard());
        Self {
            body,
            cut,
            permit,
            turn,
        }
    }
}

/// What is said when the server cannot wait any longer.
pub(super) fn shutting_down() -> Error {
    let text = "server_shutdown: the gateway is being stopped; ask again";
    Error::new(ErrorKind::Local, text).with_status(503)
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let held = &mut *self;
        if let (Some(cut), Body::Stream(relay)) = (&mut held.cut, &mut held.body)
            && Pin::new(cut).poll(cx).is_ready()
        {
            held.cut = None;
            if let Some(last) = relay.cut(&shutting_down()) {
                return last.map(|item| item.map(|bytes| bytes.map(Frame::data)));
            }
        }
        Pin::new(&mut held.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The room first: who waits may come in before this client asks again.
        self.permit = None;
        if let Some(turn) = &self.turn {
            turn.end();
        }
    }
}
