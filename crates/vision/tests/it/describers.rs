//! How describers are called: concurrency, timeouts and failover.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use majordomo::fake::Step;
use majordomo::llm::{ImageLimits, RemoteImage};
use majordomo::{
    BoxFuture, Capabilities, Error, ErrorKind, Image, Part, Request, Response, Result, ToolCall,
};
use majordomo_vision::{
    DEFAULT_PROMPT, FetchImage, OnFailure, Scope, UNAVAILABLE, Vision, VisionConfig,
};
use majordomo_wire::{Outgoing, Protocol};
use tokio::time::Instant;

use crate::support::{VisionFixture, changes, gif, image, question, seen, texts};

fn ten() -> Vec<u8> {
    (1..=10).collect()
}

fn answered(numbers: &[u8]) -> Vec<String> {
    let descriptions = numbers.iter().map(|n| seen(*n));
    ["What is this?".to_owned()]
        .into_iter()
        .chain(descriptions)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn ten_images_are_described_in_three_batches_of_at_most_four() {
    let fixture = VisionFixture::new();
    fixture.describer.delay(|_| 300);
    let begin = Instant::now();
    let described = fixture.describe(question(&ten())).await;
    assert_eq!(begin.elapsed(), Duration::from_millis(900));
    assert_eq!(
        fixture.describer.starts_after(begin),
        [0, 0, 0, 0, 300, 300, 300, 300, 600, 600]
    );
    assert_eq!(fixture.describer.most_at_once(), 4);
    assert_eq!(texts(&described.request), answered(&ten()));
}

#[tokio::test(start_paused = true)]
async fn descriptions_that_arrive_in_reverse_order_replace_the_right_images() {
    let fixture = VisionFixture::with(VisionConfig::default().with_per_request(10));
    fixture
        .describer
        .delay(|number| 1_000 - 50 * u64::from(number));
    let described = fixture.describe(question(&ten())).await;
    assert_eq!(texts(&described.request), answered(&ten()));
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_are_limited_per_process() {
    let fixture = VisionFixture::with(VisionConfig::default().with_total(6));
    fixture.describer.delay(|_| 300);
    let begin = Instant::now();
    let requests = [1, 11, 21].map(|first| question(&[first, first + 1, first + 2, first + 3]));
    join_all(requests.map(|request| fixture.describe(request))).await;
    assert_eq!(fixture.describer.most_at_once(), 6);
    assert_eq!(
        begin.elapsed(),
        Duration::from_millis(600),
        "twelve calls in two batches"
    );
}

#[tokio::test]
async fn extreme_limits_are_accepted() {
    for count in [0, usize::MAX] {
        let fixture = VisionFixture::with(
            VisionConfig::default()
                .with_per_request(count)
                .with_total(count)
                .with_timeout(Duration::MAX)
                .with_ttl(Duration::MAX)
                .with_cache(u64::MAX),
        );
        let described = fixture.describe(question(&[1, 2])).await;
        assert_eq!(texts(&described.request), answered(&[1, 2]), "{count}");
        fixture.describe(question(&[1, 2])).await;
        assert_eq!(fixture.describer.calls(), 2, "{count}: they are cached");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_describer_costs_the_timeout_and_the_request_continues() {
    let fixture = VisionFixture::new();
    fixture.describer.respond_with(Step::hang());
    let begin = Instant::now();
    let described = fixture.describe(question(&ten())).await;
    assert_eq!(
        begin.elapsed(),
        Duration::from_secs(30),
        "for all images together"
    );
    assert_eq!(
        texts(&described.request)
            .iter()
            .filter(|t| *t == UNAVAILABLE)
            .count(),
        10
    );
    assert_eq!(changes(&described), ["image:10 undescribed"]);
    assert_eq!(fixture.describer.open(), 0, "every call was cancelled");
    assert_eq!(
        fixture.describer.calls(),
        4,
        "images still queued were not sent"
    );
    let why = &described.changes[0].detail;
    assert_eq!(why, "no description within 30 s");
}

#[tokio::test(start_paused = true)]
async fn when_the_client_disconnects_its_calls_are_cancelled() {
    let fixture = VisionFixture::new();
    fixture.describer.respond_with(Step::hang());
    let scope = Scope::of_key("laptop");
    let work = fixture
        .vision
        .describe(question(&ten()), Some(&fixture.describers), &scope);
    let left = tokio::time::timeout(Duration::from_secs(1), work).await;
    assert!(left.is_err(), "the client disconnected first");
    assert_eq!(
        (fixture.describer.calls(), fixture.describer.open()),
        (4, 0)
    );
    assert_eq!(scope.calls().len(), 4, "they are recorded nevertheless");
}

#[tokio::test]
async fn the_next_describer_is_called_when_the_first_fails() {
    for status in [500, 429] {
        let mut fixture = VisionFixture::new();
        fixture.describers = fixture.chain("eyes/sharp,spare/blurred");
        fixture
            .describer
            .respond_with(Step::fail(Error::http(status, "no")));
        let described = fixture.describe(question(&[1])).await;
        assert_eq!(texts(&described.request), answered(&[1]), "{status}");
        let call = &described.calls[0];
        assert_eq!(call.target.as_deref(), Some("spare/blurred"));
        assert!(call.attempts.len() >= 2, "every attempt is listed");
        assert_eq!(described.changes[0].detail, "spare/blurred");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_describer_leaves_time_for_the_next() {
    let mut fixture = VisionFixture::new();
    fixture.describers = fixture.chain("eyes/sharp,spare/blurred");
    fixture.describer.respond_with(Step::hang());
    // It gets half of the time, twice; then it is benched.
    for (number, seconds) in [(1, 15), (2, 15), (3, 0)] {
        let begin = Instant::now();
        let described = fixture.describe(question(&[number])).await;
        assert_eq!(texts(&described.request), answered(&[number]));
        assert_eq!(begin.elapsed(), Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn a_describer_that_keeps_failing_is_benched() {
    let mut fixture = VisionFixture::new();
    fixture.describers = fixture.chain("eyes/sharp,spare/blurred");
    fixture
        .describer
        .respond_with(Step::fail(Error::http(500, "no")));
    for number in 1..=5 {
        fixture.describe(question(&[number])).await;
    }
    assert_eq!(fixture.describer.calls(), 2, "two failures bench it");
    assert_eq!(fixture.spare.calls(), 5);
}

#[tokio::test]
async fn a_panicking_describer_leaves_the_marker() {
    let fixture = VisionFixture::new();
    fixture
        .describer
        .fake
        .otherwise(|_| panic!("a bug in a provider"));
    let described = fixture.describe(question(&[1, 2])).await;
    assert_eq!(
        texts(&described.request),
        ["What is this?", UNAVAILABLE, UNAVAILABLE]
    );
    fixture.describer.reply_with("fine again");
    let described = fixture.describe(question(&[1])).await;
    assert_eq!(texts(&described.request)[1], "[image: fine again]");
}

#[tokio::test]
async fn refusals_and_tool_calls_are_not_descriptions() {
    let call = Part::ToolCall(ToolCall::new("a", "delete_all", "{}"));
    for response in [
        Response::new(vec![Part::Refusal(majordomo::llm::Text::new("I will not"))]),
        Response::new(vec![call.clone()]),
        Response::new(vec![Part::text("an apple"), call]),
    ] {
        let fixture = VisionFixture::new();
        fixture.describer.respond_with(Step::respond(response));
        let described = fixture.describe(question(&[1])).await;
        assert_eq!(texts(&described.request), ["What is this?", UNAVAILABLE]);
    }
}

#[tokio::test]
async fn a_describer_of_any_dialect_gets_the_image_and_the_prompt() {
    let fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    let received = &fixture.describer.fake.calls()[0].request;
    assert_eq!(
        received.prompt().messages[0].parts,
        [image(1), Part::text(DEFAULT_PROMPT)]
    );
    assert_eq!(received.prompt().max_tokens, Some(256));
    assert_eq!(
        received.prompt().messages.len(),
        1,
        "the user's request is not sent to the describer"
    );
    for protocol in Protocol::ALL {
        let written = protocol
            .codec()
            .write_request(received, &Outgoing::new("sharp").stream(true));
        assert!(
            written.losses.iter().all(|loss| loss.field != "image"),
            "{protocol:?}"
        );
        let body = String::from_utf8_lossy(&written.body);
        assert!(body.contains("R0lGODlhAQAB"), "{protocol:?}: {body}");
    }
}

#[tokio::test]
async fn an_image_is_fitted_to_the_limits_of_its_describer() {
    let fixture = VisionFixture::new();
    fixture
        .describer
        .fake
        .set_capabilities(Capabilities::default().with_images(Some(
            ImageLimits::default().with_types(vec!["image/png".into()]),
        )));
    let described = fixture.describe(question(&[1])).await;
    let calls = fixture.describer.fake.calls();
    let Part::Image(got) = &calls[0].request.prompt().messages[0].parts[0] else {
        panic!("the describer did not get an image");
    };
    assert_eq!(got.media_type, "image/png");
    assert_eq!(changes(&described), ["image:1 described"]);
}

#[tokio::test]
async fn large_images_are_distinguished() {
    let large = |number| {
        let mut bytes = gif(number).to_vec();
        bytes.resize(2 << 20, 0);
        Part::image("image/gif", bytes)
    };
    let fixture = VisionFixture::new();
    let request = Request::user("look")
        .part(large(1))
        .part(large(2))
        .part(large(1));
    fixture.describe(request).await;
    assert_eq!(fixture.describer.calls(), 2);
}

#[tokio::test]
async fn with_question_the_prompt_contains_the_users_question() {
    let fixture = VisionFixture::with(
        VisionConfig::default()
            .with_question(true)
            .with_prompt("Describe."),
    );
    fixture.describe(question(&[1])).await;
    let received = fixture.describer.fake.calls()[0].request.prompt().messages[0].text();
    assert!(
        received.starts_with("Describe.") && received.ends_with("What is this?"),
        "{received}"
    );
}

#[tokio::test]
async fn on_failure_fail_returns_an_error_with_the_reason() {
    let fixture = VisionFixture::with(VisionConfig::default().with_on_failure(OnFailure::Fail));
    fixture
        .describer
        .respond_with(Step::fail(Error::http(400, "no eyes")));
    let scope = Scope::of_key("laptop");
    let described = fixture
        .vision
        .describe(question(&[1]), Some(&fixture.describers), &scope)
        .await;
    let error = described.expect_err("on_failure is fail");
    assert_eq!(error.status(), Some(502));
    assert!(error.to_string().contains("no eyes"), "{error}");
    assert_eq!(error.attempt_log().attempts.len(), 1);
}

#[tokio::test]
async fn each_image_in_the_last_message_is_described() {
    let fixture = VisionFixture::new();
    let numbers: Vec<u8> = (1..=23).collect();
    let described = fixture.describe(question(&numbers)).await;
    assert_eq!(changes(&described), ["image:23 described"]);
    let texts = texts(&described.request);
    assert!(
        texts[1..]
            .iter()
            .cloned()
            .eq(numbers.iter().map(|n| seen(*n)))
    );
}

#[tokio::test]
async fn of_many_images_the_newest_are_described_and_each_call_is_listed() {
    let fixture = VisionFixture::with(VisionConfig::default().with_max_images(20));
    let numbers: Vec<u8> = (1..=25).collect();
    let described = fixture.describe(question(&numbers)).await;
    assert_eq!(
        changes(&described),
        ["image:20 described", "image:5 undescribed"]
    );
    assert_eq!(
        texts(&described.request)[5..7],
        [UNAVAILABLE.to_owned(), seen(6)]
    );
    assert_eq!(described.calls.len(), 20);
    assert_eq!((described.usage.input, described.usage.output), (20, 20));
}

struct Fetcher(Result<Image>);

impl FetchImage for Fetcher {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Image>> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

fn remote() -> Request {
    Request::user("look").part(Part::RemoteImage(RemoteImage {
        url: "https://pictures.example/a.png".into(),
        native: None,
    }))
}

#[tokio::test]
async fn a_url_that_was_not_sent_is_never_described() {
    let fixture = VisionFixture::new();
    fixture.describer.no_urls.store(true, Ordering::SeqCst);
    fixture.describer.reply_with("I imagine an apple");
    let described = fixture.describe(remote()).await;
    assert_eq!(texts(&described.request), ["look", UNAVAILABLE]);
}

#[tokio::test]
async fn a_url_is_fetched_if_enabled_and_the_describer_does_not_accept_urls() {
    let fetcher = Fetcher(Ok(Image::new("image/gif", gif(9))));
    let vision = Vision::new(VisionConfig::default()).fetching(Arc::new(fetcher));
    let fixture = VisionFixture::around(vision);
    fixture.describer.no_urls.store(true, Ordering::SeqCst);
    let described = fixture.describe(remote()).await;
    assert_eq!(texts(&described.request), ["look".to_owned(), seen(9)]);
}

#[tokio::test]
async fn a_reload_does_not_keep_the_old_fetcher() {
    let fetcher = Fetcher(Ok(Image::new("image/gif", gif(9))));
    let vision = Vision::new(VisionConfig::default()).fetching(Arc::new(fetcher));
    let fixture = VisionFixture::around(vision.reconfigured(VisionConfig::default()));
    fixture.describer.no_urls.store(true, Ordering::SeqCst);
    let described = fixture.describe(remote()).await;
    assert_eq!(texts(&described.request), ["look", UNAVAILABLE]);
}

#[tokio::test]
async fn a_url_that_cannot_be_fetched_gets_the_marker() {
    let refused = Error::new(ErrorKind::Unsupported, "private address");
    let vision = Vision::new(VisionConfig::default()).fetching(Arc::new(Fetcher(Err(refused))));
    let fixture = VisionFixture::around(vision);
    fixture.describer.no_urls.store(true, Ordering::SeqCst);
    let described = fixture.describe(remote()).await;
    assert_eq!(texts(&described.request), ["look", UNAVAILABLE]);
    assert!(described.changes[0].detail.contains("private address"));
}

#[tokio::test]
async fn undecodable_data_is_not_a_url() {
    let broken = Part::RemoteImage(RemoteImage {
        url: "data:image/png;base64,@@".into(),
        native: None,
    });
    let fixture = VisionFixture::new();
    let described = fixture.describe(Request::user("look").part(broken)).await;
    assert_eq!(texts(&described.request), ["look", UNAVAILABLE]);
    assert_eq!(fixture.describer.calls(), 0);
}

#[tokio::test]
async fn a_dry_run_predicts_descriptions_and_a_count_reports_the_known_ones() {
    let fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    let (asked, scope) = (question(&[1, 2]), Scope::of_key("laptop"));
    let (vision, describers) = (&fixture.vision, Some(&fixture.describers));
    let predicted = vision.preview(asked.clone(), describers, &scope).await;
    let counted = Scope::of_count("laptop");
    let counted = vision.preview(asked, describers, &counted).await;
    for ((request, changes), other) in [
        (predicted, "image:1 described"),
        (counted, "image:1 undescribed"),
    ] {
        let mut changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        changes.sort();
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert!(changes.contains(&"image:1 described from cache".to_owned()));
        assert!(changes.contains(&other.to_owned()), "{changes:?}");
        let expected = ["What is this?".to_owned(), seen(1), UNAVAILABLE.to_owned()];
        assert_eq!(texts(&request), expected);
    }
    assert_eq!(fixture.describer.calls(), 1, "of the request before");
}

#[tokio::test]
async fn a_preview_of_a_past_request_has_the_descriptions_that_it_used() {
    let fixture = VisionFixture::new();
    let describers = Some(&fixture.describers);
    let scope = Scope::of_key("laptop");
    let described = fixture.vision.describe(question(&[1]), describers, &scope);
    described.await.unwrap();
    let used = scope.used();
    assert!(used.bytes() > seen(1).len());
    // As if the cache had forgotten: another engine knows nothing.
    let other = Vision::new(VisionConfig::default());
    for (past, expected) in [
        (Scope::of_past("laptop", &used), seen(1)),
        (Scope::of_past("phone", &used), UNAVAILABLE.to_owned()),
        (Scope::of_key("laptop"), UNAVAILABLE.to_owned()),
    ] {
        let (request, _) = other.preview(question(&[1]), describers, &past).await;
        assert_eq!(texts(&request), ["What is this?".to_owned(), expected]);
    }
    assert_eq!(fixture.describer.calls(), 1);
}
