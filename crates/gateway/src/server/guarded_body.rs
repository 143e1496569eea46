//! A response body with the guards that must live as long as the body.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::activity::ActiveRequest;
use super::admission::RequestPermit;
use super::shutdown::{ShutdownSignal, Triggered};
use super::stream_progress::StreamProgress;
use crate::capture::CaptureWriter;
use crate::refusal::RequestRefusal;
use crate::relay::BrokenStream;
use crate::response_body::Body;

/// A response body being sent.
pub(crate) struct GuardedBody {
    body: Body,
    /// Signals the end of the drain, which a stream reports to its client.
    cut: Option<Triggered>,
    permit: Option<RequestPermit>,
    active: Option<ActiveRequest>,
    progress: Option<Arc<StreamProgress>>,
    captured: Option<CaptureWriter>,
}

impl GuardedBody {
    /// Holds the permit and the active-request guard until the body is sent.
    pub(super) fn new(
        body: Body,
        permit: Option<RequestPermit>,
        active: Option<ActiveRequest>,
        cut: &ShutdownSignal,
    ) -> Self {
        let stream = matches!(body, Body::Stream(_));
        let cut = stream.then(|| cut.triggered());
        let progress = StreamProgress::current();
        // The head counts as yielded: a client may read nothing after it.
        progress.iter().for_each(|progress| progress.yielded());
        Self {
            body,
            cut,
            permit,
            active,
            progress,
            captured: None,
        }
    }

    /// Copies the bytes that are sent to the capture.
    pub(super) fn copied_to(mut self, captured: Option<CaptureWriter>) -> Self {
        self.captured = captured;
        self
    }
}

impl GuardedBody {
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        if let (Some(cut), Body::Stream(relay)) = (&mut self.cut, &mut self.body)
            && Pin::new(cut).poll(cx).is_ready()
        {
            self.cut = None;
            if let Some(last) = relay.cut(&shutting_down().into()) {
                return last.map(|item| item.map(|bytes| bytes.map(Frame::data)));
            }
        }
        let body = Pin::new(&mut self.body);
        // After a panic the body is only used to write the final error.
        match catch_unwind(AssertUnwindSafe(|| body.poll_frame(cx))) {
            Ok(polled) => {
                if let (Poll::Ready(Some(Ok(frame))), Some(captured)) = (&polled, &self.captured)
                    && let Some(data) = frame.data_ref()
                {
                    captured.write(data);
                }
                polled
            }
            Err(_) => self.panicked(),
        }
    }

    /// A panic ends one response with its dialect's error; a second panic, while that
    /// is written, ends it without one.
    fn panicked(&mut self) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        let Body::Stream(relay) = &mut self.body else {
            return Poll::Ready(Some(Err(BrokenStream)));
        };
        let error = RequestRefusal::new(500, INTERNAL_ERROR).into();
        let written = catch_unwind(AssertUnwindSafe(|| relay.cut(&error)));
        match written {
            Ok(Some(last)) => last.map(|item| item.map(|bytes| bytes.map(Frame::data))),
            Ok(None) | Err(_) => Poll::Ready(Some(Err(BrokenStream))),
        }
    }
}

/// Client message after a panic.
pub(super) const INTERNAL_ERROR: &str = "internal error: the gateway's log has the details";

/// The refusal of a response that outlasts the drain timeout.
pub(super) fn shutting_down() -> RequestRefusal {
    let text = "server_shutdown: the gateway is shutting down; retry the request";
    RequestRefusal::new(503, text)
}

impl HttpBody for GuardedBody {
    type Data = Bytes;
    type Error = BrokenStream;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        let held = &mut *self;
        let Some(progress) = held.progress.clone() else {
            return held.poll_body(cx);
        };
        progress.polled();
        let polled = held.poll_body(cx);
        if matches!(polled, Poll::Ready(Some(Ok(_)))) {
            progress.yielded();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for GuardedBody {
    fn drop(&mut self) {
        // Release the permit first, so that queued requests enter before this client's
        // next one.
        self.permit = None;
        self.active = None;
        if let Some(captured) = &self.captured {
            captured.end();
        }
        if let Body::Stream(relay) = &mut self.body
            && let Some(heavy) = relay.take_heavy()
        {
            let body = std::mem::replace(&mut self.body, Body::empty());
            heavy.drop_on_lane(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use majordomo::chain::ForwardedStream;
    use majordomo::{Event, EventStream};
    use majordomo_wire::Reply;

    use super::*;
    use crate::exchange::{Arrival, Exchange};
    use crate::fronts::Front;
    use crate::metrics::Metrics;
    use crate::record::Sinks;
    use crate::relay::Relay;

    /// A stream that yields one word and panics.
    fn panicking_stream() -> EventStream {
        let mut polls = 0;
        Box::pin(futures_util::stream::poll_fn(move |cx| {
            polls += 1;
            match polls {
                1 => Poll::Ready(Some(Ok(Event::Text("word".into())))),
                2 => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                _ => panic!("a bug"),
            }
        }))
    }

    #[tokio::test]
    async fn a_panic_in_a_stream_ends_it_with_the_dialects_error() {
        for (front, error) in [
            (Front::Chat, "data: {\"error\""),
            (Front::Responses, "event: error"),
            (Front::Messages, "event: error"),
            (Front::Gemini, "data: {\"error\""),
            (Front::OllamaChat, "{\"error\""),
        ] {
            let metrics = Arc::<Metrics>::default();
            let sinks = Arc::new(Sinks::new([metrics.clone() as _]));
            let exchange = Exchange::new(Arrival::at(front), sinks);
            let opener =
                Box::new(move |_: Option<&str>| front.codec().stream_writer(&Reply::default()));
            let stream = ForwardedStream::Events(panicking_stream());
            let relay = Relay::begun(front, exchange, stream, opener, false);
            let body = Body::Stream(Box::new(relay));
            let mut held = GuardedBody::new(body, None, None, &ShutdownSignal::default());
            let mut text = Vec::new();
            let broken = loop {
                match held.frame().await {
                    Some(Ok(frame)) => text.extend(frame.into_data().unwrap()),
                    Some(Err(_)) => break true,
                    None => break false,
                }
            };
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("word"), "{front:?}: {text}");
            assert!(text.contains(error), "{front:?}: {text}");
            assert!(text.contains(INTERNAL_ERROR), "{front:?}: {text}");
            assert!(broken, "{front:?} ends as if complete");
            drop(held);
            let page = metrics.snapshot().text();
            let counted = "outcome=\"interrupted\",status=\"200\"} 1";
            assert!(page.contains(counted), "{front:?}: {page}");
            assert!(page.contains("majordomo_open_requests 0"), "{page}");
        }
    }
}
