//! Output before a stream's first content is discarded with a failed attempt; after the
//! first content there is no failover.

use std::future::poll_fn;

use majordomo::fake::{Beat, Step};
use majordomo::{Error, Event, EventStream, Request};

use crate::support::{TestGateway, tiers};

fn start() -> Event {
    Event::Start {
        id: Some("first".into()),
        model: None,
    }
}

fn broken() -> Beat {
    Beat::Fail(Error::http(500, "scripted"))
}

async fn read(mut events: EventStream) -> (String, Option<Error>) {
    let mut text = String::new();
    loop {
        match poll_fn(|cx| events.as_mut().poll_next(cx)).await {
            Some(Ok(Event::Text(more))) => text.push_str(&more),
            Some(Ok(_)) => {}
            Some(Err(error)) => return (text, Some(error)),
            None => return (text, None),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_before_its_first_content_fails_over() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    let nothing_said = || Step::events([start()]).then(broken());
    gateway.up.enqueue("top", [nothing_said(), nothing_said()]);
    let (chain, ..) = gateway.chain(&[&pool], None);
    let open = chain.open(Request::user("hi")).await.unwrap();
    assert_eq!(open.target, "up/low");
    let (text, error) = read(open.events).await;
    assert_eq!((&*text, error.is_none()), ("ok", true));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_after_its_first_content_reports_the_error_to_the_client() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    let said = Step::events([start(), Event::Text("half".into())]).then(broken());
    gateway.up.enqueue("top", [said]);
    let (chain, ..) = gateway.chain(&[&pool], None);
    let open = chain.open(Request::user("hi")).await.unwrap();
    let (text, error) = read(open.events).await;
    assert_eq!(text, "half");
    assert_eq!(error.unwrap().status(), Some(500));
    assert_eq!(gateway.up.call_count("low"), 0);
}
