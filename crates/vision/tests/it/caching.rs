//! What is cached, for which client and for how long.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use majordomo::fake::Step;
use majordomo::{Error, ManualClock, Message, Part, Request};
use majordomo_vision::{Fate, History, OMITTED, Scope, Vision, VisionConfig};
use majordomo_wire::Protocol;

use crate::stage::{Stage, changes, image, question, seen, texts, through, user, written};

fn remembering() -> VisionConfig {
    VisionConfig {
        history: History::Cached,
        ..VisionConfig::default()
    }
}

#[tokio::test]
async fn v23_the_same_image_twice_in_a_request_is_described_once() {
    let stage = Stage::new();
    let described = stage.describe(question(&[1, 2, 1])).await;
    assert_eq!(texts(&described.request)[1..], [seen(1), seen(2), seen(1)]);
    assert_eq!(stage.eyes.calls(), 2);
    assert_eq!(changes(&described), ["image:3 described"]);
}

#[tokio::test]
async fn the_same_image_in_the_next_request_is_described_from_the_cache() {
    let stage = Stage::new();
    stage.describe(question(&[1])).await;
    let described = stage.describe(question(&[1, 2])).await;
    assert_eq!(stage.eyes.calls(), 2);
    assert_eq!(
        changes(&described),
        ["image:1 described", "image:1 described from cache"]
    );
    assert_eq!(described.usage.input, 1, "only the call is billed");
}

#[tokio::test]
async fn v24_one_turn_later_nobody_is_asked_and_the_prefix_is_the_same_bytes() {
    for protocol in Protocol::ALL {
        let stage = Stage::with(remembering());
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

        let before = stage.describe(through(protocol, &first)).await;
        let calls = stage.eyes.calls();
        let after = stage.describe(through(protocol, &later)).await;

        assert_eq!(
            stage.eyes.calls(),
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
async fn an_earlier_image_that_is_not_known_gets_the_marker() {
    let stage = Stage::with(remembering());
    let request = question(&[1]).message(Message::user("and?"));
    let described = stage.describe(request).await;
    assert_eq!(texts(&described.request)[1], OMITTED);
    assert_eq!(stage.eyes.calls(), 0);
}

#[tokio::test]
async fn with_history_omit_a_known_description_is_not_kept() {
    let stage = Stage::new();
    stage.describe(question(&[1])).await;
    let described = stage
        .describe(question(&[1]).message(Message::user("and?")))
        .await;
    assert_eq!(texts(&described.request)[1], OMITTED);
}

#[tokio::test]
async fn v24_holds_when_the_question_goes_along() {
    let stage = Stage::with(VisionConfig {
        question: true,
        ..remembering()
    });
    stage.describe(question(&[1])).await;
    let later = question(&[1])
        .message(Message::assistant("a picture"))
        .message(Message::user("something else"));
    let described = stage.describe(later).await;
    assert_eq!(texts(&described.request)[1], seen(1));
    assert_eq!(stage.eyes.calls(), 1);
}

#[tokio::test]
async fn a_key_never_gets_what_another_keys_image_said() {
    let stage = Stage::with(remembering());
    stage.describe_for("laptop", question(&[1])).await;
    stage.describe_for("phone", question(&[1])).await;
    assert_eq!(stage.eyes.calls(), 2);
    let earlier = question(&[1]).message(Message::user("and?"));
    let described = stage.describe_for("tablet", earlier).await;
    assert_eq!(texts(&described.request)[1], OMITTED);
}

#[tokio::test]
async fn another_describer_or_prompt_is_asked_anew() {
    let mut stage = Stage::new();
    stage.describe(question(&[1])).await;
    stage.describers = stage.chain("spare/blurred");
    stage.describe(question(&[1])).await;
    assert_eq!((stage.eyes.calls(), stage.spare.calls()), (1, 1));
    let other = VisionConfig {
        prompt: "In German.".into(),
        ..VisionConfig::default()
    };
    stage.vision = Arc::new(stage.vision.reconfigured(other));
    stage.describe(question(&[1])).await;
    assert_eq!(stage.spare.calls(), 2);
}

#[tokio::test]
async fn a_configuration_that_is_read_again_keeps_what_is_known() {
    let mut stage = Stage::new();
    stage.describe(question(&[1])).await;
    stage.vision = Arc::new(stage.vision.reconfigured(remembering()));
    stage.describe(question(&[1])).await;
    assert_eq!(stage.eyes.calls(), 1);
}

#[tokio::test]
async fn descriptions_are_forgotten_after_their_time() {
    let clock = ManualClock::new();
    let vision = Vision::with_clock(VisionConfig::default(), Arc::new(clock.clone()));
    let stage = Stage::around(vision);
    stage.describe(question(&[1])).await;
    clock.advance(Duration::from_secs(599));
    stage.describe(question(&[1])).await;
    assert_eq!(stage.eyes.calls(), 1);
    clock.advance(Duration::from_secs(600));
    stage.describe(question(&[1])).await;
    assert_eq!(stage.eyes.calls(), 2);
}

#[tokio::test]
async fn a_failure_is_not_remembered() {
    let stage = Stage::new();
    stage
        .eyes
        .fake
        .enqueue("sharp", [Step::fail(Error::provider(400, "no"))]);
    stage.describe(question(&[1])).await;
    let described = stage.describe(question(&[1])).await;
    assert_eq!(described.images[0].fate, Fate::Described);
}

#[tokio::test(start_paused = true)]
async fn two_requests_with_the_same_image_make_one_call() {
    let stage = Stage::new();
    stage.eyes.slow(|_| 300);
    let (one, two) = join(
        stage.describe(question(&[1])),
        stage.describe(question(&[1])),
    )
    .await;
    assert_eq!(stage.eyes.calls(), 1);
    assert_eq!(texts(&one.request), texts(&two.request));
    assert_eq!(changes(&two), ["image:1 described from cache"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_who_leaves_does_not_take_the_description_along() {
    let stage = Stage::new();
    stage.eyes.slow(|_| 300);
    let leaving = tokio::time::timeout(Duration::from_millis(100), stage.describe(question(&[1])));
    let staying = stage.describe(question(&[1]));
    let (left, stayed) = join(leaving, staying).await;
    assert!(left.is_err());
    assert_eq!(texts(&stayed.request)[1], seen(1));
    assert_eq!(stage.eyes.calls(), 2, "the remaining request took over");
}

#[tokio::test]
async fn within_one_request_nothing_is_asked_twice_even_without_a_cache() {
    let stage = Stage::with(VisionConfig {
        cache: 0,
        ..VisionConfig::default()
    });
    let scope = Scope::of_key("laptop");
    for _ in 0..3 {
        let describers = Some(&stage.describers);
        let described = stage
            .vision
            .describe(question(&[1]), describers, &scope)
            .await
            .unwrap();
        assert_eq!(changes(&described), ["image:1 described"]);
    }
    assert_eq!(stage.eyes.calls(), 1);
}
