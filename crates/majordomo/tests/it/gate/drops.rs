//! A request that is dropped at any await point, or meets its deadline there, reports exactly
//! one outcome per attempt that entered.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use majordomo::chain::{AttemptEnd, ChainConfig, ForwardedStream};
use majordomo::fake::{Beat, Step};
use majordomo::llm::{Accept, Rejection};
use majordomo::{
    BoxFuture, Chain, Class, EmbeddingRequest, Error, Event, FinishReason, ImageRequest, Message,
    Request, Response, Usage,
};

use super::books::{Books, Ruling, TestGate};
use super::stepwise::{DIALECT, SlowShape, poll_times, stepwise};
use crate::support::{Fixture, drain, secs, status, status_after};

/// How a request is made.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Events,
    Raw,
    Embed,
    Vectors,
    Image,
    Count,
}

const WAYS: [Way; 7] = [
    Way::Whole,
    Way::Events,
    Way::Raw,
    Way::Embed,
    Way::Vectors,
    Way::Image,
    Way::Count,
];

/// Accepts only `yes`.
struct OnlyYes;

impl Accept for OnlyYes {
    fn accept(&self, response: &Response) -> Result<(), Rejection> {
        match response.text().as_str() {
            "yes" => Ok(()),
            _ => Err(Rejection {
                reason: "not yes".to_owned(),
                repair: vec![Message::user("say yes")],
            }),
        }
    }
}

/// A request from its start to the end of its response.
fn whole_life(chain: Chain, way: Way) -> BoxFuture<'static, ()> {
    let request = Request::user("hi").accept(Arc::new(OnlyYes));
    Box::pin(async move {
        match way {
            Way::Whole => drop(chain.generate(request).await),
            Way::Events => {
                if let Ok(mut open) = chain.open(request).await {
                    drain(&mut open.events).await;
                }
            }
            Way::Raw => {
                let Ok(open) = chain.forward(request, DIALECT).await else {
                    return;
                };
                let ForwardedStream::Pieces(mut chunks) = open.stream else {
                    panic!("raw bytes");
                };
                while poll_fn(|cx| chunks.as_mut().poll_next(cx)).await.is_some() {}
            }
            Way::Embed => drop(
                chain
                    .forward_embeddings(DIALECT, Bytes::from_static(b"{}"), Default::default())
                    .await,
            ),
            // In three batches.
            Way::Vectors => drop(chain.embed(EmbeddingRequest::new(["a"; 40])).await),
            Way::Image => drop(chain.generate_images(ImageRequest::new("a")).await),
            Way::Count => drop(chain.count_tokens(request).await),
        }
    })
}

fn yes() -> Step {
    Step::events([
        Event::Start {
            id: None,
            model: None,
        },
        Event::Usage(Usage::new(9, 1)),
        Event::Text("ye".to_owned()),
        Event::Text("s".to_owned()),
        Event::Usage(Usage::new(9, 3)),
        Event::Finish(FinishReason::Stop),
    ])
}

/// Ends after it committed.
fn broken() -> Step {
    let begun = Step::events([Event::Usage(Usage::new(9, 1)), Event::Text("y".to_owned())]);
    begun.then(Beat::Fail(Error::http(500, "scripted")))
}

/// The steps of `fp/a`, and how many attempts a request to `fp/a,tail/x` makes at most.
fn scripts() -> Vec<(&'static str, Vec<Step>)> {
    vec![
        ("served", vec![yes()]),
        ("retried", vec![status(500), yes()]),
        ("failed over", vec![status(404)]),
        ("retried and failed over", vec![status(500), status(500)]),
        ("repaired", vec![Step::reply("maybe"), yes()]),
        (
            "never repaired",
            vec![Step::reply("maybe"), Step::reply("no")],
        ),
        ("empty", vec![Step::empty()]),
        (
            "truncated",
            vec![Step::events([Event::Usage(Usage::new(1, 1))])],
        ),
        ("broken", vec![broken()]),
        ("refused for good", vec![status(400)]),
    ]
}

fn check(books: &Books, at: &str) {
    for entry in books.entries() {
        assert_eq!(entry.reports.len(), 1, "{at}: {entry:#?}");
    }
}

/// How often a request was dropped, and how often that met an attempt that had not ended.
#[derive(Default)]
struct Drops {
    points: usize,
    open: usize,
}

impl Drops {
    /// Drops a request at each of its await points.
    async fn at_each_point(
        &mut self,
        name: &str,
        way: Way,
        waits: bool,
        prepare: impl Fn() -> Fixture,
    ) {
        for polls in 0.. {
            let books = Arc::<Books>::default();
            let gate = TestGate {
                books: Arc::clone(&books),
                rule: |_| Ruling::Admit,
                waits,
            };
            let chain = stepwise(&prepare().chain("fp/a,tail/x"));
            let chain = chain
                .shaped_by(Arc::new(SlowShape))
                .gated_by(Arc::new(gate));
            let done = poll_times(whole_life(chain, way), polls).await.is_some();
            let at = format!("{way:?}, {name}, dropped after {polls} polls");
            check(&books, &at);
            let entries = books.entries();
            let ends = entries.iter().map(|entry| entry.reports[0].end);
            let cut = [AttemptEnd::Cancelled, AttemptEnd::NotSent];
            let open = ends.filter(|end| cut.contains(end)).count();
            assert!(open <= usize::from(!done), "{at}: {entries:#?}");
            self.open += open;
            self.points += 1;
            if done {
                return;
            }
            assert!(polls < 200, "{at} never ends");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_at_any_await_point_settles_each_attempt_once() {
    let mut points = 0;
    for way in WAYS {
        for (name, steps) in scripts() {
            let prepare = || {
                let fixture = Fixture::new();
                fixture.script("a", steps.clone());
                fixture.tail.otherwise(|_| yes());
                fixture
            };
            let mut drops = Drops::default();
            for waits in [false, true] {
                drops.at_each_point(name, way, waits, prepare).await;
            }
            assert!(
                drops.open > 0,
                "{way:?}, {name}: no drop met an open attempt"
            );
            points += drops.points;
        }
    }
    assert!(points > 1_000, "{points} await points");
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_while_all_targets_are_limited_settles_each_attempt_once() {
    for way in [Way::Whole, Way::Events, Way::Raw, Way::Vectors, Way::Image] {
        let prepare = || {
            let config = ChainConfig::default().with_max_retry_after(secs(5));
            let fixture = Fixture::chained(config);
            let limited = || status_after(429, 3);
            fixture.script("a", [limited(), yes()]);
            fixture.tail.enqueue("x", [limited()]);
            fixture.tail.otherwise(|_| yes());
            fixture
        };
        let mut drops = Drops::default();
        drops.at_each_point("limited", way, true, prepare).await;
        assert!(drops.open > 2, "{way:?}: {} met an attempt", drops.open);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_at_any_await_point_settles_each_attempt_once() {
    for way in WAYS {
        for (name, steps) in scripts() {
            let mut cut = 0;
            for seconds in 0..40 {
                // Each poll takes a second.
                let limit = secs(seconds) + secs(1) / 2;
                let config = ChainConfig::default().with_deadline(limit);
                let fixture = Fixture::chained(config);
                fixture.script("a", steps.clone());
                fixture.tail.otherwise(|_| yes());
                let books = Arc::<Books>::default();
                let gate = TestGate {
                    books: Arc::clone(&books),
                    rule: |_| Ruling::Admit,
                    waits: true,
                };
                let chain = stepwise(&fixture.chain("fp/a,tail/x"));
                let chain = chain
                    .shaped_by(Arc::new(SlowShape))
                    .gated_by(Arc::new(gate));
                let ended = poll_times(whole_life(chain, way), 200).await;
                let at = format!("{way:?}, {name}, {limit:?}");
                assert!(ended.is_some(), "{at}: never ends");
                check(&books, &at);
                cut += usize::from(
                    books
                        .entries()
                        .iter()
                        .any(|entry| late(entry.reports[0].end)),
                );
            }
            assert!(cut > 1, "{way:?}, {name}: {cut} deadlines met an attempt");
        }
    }
}

/// Whether an attempt ended because the request's time was over.
fn late(end: AttemptEnd) -> bool {
    match end {
        AttemptEnd::Failed { class, .. } => class == Class::Deadline,
        // A count is dropped.
        AttemptEnd::Cancelled | AttemptEnd::NotSent => true,
        _ => false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_forced_attempt_dropped_at_any_await_point_settles_once() {
    for polls in 0..20 {
        let fixture = Fixture::new();
        fixture.script("a", [status(500), status(500), yes()]);
        fixture.refused("fp/a").await;
        assert!(fixture.benched_secs("fp/a") > 0);
        let (gate, books) = TestGate::new(|_| Ruling::Admit);
        let chain = stepwise(&fixture.chain("fp/a")).gated_by(gate);
        let done = poll_times(whole_life(chain, Way::Events), polls)
            .await
            .is_some();
        let at = format!("dropped after {polls} polls");
        check(&books, &at);
        assert!(books.entries().len() <= 1, "{at}");
        if done {
            return;
        }
    }
    panic!("the request never ends");
}

#[tokio::test]
async fn a_panic_settles_the_attempt() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|_| panic!("a bug"));
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a").gated_by(gate);
    let served = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    assert!(served.await.is_err());
    assert_eq!(books.reports()[0].end, AttemptEnd::Cancelled);
}
