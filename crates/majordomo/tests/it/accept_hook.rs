//! The accept hook: a refused answer is repaired once on the same target, then
//! advances like an empty one.

mod support;

use std::sync::Arc;

use majordomo::fake::Step;
use majordomo::{Accept, ErrorKind, Message, Part, Refused, Request, Response, Usage};
use support::{House, lines, status};

/// Takes only `yes`; says how to repair, or not.
struct OnlyYes {
    repair: bool,
}

impl Accept for OnlyYes {
    fn accept(&self, response: &Response) -> Result<(), Refused> {
        if response.text() == "yes" {
            return Ok(());
        }
        let said = response.text();
        let repair = self
            .repair
            .then(|| Message::user("say yes and nothing else"));
        Err(Refused {
            reason: format!("it said {said}"),
            repair: repair.into_iter().collect(),
        })
    }
}

fn picky(repair: bool) -> Request {
    Request::user("agree?").accept(Arc::new(OnlyYes { repair }))
}

fn texts(house: &House, call: usize) -> Vec<String> {
    let calls = house.fp.calls();
    let messages = &calls[call].request.messages;
    messages.iter().map(Message::text).collect()
}

#[tokio::test(start_paused = true)]
async fn an_accepted_answer_is_served_as_it_is() {
    let house = House::new();
    house.script("a", [Step::reply("yes")]);
    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(true))
        .await
        .unwrap();
    assert_eq!(lines(&reply.attempt_log), ["fp/a served"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_answer_is_repaired_on_the_same_target_with_the_answer_before_the_repair() {
    let house = House::new();
    house.script("a", [Step::reply("maybe"), Step::reply("yes")]);

    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(true))
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
    assert_eq!(texts(&house, 0), ["agree?"]);
    assert_eq!(
        texts(&house, 1),
        ["agree?", "maybe", "say yes and nothing else"]
    );
    assert!(house.is_spotless("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_refused_twice_counts_once_and_the_next_target_serves() {
    let house = House::new();
    house.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    house.script("b", [Step::reply("yes")]);

    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(true))
        .await
        .unwrap();

    assert_eq!(reply.model, "fp/b");
    assert_eq!(house.calls(), ["a", "a", "b"]);
    assert_eq!(house.health("fp/a").failures, 1, "like one empty answer");
}

#[tokio::test(start_paused = true)]
async fn the_next_target_gets_the_question_without_the_repair() {
    let house = House::new();
    house.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    house.script("b", [Step::reply("yes")]);
    house
        .chain("fp/a,fp/b")
        .generate(picky(true))
        .await
        .unwrap();
    assert_eq!(texts(&house, 2), ["agree?"]);
}

#[tokio::test(start_paused = true)]
async fn every_target_may_repair_its_own_answer_once() {
    let house = House::new();
    house.script("a", [Step::reply("maybe"), Step::reply("perhaps")]);
    house.script("b", [Step::reply("hm"), Step::reply("yes")]);
    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(true))
        .await
        .unwrap();
    assert_eq!(reply.text(), "yes");
    assert_eq!(house.calls(), ["a", "a", "b", "b"]);
    assert_eq!(
        texts(&house, 3),
        ["agree?", "hm", "say yes and nothing else"]
    );
}

#[tokio::test(start_paused = true)]
async fn without_repair_messages_the_chain_advances_at_once() {
    let house = House::new();
    house.script("a", [Step::reply("maybe")]);
    house.script("b", [Step::reply("yes")]);
    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(false))
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(house.calls(), ["a", "b"]);
    assert_eq!(house.health("fp/a").failures, 1);
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_refused_the_error_tells_the_reasons() {
    let house = House::new();
    house.script("a", [Step::reply("maybe")]);
    house.script("b", [Step::reply("never")]);
    let error = house
        .chain("fp/a,fp/b")
        .generate(picky(false))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    let text = error.to_string();
    assert!(
        text.contains("it said maybe") && text.contains("it said never"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_blip_during_the_repair_is_retried_with_the_repair() {
    let house = House::new();
    house.script("a", [Step::reply("maybe"), status(500), Step::reply("yes")]);
    let reply = house
        .chain("fp/a,fp/b")
        .generate(picky(true))
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/a");
    assert_eq!(
        texts(&house, 2),
        ["agree?", "maybe", "say yes and nothing else"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_hook_is_no_part_of_the_prompt() {
    let house = House::new();
    let request = Request::user("agree?");
    house.script("a", [Step::reply("yes")]);
    let judged = request.clone().accept(Arc::new(OnlyYes { repair: true }));
    house.chain("fp/a").generate(judged).await.unwrap();
    assert!(house.fp.calls()[0].request.same_prompt(&request));
}

#[tokio::test(start_paused = true)]
async fn what_a_stream_has_delivered_is_not_repaired() {
    let house = House::new();
    house.script("a", [Step::reply("maybe")]);
    let stream = house.chain("fp/a,fp/b").stream(picky(true)).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(house.calls(), ["a"]);
}

/// A reply that cost so many tokens.
fn costing(text: &str, input: u64, output: u64) -> Step {
    let usage = Usage {
        input,
        output,
        ..Usage::default()
    };
    Step::respond(Response {
        usage,
        ..Response::new(vec![Part::text(text)])
    })
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_a_repaired_answer_counts_the_refused_one_too() {
    let house = House::new();
    house.script("a", [costing("maybe", 10, 1), costing("yes", 25, 2)]);
    let reply = house.chain("fp/a").generate(picky(true)).await.unwrap();
    assert_eq!((reply.usage.input, reply.usage.output), (35, 3));
    assert_eq!(reply.attempt_log.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_answers_that_were_refused_elsewhere_is_counted() {
    let house = House::new();
    house.script("a", [costing("maybe", 10, 1), costing("perhaps", 25, 2)]);
    house.script("b", [costing(" ", 7, 1)]);
    house.script("c", [costing("yes", 12, 4)]);
    let chain = house.chain("fp/a,fp/b,fp/c");
    let reply = chain.generate(picky(true)).await.unwrap();
    assert_eq!(reply.model, "fp/c");
    assert_eq!((reply.usage.input, reply.usage.output), (54, 8));
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_tells_the_last_refused_answer_and_what_all_of_them_cost() {
    let house = House::new();
    house.script("a", [costing("maybe", 10, 1)]);
    house.script("b", [costing("never", 20, 2)]);
    let chain = house.chain("fp/a,fp/b");
    let error = chain.generate(picky(false)).await.unwrap_err();
    let refused = error.partial().unwrap();
    assert_eq!(refused.text(), "never");
    assert_eq!((refused.usage.input, refused.usage.output), (30, 3));
}
