//! A request that is dropped at any await point reports exactly one outcome per attempt
//! that entered.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use majordomo::chain::{AttemptEnd, ForwardedStream};
use majordomo::fake::{Beat, Step};
use majordomo::llm::{Accept, Rejection};
use majordomo::{BoxFuture, Chain, Error, Event, FinishReason, Message, Request, Response, Usage};

use super::books::{Books, Ruling, TestGate};
use super::stepwise::{DIALECT, poll_times, stepwise};
use crate::support::{Fixture, drain, status};

/// How a request is made.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Events,
    Raw,
    Embed,
    Count,
}

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

#[tokio::test(start_paused = true)]
async fn a_request_dropped_at_any_await_point_settles_each_attempt_once() {
    let mut points = 0;
    for way in [Way::Whole, Way::Events, Way::Raw, Way::Embed, Way::Count] {
        for (name, steps) in scripts() {
            for waits in [false, true] {
                let mut cancelled = 0;
                for polls in 0.. {
                    let fixture = Fixture::new();
                    fixture.script("a", steps.clone());
                    fixture.tail.otherwise(|_| yes());
                    let books = Arc::<Books>::default();
                    let gate = TestGate {
                        books: Arc::clone(&books),
                        rule: |_| Ruling::Admit,
                        waits,
                    };
                    let chain = stepwise(&fixture.chain("fp/a,tail/x"));
                    let life = whole_life(chain.gated_by(Arc::new(gate)), way);
                    let done = poll_times(life, polls).is_some();
                    let at = format!("{way:?}, {name}, dropped after {polls} polls");
                    check(&books, &at);
                    let entries = books.entries();
                    let ends = entries.iter().map(|entry| entry.reports[0].end);
                    let cut = [AttemptEnd::Cancelled, AttemptEnd::NotSent];
                    let open = ends.filter(|end| cut.contains(end)).count();
                    assert!(open <= usize::from(!done), "{at}: {entries:#?}");
                    cancelled += open;
                    points += 1;
                    if done {
                        break;
                    }
                    assert!(polls < 200, "{at} never ends");
                }
                assert!(
                    cancelled > 0,
                    "{way:?}, {name}: no drop met an open attempt"
                );
            }
        }
    }
    assert!(points > 500, "{points} await points");
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
        let done = poll_times(whole_life(chain, Way::Events), polls).is_some();
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
