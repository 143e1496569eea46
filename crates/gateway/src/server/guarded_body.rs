//! An answer's body with everything that must live as long as it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use majordomo::{Error, ErrorKind};

use super::admission::Permit;
use super::progress::Progress;
use super::shutdown::{ShutdownSignal, Triggered};
use super::turn::Begun;
use crate::relay::Broken;
use crate::response_body::Body;

/// A body on its way out.
pub(crate) struct GuardedBody {
    body: Body,
    /// The end of the server, which a stream tells its client.
    cut: Option<Triggered>,
    permit: Option<Permit>,
    begun: Option<Begun>,
    progress: Option<Arc<Progress>>,
}

impl GuardedBody {
    /// Holds the permit and the connection's turn until the body is out.
    pub(super) fn new(
        body: Body,
        permit: Option<Permit>,
        begun: Option<Begun>,
        cut: &ShutdownSignal,
    ) -> Self {
        let stream = matches!(body, Body::Stream(_));
        let cut = stream.then(|| cut.triggered());
        let progress = Progress::current();
        // The head is given: a client may take none of what comes behind it.
        progress.iter().for_each(|progress| progress.gave());
        Self {
            body,
            cut,
            permit,
            begun,
            progress,
        }
    }
}

impl GuardedBody {
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let (Some(cut), Body::Stream(relay)) = (&mut self.cut, &mut self.body)
            && Pin::new(cut).poll(cx).is_ready()
        {
            self.cut = None;
            if let Some(last) = relay.cut(&shutting_down()) {
                return last.map(|item| item.map(|bytes| bytes.map(Frame::data)));
            }
        }
        let body = Pin::new(&mut self.body);
        // What the body held is not looked at again but to say that it ended.
        match catch_unwind(AssertUnwindSafe(|| body.poll_frame(cx))) {
            Ok(polled) => polled,
            Err(_) => self.panicked(),
        }
    }

    /// A mistake of ours ends one answer, with its dialect's error; a second one
    /// while that is written ends it without.
    fn panicked(&mut self) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Body::Stream(relay) = &mut self.body else {
            return Poll::Ready(Some(Err(Broken)));
        };
        let error = Error::new(ErrorKind::Local, INTERNAL_ERROR).with_status(500);
        let told = catch_unwind(AssertUnwindSafe(|| relay.cut(&error)));
        match told {
            Ok(Some(last)) => last.map(|item| item.map(|bytes| bytes.map(Frame::data))),
            Ok(None) | Err(_) => Poll::Ready(Some(Err(Broken))),
        }
    }
}

/// What is said after a panic.
pub(super) const INTERNAL_ERROR: &str = "the gateway failed at this request; its log says where";

/// What is said when the server cannot wait any longer.
pub(super) fn shutting_down() -> Error {
    let text = "server_shutdown: the gateway is being stopped; ask again";
    Error::new(ErrorKind::Local, text).with_status(503)
}

impl HttpBody for GuardedBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let held = &mut *self;
        let Some(progress) = held.progress.clone() else {
            return held.poll_body(cx);
        };
        progress.asked();
        let polled = held.poll_body(cx);
        if matches!(polled, Poll::Ready(Some(Ok(_)))) {
            progress.gave();
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
        // The room first: who waits may come in before this client asks again.
        self.permit = None;
        self.begun = None;
        if let Body::Stream(relay) = &mut self.body
            && let Some(heavy) = relay.take_heavy()
        {
            let body = std::mem::replace(&mut self.body, Body::empty());
            heavy.drop_there(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use majordomo::{Event, EventStream, ForwardedStream};
    use majordomo_wire::Reply;

    use super::*;
    use crate::exchange::Exchange;
    use crate::fronts::Front;
    use crate::metrics::Metrics;
    use crate::relay::Relay;
    use crate::traces::Traces;

    /// A stream that says a word and panics.
    fn mistaken() -> EventStream {
        let mut polls = 0;
        Box::pin(futures_util::stream::poll_fn(move |cx| {
            polls += 1;
            match polls {
                1 => Poll::Ready(Some(Ok(Event::Text("word".into())))),
                2 => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                _ => panic!("a mistake of ours"),
            }
        }))
    }

    #[tokio::test]
    async fn p13_a_panic_in_a_stream_ends_it_with_the_dialects_error() {
        for (front, told) in [
            (Front::Chat, "data: {\"error\""),
            (Front::Responses, "event: error"),
            (Front::Messages, "event: error"),
            (Front::Gemini, "data: {\"error\""),
            (Front::OllamaChat, "{\"error\""),
        ] {
            let metrics = Arc::<Metrics>::default();
            let traces = Arc::new(Traces::new(&crate::config::ServerSettings::default()));
            let exchange = Exchange::new("id".into(), front, Arc::clone(&metrics), traces);
            let opener =
                Box::new(move |_: Option<&str>| front.codec().stream_writer(&Reply::default()));
            let answer = ForwardedStream::Events(mistaken());
            let relay = Relay::begun(front, exchange, answer, opener, false);
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
            assert!(text.contains(told), "{front:?}: {text}");
            assert!(text.contains(INTERNAL_ERROR), "{front:?}: {text}");
            assert!(broken, "{front:?} ends as if it were whole");
            drop(held);
            let page = metrics.page(&[], true);
            let counted = "outcome=\"interrupted\",status=\"200\"} 1";
            assert!(page.contains(counted), "{front:?}: {page}");
            assert!(page.contains("majordomo_open_requests 0"), "{page}");
        }
    }
}
