//! Memory of a thousand concurrent agents, while they wait and after they end.
//!
//! A separate binary, because it replaces the global allocator.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "it/support/mod.rs"]
mod support;

use std::alloc::System;

use cap::Cap;
use std::future::IntoFuture;

use majordomo::Registry;
use majordomo::agent::{Agent, CancellationToken, StopReason};
use majordomo::fake::{Fake, Step};
use support::echo;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const AGENTS: usize = 1_000;
const MAX_BYTES: usize = 32 * 1024;

/// Each run calls one tool and then waits for a model that never responds.
fn agent(fake: &Fake) -> Agent {
    fake.otherwise(|call| match call.request.prompt().messages.len() {
        1 => support::call("a", "look"),
        _ => Step::hang(),
    });
    let registry = Registry::empty();
    registry.register(fake.clone());
    Agent::builder(registry.model("fp/m").unwrap())
        .system("You are one of a thousand.")
        .tool(echo("look"))
        .tool(echo("listen"))
        .tool(echo("speak"))
        .build()
        .unwrap()
}

/// Starts a thousand runs, cancels them, and returns the bytes per waiting run.
async fn wait_together() -> usize {
    let fake = Fake::new("fp");
    let agent = agent(&fake);
    let token = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let empty = ALLOCATOR.allocated();
    for _ in 0..AGENTS {
        let run = agent.run("What do you see?").cancel(token.clone());
        tasks.spawn(run.into_future());
    }
    while fake.call_count("m") < 2 * AGENTS {
        yield_now().await;
    }
    // Exclude the fake's own records.
    fake.forget_calls();
    let each = (ALLOCATOR.allocated() - empty) / AGENTS;
    let alive = Handle::current().metrics().num_alive_tasks();
    assert_eq!(alive, AGENTS, "a run spawns no tasks");

    token.cancel();
    while let Some(ended) = tasks.join_next().await {
        let error = ended.unwrap().unwrap_err();
        assert!(matches!(error.reason(), StopReason::Cancelled));
        assert_eq!(error.outcome().messages.len(), 3);
    }
    each
}

#[tokio::test]
async fn a_thousand_waiting_agents_are_small_and_leak_nothing() {
    // The first round includes one-time allocations.
    let each = wait_together().await;
    println!("{each} bytes per waiting agent");
    assert!(each < MAX_BYTES, "{each} bytes per waiting agent");
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);

    let after_first = ALLOCATOR.allocated();
    wait_together().await;
    let left = ALLOCATOR.allocated().saturating_sub(after_first);
    assert!(left < AGENTS, "{left} bytes are left by {AGENTS} agents");
}
