//! The contents of the cache: for which client, and for how long.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use majordomo::clock::ManualClock;
use majordomo::fake::Step;
use majordomo::{Error, Message, Part, Request};
use majordomo_vision::{History, ImageDisposition, OMITTED, Scope, Vision, VisionConfig};
use majordomo_wire::Protocol;

use crate::support::{
    VisionFixture, changes, image, question, seen, texts, through, user, written,
};

fn remembering() -> VisionConfig {
    VisionConfig::default().with_history(History::Cached)
}

#[tokio::test]
async fn the_same_image_twice_in_a_request_is_described_once() {
    let fixture = VisionFixture::new();
    let described = fixture.describe(question(&[1, 2, 1])).await;
    assert_eq!(texts(&described.request)[1..], [seen(1), seen(2), seen(1)]);
    assert_eq!(fixture.describer.calls(), 2);
    assert_eq!(changes(&described), ["image:3 described"]);
}

#[tokio::test]
async fn the_same_image_in_the_next_request_is_described_from_the_cache() {
    let fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    let described = fixture.describe(question(&[1, 2])).await;
    assert_eq!(fixture.describer.calls(), 2);
    assert_eq!(
        changes(&described),
        ["image:1 described", "image:1 described from cache"]
    );
    assert_eq!(described.usage.input, 1, "only the call is billed");
}

#[tokio::test]
async fn a_turn_later_no_describer_is_called_and_the_prefix_is_byte_identical() {
    for protocol in Protocol::ALL {
        let fixture = VisionFixture::with(remembering());
        let first = Request::from(vec![user(vec![
            Part::text("What is this?"),
            image(1),
            image(2),
        ])])
        .system("You are terse.");
        let later = first
            .clone()
            .message(Message::assistant("Two pictures."))
            .message(Message::user("Which is nicer?"));

        let before = fixture.describe(through(protocol, &first)).await;
        let calls = fixture.describer.calls();
        let after = fixture.describe(through(protocol, &later)).await;

        assert_eq!(
            fixture.describer.calls(),
            calls,
            "{protocol:?}: no describer is called again"
        );
        assert_eq!(changes(&after), ["image:2 described from cache"]);
        let (before, after) = (
            written(protocol, &before.request),
            written(protocol, &after.request),
        );
        let shared = before
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let turn = before
            .rfind("[image: picture 2]")
            .expect("the last of the turn");
        assert!(
            shared > turn + "[image: picture 2]".len(),
            "{protocol:?}:\n{before}\n{after}"
        );
        let tail = &before[shared..];
        assert!(
            !tail.contains("picture"),
            "{protocol:?}: the turn is in the prefix: {tail}"
        );
    }
}

#[tokio::test]
async fn an_earlier_image_that_is_not_cached_gets_the_marker() {
    let fixture = VisionFixture::with(remembering());
    let request = question(&[1]).message(Message::user("and?"));
    let described = fixture.describe(request).await;
    assert_eq!(texts(&described.request)[1], OMITTED);
    assert_eq!(fixture.describer.calls(), 0);
}

#[tokio::test]
async fn with_history_omit_a_cached_description_is_not_used() {
    let fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    let described = fixture
        .describe(question(&[1]).message(Message::user("and?")))
        .await;
    assert_eq!(texts(&described.request)[1], OMITTED);
}

#[tokio::test]
async fn cached_descriptions_apply_also_with_the_question_enabled() {
    let fixture = VisionFixture::with(remembering().with_question(true));
    fixture.describe(question(&[1])).await;
    let later = question(&[1])
        .message(Message::assistant("a picture"))
        .message(Message::user("something else"));
    let described = fixture.describe(later).await;
    assert_eq!(texts(&described.request)[1], seen(1));
    assert_eq!(fixture.describer.calls(), 1);
}

#[tokio::test]
async fn a_key_never_gets_descriptions_of_another_keys_images() {
    let fixture = VisionFixture::with(remembering());
    fixture.describe_for("laptop", question(&[1])).await;
    fixture.describe_for("phone", question(&[1])).await;
    assert_eq!(fixture.describer.calls(), 2);
    let earlier = question(&[1]).message(Message::user("and?"));
    let described = fixture.describe_for("tablet", earlier).await;
    assert_eq!(texts(&described.request)[1], OMITTED);
}

#[tokio::test]
async fn another_describer_or_prompt_causes_a_new_call() {
    let mut fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    fixture.describers = fixture.chain("spare/blurred");
    fixture.describe(question(&[1])).await;
    assert_eq!((fixture.describer.calls(), fixture.spare.calls()), (1, 1));
    let other = VisionConfig::default().with_prompt("In German.");
    fixture.vision = Arc::new(fixture.vision.reconfigured(other));
    fixture.describe(question(&[1])).await;
    assert_eq!(fixture.spare.calls(), 2);
}

#[tokio::test]
async fn a_reload_keeps_cached_descriptions() {
    let mut fixture = VisionFixture::new();
    fixture.describe(question(&[1])).await;
    fixture.vision = Arc::new(fixture.vision.reconfigured(remembering()));
    fixture.describe(question(&[1])).await;
    assert_eq!(fixture.describer.calls(), 1);
}

#[tokio::test]
async fn descriptions_expire() {
    let clock = ManualClock::new();
    let vision = Vision::with_clock(VisionConfig::default(), Arc::new(clock.clone()));
    let fixture = VisionFixture::around(vision);
    fixture.describe(question(&[1])).await;
    clock.advance(Duration::from_secs(599));
    fixture.describe(question(&[1])).await;
    assert_eq!(fixture.describer.calls(), 1);
    clock.advance(Duration::from_secs(600));
    fixture.describe(question(&[1])).await;
    assert_eq!(fixture.describer.calls(), 2);
}

#[tokio::test]
async fn a_failure_is_not_cached() {
    let fixture = VisionFixture::new();
    fixture
        .describer
        .fake
        .enqueue("sharp", [Step::fail(Error::http(400, "no"))]);
    fixture.describe(question(&[1])).await;
    let described = fixture.describe(question(&[1])).await;
    assert_eq!(described.images[0].disposition, ImageDisposition::Described);
}

#[tokio::test(start_paused = true)]
async fn two_requests_with_the_same_image_make_one_call() {
    let fixture = VisionFixture::new();
    fixture.describer.delay(|_| 300);
    let (one, two) = join(
        fixture.describe(question(&[1])),
        fixture.describe(question(&[1])),
    )
    .await;
    assert_eq!(fixture.describer.calls(), 1);
    assert_eq!(texts(&one.request), texts(&two.request));
    assert_eq!(changes(&two), ["image:1 described from cache"]);
}

#[tokio::test(start_paused = true)]
async fn a_disconnecting_client_does_not_cancel_the_description_for_others() {
    let fixture = VisionFixture::new();
    fixture.describer.delay(|_| 300);
    let leaving =
        tokio::time::timeout(Duration::from_millis(100), fixture.describe(question(&[1])));
    let staying = fixture.describe(question(&[1]));
    let (left, stayed) = join(leaving, staying).await;
    assert!(left.is_err());
    assert_eq!(texts(&stayed.request)[1], seen(1));
    assert_eq!(
        fixture.describer.calls(),
        2,
        "the remaining request took over"
    );
}

#[tokio::test]
async fn within_one_request_no_call_is_repeated_even_without_a_cache() {
    let fixture = VisionFixture::with(VisionConfig::default().with_cache(0));
    let scope = Scope::of_key("laptop");
    for _ in 0..3 {
        let describers = Some(&fixture.describers);
        let described = fixture
            .vision
            .describe(question(&[1]), describers, &scope)
            .await
            .unwrap();
        assert_eq!(changes(&described), ["image:1 described"]);
    }
    assert_eq!(fixture.describer.calls(), 1);
}
