//! A request that is dropped at any await point leaves exactly one record, with every call
//! that it made.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use http_body_util::BodyExt;
use majordomo::llm::{
    CallContext, Dialect, ImageModel, ModelExtras, OutputCounter, RawChunk, RawChunkStream,
};
use majordomo::transport::{Transport, TransportConfig};
use majordomo::{
    BoxFuture, Capabilities, Error, Event, EventStream, FinishReason, ImageRequest, ImageResponse,
    Model, Part, Provider, Request, Response, Result, Usage,
};
use majordomo_limits::Flow;
use majordomo_wire::Protocol;

use super::*;
use crate::admitted::AdmittedRequest;
use crate::config::Config;
use crate::exchange::{Arrival, Exchange};
use crate::fronts::{Front, ImageCall, StreamMode};
use crate::heavy_lane::{HeavyLane, LaneHandle};
use crate::outcome::RequestOutcome;
use crate::record::{
    CallOutcome, FinishedRequest, RequestSink, Sinks, StartedRequest, UsageSource,
};
use crate::state::GatewayState;

/// Pending once.
async fn pause() {
    let mut polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A provider whose models are pending once before everything they do. The model's id says
/// how it fails.
struct Stepwise;

impl Provider for Stepwise {
    fn name(&self) -> &str {
        "step"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(StepwiseModel(format!("step/{id}"))))
    }
}

struct StepwiseModel(String);

impl StepwiseModel {
    fn check(&self) -> Result<()> {
        match &*self.0 {
            "step/down" => Err(Error::http(500, "scripted")),
            "step/gone" => Err(Error::http(404, "scripted")),
            _ => Ok(()),
        }
    }

    fn items(&self) -> Vec<Result<Event>> {
        let mut items = vec![
            Ok(Event::Start {
                id: None,
                model: None,
            }),
            Ok(Event::Usage(Usage::new(9, 1))),
            Ok(Event::Text("hello ".to_owned())),
            Ok(Event::Text("world".to_owned())),
        ];
        if self.0 == "step/breaks" {
            items.push(Err(Error::http(500, "scripted")));
        } else {
            items.push(Ok(Event::Usage(Usage::new(9, 3))));
            items.push(Ok(Event::Finish(FinishReason::Stop)));
        }
        items
    }
}

impl Model for StepwiseModel {
    fn name(&self) -> &str {
        &self.0
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::default()
    }

    fn generate(&self, _: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            pause().await;
            let mut response = Response::new(vec![Part::text("hello world")]);
            response.usage = Usage::new(9, 3);
            Ok(response)
        })
    }

    fn events(&self, _: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            let items = Paused(self.items().into_iter(), false, |event| event);
            Ok(Box::pin(items) as EventStream)
        })
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for StepwiseModel {
    fn own_dialect(&self) -> Option<Dialect> {
        Some(Protocol::Chat.dialect())
    }

    fn own_raw_chunks(&self, _: Request) -> BoxFuture<'_, Result<RawChunkStream>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            let items = Paused(self.items().into_iter(), false, |event| RawChunk {
                bytes: Bytes::from_static(b"data: {}\n\n"),
                content_bytes: event.content_len(),
                unreported: OutputCounter::default().event(&event),
                events: vec![event],
            });
            Ok(Box::pin(items) as RawChunkStream)
        })
    }

    fn own_token_count(&self, _: Request) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            pause().await;
            Ok(7)
        })
    }

    fn own_embeddings<'a>(
        &'a self,
        _: &Dialect,
        body: Bytes,
        _: CallContext,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            pause().await;
            Ok(body)
        })
    }

    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        Some(self)
    }
}

impl ImageModel for StepwiseModel {
    fn generate_images(&self, _: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        Box::pin(async move {
            pause().await;
            self.check()?;
            pause().await;
            let image = majordomo::Image::new("image/png", vec![1]);
            Ok(ImageResponse::new(vec![image]).with_usage(Usage::new(9, 3)))
        })
    }
}

/// Items that are each pending once.
struct Paused<T>(std::vec::IntoIter<Result<Event>>, bool, fn(Event) -> T);

impl<T> Stream for Paused<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.1, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.1 = false;
        let read = self.2;
        Poll::Ready(self.0.next().map(|item| item.map(read)))
    }
}

#[derive(Default)]
struct Recorder {
    started: Mutex<usize>,
    records: Mutex<Vec<Arc<FinishedRequest>>>,
}

impl RequestSink for Recorder {
    fn started(&self, _: &StartedRequest<'_>) {
        *self.started.lock().unwrap() += 1;
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        self.records.lock().unwrap().push(Arc::clone(record));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Whole,
    Events,
    Raw,
    Embed,
    Image,
    Count,
}

/// Serves a request and reads its response to the end.
async fn whole_life(
    state: Arc<GatewayState>,
    lane: Arc<HeavyLane>,
    recorder: Arc<Recorder>,
    way: Way,
    model: &'static str,
) {
    let stream = matches!(way, Way::Events | Way::Raw);
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"max_tokens":9,"prompt":"hi",
            "messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    let body = Bytes::from(body);
    let front = match way {
        Way::Events | Way::Count => Front::Messages,
        Way::Whole | Way::Raw | Way::Embed | Way::Image => Front::Chat,
    };
    let sinks = Arc::new(Sinks::new([recorder as _]));
    let admitted = AdmittedRequest {
        headers: HeaderMap::new(),
        heavy: LaneHandle::new(&lane, Flow::named("client"), &body, usize::MAX),
        body,
        key: None,
        exchange: Exchange::new(Arrival::at(front), sinks),
    };
    let response = match way {
        Way::Embed => embed(&state, front, admitted).await,
        Way::Image => generate_images(&state, ImageCall::Generations, admitted).await,
        Way::Count => count_tokens(&state, front, None, admitted).await,
        _ => generate(&state, front, None, StreamMode::FromBody, admitted).await,
    };
    let mut body = response.into_body();
    while let Some(Ok(_)) = body.frame().await {}
}

/// Polls a future up to `polls` times and drops it.
fn poll_times(future: impl Future<Output = ()>, polls: usize) -> bool {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    (0..polls).any(|_| future.as_mut().poll(&mut cx).is_ready())
}

fn check(record: &FinishedRequest, way: Way, done: bool, at: &str) {
    let cancelled = |outcome| outcome == CallOutcome::Cancelled;
    let open = record.calls.iter();
    let open = open.filter(|call| cancelled(call.outcome)).count();
    assert!(open <= usize::from(!done), "{at}: {:#?}", record.calls);
    for (number, call) in (1..).zip(&record.calls) {
        assert_eq!(call.number, number, "{at}");
        assert!(call.at + call.took <= record.took, "{at}");
        let sized = matches!(way, Way::Whole | Way::Events | Way::Raw);
        if sized && cancelled(call.outcome) {
            assert!(call.usage.input > 0, "{at}: {call:?}");
        }
        let drawn = u64::from(call.outcome != CallOutcome::Failed);
        let drawn = if way == Way::Image { drawn } else { 0 };
        assert_eq!(call.images, drawn, "{at}: {call:?}");
        if sized && call.outcome == CallOutcome::Served {
            assert_eq!(call.usage, Usage::new(9, 3), "{at}");
            assert_eq!(call.usage_source, UsageSource::Reported, "{at}");
        }
    }
    if !done && way != Way::Count {
        let complete = record.outcome == RequestOutcome::Complete;
        assert!(!complete || record.calls.iter().any(|c| !cancelled(c.outcome)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_at_any_await_point_leaves_one_record() {
    let lane = Arc::new(HeavyLane::new());
    let mut points = 0;
    let ways = [
        Way::Whole,
        Way::Events,
        Way::Raw,
        Way::Embed,
        Way::Image,
        Way::Count,
    ];
    for way in ways {
        for (model, calls) in [
            ("step/ok", 1),
            ("step/down,step/ok", 3),
            ("step/gone,step/ok", 2),
            ("step/gone", 1),
            ("step/breaks,step/ok", 1),
        ] {
            let mut most_calls = 0;
            for polls in 0.. {
                let transport = Transport::new(TransportConfig::default());
                let state = GatewayState::new(&Config::empty(), &BTreeMap::new(), &transport, None);
                let state = Arc::new(state.unwrap());
                state.registry.register(Stepwise);
                let recorder = Arc::<Recorder>::default();
                let lane = Arc::clone(&lane);
                let life = whole_life(state, lane, Arc::clone(&recorder), way, model);
                let done = poll_times(life, polls);
                let at = format!("{way:?}, {model}, dropped after {polls} polls");
                let started = *recorder.started.lock().unwrap();
                let records = recorder.records.lock().unwrap().clone();
                assert_eq!(started, usize::from(polls > 0), "{at}");
                assert_eq!(records.len(), started, "{at}");
                for record in &records {
                    check(record, way, done, &at);
                    most_calls = most_calls.max(record.calls.len());
                }
                points += 1;
                if done {
                    break;
                }
                assert!(polls < 100, "{at} never ends");
            }
            // A count is not retried.
            let retried = way != Way::Count || calls < 3;
            assert_eq!(
                most_calls,
                if retried { calls } else { 2 },
                "{way:?}, {model}"
            );
        }
    }
    assert!(points > 100, "{points} await points");
}
