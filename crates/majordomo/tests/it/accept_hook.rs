//! The accept hook: a rejected response is repaired once on the same target, then the chain
//! advances as after an empty one.

use std::sync::Arc;

use crate::support::{Fixture, lines, status};
use majordomo::fake::Step;
use majordomo::llm::{Accept, Rejection};
use majordomo::{ErrorKind, Message, Part, Request, Response, Usage};

/// Accepts only `yes`, with or without repair messages.
struct OnlyYes {
    repair: bool,
}

impl Accept for OnlyYes {
    fn accept(&self, response: &Response) -> Result<(), Rejection> {
        if response.text() == "yes" {
            return Ok(());
        }
        let text = response.text();
        let repair = self
            .repair
            .then(|| Message::user("say yes and nothing else"));
        Err(Rejection {
            reason: format!("the text was {text}"),
            repair: repair.into_iter().collect(),
        })
    }
}

fn accepting_only_yes(repair: bool) -> Request {
    Request::user("agree?").accept(Arc::new(OnlyYes { repair }))
}

fn texts(fixture: &Fixture, call: usize) -> Vec<String> {
    let calls = fixture.fp.calls();
    let messages = &calls[call].request.prompt().messages;
    messages.iter().map(Message::text).collect()
}

#[tokio::test(start_paused = true)]
async fn an_accepted_response_is_served_unchanged() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("yes")]);
    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();
    assert_eq!(lines(&reply.attempt_log), ["fp/a served"]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_response_is_repaired_on_the_same_target_with_the_response_before_the_repair() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe"), Step::reply("yes")]);

    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();

    assert_eq!(
        (reply.model.as_str(), reply.text().as_str()),
        ("fp/a", "yes")
    );
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a failed Empty", "fp/a served"]
    );
    assert_eq!(texts(&fixture, 0), ["agree?"]);
    assert_eq!(
        texts(&fixture, 1),
        ["agree?", "maybe", "say yes and nothing else"]
    );
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_response_rejected_twice_counts_once_and_the_next_target_serves() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    fixture.script("b", [Step::reply("yes")]);

    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();

    assert_eq!(reply.model, "fp/b");
    assert_eq!(fixture.calls(), ["a", "a", "b"]);
    assert_eq!(
        fixture.health("fp/a").failures,
        1,
        "like one empty response"
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_target_receives_the_request_without_the_repair() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    fixture.script("b", [Step::reply("yes")]);
    fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();
    assert_eq!(texts(&fixture, 2), ["agree?"]);
}

#[tokio::test(start_paused = true)]
async fn every_target_may_repair_its_own_response_once() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    fixture.script("b", [Step::reply("hm"), Step::reply("yes")]);
    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();
    assert_eq!(reply.text(), "yes");
    assert_eq!(fixture.calls(), ["a", "a", "b", "b"]);
    assert_eq!(
        texts(&fixture, 3),
        ["agree?", "hm", "say yes and nothing else"]
    );
}

#[tokio::test(start_paused = true)]
async fn without_repair_messages_the_chain_advances_at_once() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe")]);
    fixture.script("b", [Step::reply("yes")]);
    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(false))
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(fixture.calls(), ["a", "b"]);
    assert_eq!(fixture.health("fp/a").failures, 1);
}

#[tokio::test(start_paused = true)]
async fn when_every_response_is_rejected_the_error_lists_the_reasons() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe")]);
    fixture.script("b", [Step::reply("never")]);
    let error = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(false))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    let text = error.to_string();
    assert!(
        text.contains("the text was maybe") && text.contains("the text was never"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_during_the_repair_is_retried_with_the_repair() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe"), status(500), Step::reply("yes")]);
    let reply = fixture
        .chain("fp/a,fp/b")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/a");
    assert_eq!(
        texts(&fixture, 2),
        ["agree?", "maybe", "say yes and nothing else"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_hook_is_not_part_of_the_prompt() {
    let fixture = Fixture::new();
    let request = Request::user("agree?");
    fixture.script("a", [Step::reply("yes")]);
    let judged = request.clone().accept(Arc::new(OnlyYes { repair: true }));
    fixture.chain("fp/a").generate(judged).await.unwrap();
    assert!(fixture.fp.calls()[0].request.same_prompt(&request));
}

#[tokio::test(start_paused = true)]
async fn a_delivered_stream_is_not_repaired() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("maybe")]);
    let stream = fixture
        .chain("fp/a,fp/b")
        .stream(accepting_only_yes(true))
        .await
        .unwrap();
    stream.finish().await.unwrap();
    assert_eq!(fixture.calls(), ["a"]);
}

/// A reply with this usage.
fn costing(text: &str, input: u64, output: u64) -> Step {
    let usage = Usage::new(input, output);
    Step::respond(Response::new(vec![Part::text(text)]).with_usage(usage))
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_a_repaired_response_includes_the_rejected_one() {
    let fixture = Fixture::new();
    fixture.script("a", [costing("maybe", 10, 1), costing("yes", 25, 2)]);
    let reply = fixture
        .chain("fp/a")
        .generate(accepting_only_yes(true))
        .await
        .unwrap();
    assert_eq!((reply.usage.input, reply.usage.output), (35, 3));
    assert_eq!(reply.attempt_log.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_responses_rejected_at_other_targets_is_included() {
    let fixture = Fixture::new();
    fixture.script("a", [costing("maybe", 10, 1), costing("perhaps", 25, 2)]);
    fixture.script("b", [costing(" ", 7, 1)]);
    fixture.script("c", [costing("yes", 12, 4)]);
    let chain = fixture.chain("fp/a,fp/b,fp/c");
    let reply = chain.generate(accepting_only_yes(true)).await.unwrap();
    assert_eq!(reply.model, "fp/c");
    assert_eq!((reply.usage.input, reply.usage.output), (54, 8));
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_returns_the_last_rejected_response_with_the_usage_of_all() {
    let fixture = Fixture::new();
    fixture.script("a", [costing("maybe", 10, 1)]);
    fixture.script("b", [costing("never", 20, 2)]);
    let chain = fixture.chain("fp/a,fp/b");
    let error = chain.generate(accepting_only_yes(false)).await.unwrap_err();
    let refused = error.partial().unwrap();
    assert_eq!(refused.text(), "never");
    assert_eq!((refused.usage.input, refused.usage.output), (30, 3));
}
