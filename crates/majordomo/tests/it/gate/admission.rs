//! Attempts that a gate refuses or limits.

use std::time::Duration;

use majordomo::chain::{
    AttemptGate, AttemptKind, ChainConfig, GateDecision, GateRefusal, PendingAttempt,
};
use majordomo::fake::Step;
use majordomo::llm::AttemptOutcome;
use majordomo::{Class, ErrorKind, Request};
use std::sync::Arc;

use super::books::{Ruling, TestGate};
use super::stepwise::{DIALECT, stepwise};
use crate::support::{Fixture, lines, pass, status};

fn refuse_a(target: &str) -> Ruling {
    match target {
        "fp/a" => Ruling::Refuse("it is too expensive"),
        _ => Ruling::Admit,
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_attempt_is_not_sent_and_the_chain_advances_without_penalty() {
    let fixture = Fixture::new();
    let (gate, books) = TestGate::new(refuse_a);
    let chain = fixture.chain("fp/a,tail/x").gated_by(gate);
    let reply = chain.generate(Request::user("hi")).await.expect("served");
    assert_eq!(reply.model, "tail/x");
    assert_eq!(fixture.fp.call_count("a"), 0);
    assert!(fixture.is_healthy("fp/a"));
    assert_eq!(books.targets(), ["tail/x"]);
    let refused = &reply.attempt_log.attempts[0];
    assert_eq!(
        refused.outcome,
        AttemptOutcome::Skipped {
            reason: "it is too expensive".to_owned(),
            class: Some(Class::Denied),
        }
    );
    assert_eq!(reply.attempt_log.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_chain_that_the_gate_closed_says_so() {
    let fixture = Fixture::new();
    let (gate, _) = TestGate::new(|_| Ruling::Refuse("the budget is spent"));
    let chain = fixture.chain("fp/a,tail/x").gated_by(gate);
    let error = chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.class()),
        (ErrorKind::Denied, Class::Denied)
    );
    assert_eq!(
        error.to_string(),
        "no target may be used: fp/a: skipped, the budget is spent; \
         tail/x: skipped, the budget is spent"
    );
}

#[tokio::test(start_paused = true)]
async fn a_chain_that_also_failed_is_exhausted() {
    let fixture = Fixture::new();
    fixture.tail.otherwise(|_| status(500));
    let (gate, _) = TestGate::new(refuse_a);
    let chain = fixture.chain("fp/a,tail/x").gated_by(gate);
    let error = chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(
        lines(error.attempt_log()),
        [
            "fp/a skipped",
            "tail/x failed Transient",
            "tail/x failed Transient"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_shortest_wait_of_a_refusal_is_reported() {
    struct Closed;
    impl AttemptGate for Closed {
        fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
            let seconds = if attempt.target.as_str() == "fp/a" {
                9
            } else {
                4
            };
            let refusal = GateRefusal::new("closed");
            GateDecision::refuse(refusal.retry_after(Duration::from_secs(seconds)))
        }
    }
    let fixture = Fixture::new();
    let chain = fixture.chain("fp/a,fp/b").gated_by(Arc::new(Closed));
    let error = chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(4)));
}

#[tokio::test(start_paused = true)]
async fn a_refused_probe_leaves_the_target_to_be_probed() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.refused("fp/a").await;
    pass(6).await;
    let (gate, _) = TestGate::new(refuse_a);
    let chain = fixture.chain("fp/a").gated_by(gate);
    chain.generate(Request::user("hi")).await.unwrap_err();
    assert!(!fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_gate_lowers_the_output_limit_and_the_change_is_listed() {
    let fixture = Fixture::new();
    let rows = [
        (None, Some(100), &["max_tokens set"][..]),
        (Some(200), Some(100), &["max_tokens lowered"]),
        (Some(50), Some(50), &[]),
    ];
    for (asked, sent, changes) in rows {
        fixture.fp.forget_calls();
        let (gate, books) = TestGate::new(|_| Ruling::Limit(100));
        let chain = fixture.chain("fp/a").gated_by(gate);
        let mut request = Request::user("hi");
        if let Some(tokens) = asked {
            request = request.max_tokens(tokens);
        }
        let reply = chain.generate(request).await.expect("served");
        let listed = reply.attempt_log.changes().iter();
        let listed: Vec<_> = listed.map(ToString::to_string).collect();
        assert_eq!(listed, changes, "{asked:?}");
        assert_eq!(books.entries()[0].max_tokens, asked);
        let calls = fixture.fp.calls();
        assert_eq!(calls[0].request.prompt().max_tokens, sent);
    }
}

#[tokio::test(start_paused = true)]
async fn retries_and_forced_attempts_pass_the_gate() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a").gated_by(gate);
    chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(books.targets(), ["fp/a", "fp/a"], "a retry");
    chain.generate(Request::user("hi")).await.expect("forced");
    assert_eq!(books.targets().len(), 3, "a forced attempt");
    books.reports();
}

#[tokio::test(start_paused = true)]
async fn the_gate_knows_what_an_attempt_is_for_and_how_large_it_is() {
    let fixture = Fixture::new();
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = stepwise(&fixture.chain("fp/a")).gated_by(gate);
    let request = Request::user("x".repeat(400));
    chain.generate(request.clone()).await.expect("served");
    chain.count_tokens(request).await;
    let body = bytes::Bytes::from(vec![b'x'; 80]);
    chain
        .forward_embeddings(DIALECT, body, Default::default())
        .await
        .expect("served");
    let entries = books.entries();
    let seen: Vec<_> = entries.iter().map(|e| (e.kind, e.input_tokens)).collect();
    assert_eq!(
        seen,
        [
            (AttemptKind::Answer, 104),
            (AttemptKind::Count, 104),
            (AttemptKind::Embed, 20)
        ]
    );
    books.reports();
}

#[tokio::test(start_paused = true)]
async fn a_retry_embeds_the_rest_and_the_next_target_all_texts() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("ok"), status(500), status(500)]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a,fp/b").gated_by(gate);
    let texts = vec!["x".repeat(40); 40];
    let embedded = chain.embed(texts).await.expect("served");
    assert_eq!(embedded.model, "fp/b");
    let entries = books.entries();
    let seen: Vec<_> = entries
        .iter()
        .map(|e| (&*e.target, e.input_tokens))
        .collect();
    // A batch has 16 texts.
    assert_eq!(seen, [("fp/a", 400), ("fp/a", 240), ("fp/b", 400)]);
    books.reports();
}

#[tokio::test(start_paused = true)]
async fn a_refused_count_is_estimated() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("counted")]);
    let (gate, books) = TestGate::new(|_| Ruling::Refuse("no counting"));
    let chain = stepwise(&fixture.chain("fp/a")).gated_by(gate);
    assert_eq!(
        chain.count_tokens(Request::user("x".repeat(400))).await,
        104
    );
    assert!(books.entries().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_waits_obeys_the_deadline() {
    struct Stuck;
    impl AttemptGate for Stuck {
        fn enter<'a>(&'a self, _: &PendingAttempt<'a>) -> GateDecision<'a> {
            GateDecision::Later(Box::pin(std::future::pending()))
        }
    }
    let fixture = Fixture::chained(ChainConfig::default().with_deadline(Duration::from_secs(5)));
    let chain = fixture.chain("fp/a").gated_by(Arc::new(Stuck));
    let error = chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(fixture.fp.call_count("a"), 0);
}
