//! A run that is dropped at any await point resumes without repeating tools that have
//! returned a result.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, IntoFuture, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use majordomo::agent::{
    Agent, AgentEvent, Checkpoint, CheckpointStore, Function, NoArguments, StopReason,
    check_transcript,
};
use majordomo::fake::{Fake, Step};
use majordomo::{BoxFuture, ToolCall};
use tokio::task::yield_now;

use crate::support::{SharedLog, WORK, echo, on, reported_in, scripted};

/// Keeps the last checkpoint as text.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Option<String>>>);

impl Disk {
    fn read(&self) -> Option<Checkpoint> {
        let text = self.0.lock().unwrap().clone()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The ids of all calls whose results are on the disk.
    fn reported(&self) -> BTreeSet<String> {
        let text = self.0.lock().unwrap().clone();
        text.map(|text| reported_in(&text)).unwrap_or_default()
    }
}

impl CheckpointStore for Disk {
    fn save<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let text = serde_json::to_string(checkpoint)?;
            yield_now().await;
            *self.0.lock().unwrap() = Some(text);
            yield_now().await;
            Ok(())
        })
    }
}

type RunCounts = Arc<Mutex<BTreeMap<String, usize>>>;

/// Counts its runs by call id, and takes as many polls as its id is long.
fn counting(counts: &RunCounts) -> Function {
    let counts = Arc::clone(counts);
    Function::with_call("work", "Works.", move |call: ToolCall, _: NoArguments| {
        let counts = Arc::clone(&counts);
        async move {
            *counts.lock().unwrap().entry(call.id.clone()).or_default() += 1;
            for _ in 0..call.id.len() {
                yield_now().await;
            }
            Ok::<_, String>(format!("did {}", call.id))
        }
    })
}

/// An agent that records results announced before they are saved.
fn agent(fake: &Fake, counts: &RunCounts, disk: &Disk, too_early: &SharedLog<String>) -> Agent {
    let (disk, too_early) = (disk.clone(), too_early.clone());
    on(fake)
        .tool(counting(counts))
        .observe(move |event| {
            if let AgentEvent::ToolFinished { result, .. } = event {
                let id = result.call_id.clone();
                if !disk.reported().contains(&id) {
                    too_early.push(id);
                }
            }
        })
        .build()
        .unwrap()
}

/// Polls the future `polls` times and then drops it, as a crash would.
async fn die_after<F: Future>(polls: usize, work: F) -> Option<F::Output> {
    let mut work = Box::pin(work);
    for _ in 0..polls {
        let ready = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = ready {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

#[tokio::test]
async fn a_run_dropped_at_any_point_resumes_without_repeating_finished_tools() {
    let mut deaths = 0;
    for polls in 0.. {
        let (fake, counts, disk) = (scripted(), RunCounts::default(), Disk::default());
        let too_early = SharedLog::default();
        let agent = agent(&fake, &counts, &disk, &too_early);
        let run = agent.run("go").checkpoints(disk.clone());
        if die_after(polls, run.into_future()).await.is_some() {
            break;
        }
        deaths += 1;
        let reported = disk.reported();
        let before = counts.lock().unwrap().clone();

        let again = match disk.read() {
            Some(checkpoint) => agent.resume(checkpoint),
            None => agent.run("go"),
        };
        let outcome = again.checkpoints(disk.clone()).await.unwrap();
        assert_eq!(outcome.output, "done");
        assert!(too_early.all().is_empty(), "{:?}", too_early.all());
        check_transcript(&outcome.messages).unwrap();
        assert_eq!(outcome.messages.len(), 6);
        let after = counts.lock().unwrap().clone();
        for id in &reported {
            assert_eq!(before.get(id), after.get(id), "{id}, death after {polls}");
        }
        let worked: BTreeSet<&str> = after.keys().map(String::as_str).collect();
        assert_eq!(worked, BTreeSet::from(WORK));
    }
    assert!(deaths > 15, "only {deaths} points to die at");
}

#[tokio::test]
async fn resuming_a_finished_run_returns_its_answer_without_model_calls() {
    let (fake, disk) = (scripted(), Disk::default());
    let agent = agent(&fake, &RunCounts::default(), &disk, &SharedLog::default());
    agent.run("go").checkpoints(disk.clone()).await.unwrap();
    fake.forget_calls();
    let outcome = agent.resume(disk.read().unwrap()).await.unwrap();
    assert_eq!(outcome.output, "done");
    assert_eq!(outcome.steps.len(), 3);
    assert!(fake.calls().is_empty());
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_saved_ends_the_run() {
    let fake = scripted();
    let agent = on(&fake).tool(echo("work")).build().unwrap();
    let full = |_: &Checkpoint| Err("disk full".into());
    let error = agent.run("go").checkpoints(full).await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::Checkpoint(text) if text == "disk full"));
    assert_eq!(fake.call_count("m"), 1);
    check_transcript(&error.outcome().messages).unwrap();
}

#[tokio::test]
async fn a_run_resumes_after_a_model_failure() {
    let fake = scripted();
    fake.enqueue("m", [Step::fail(majordomo::Error::http(500, "unhealthy"))]);
    let agent = on(&fake).tool(echo("work")).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    let outcome = agent.resume(error.into_checkpoint()).await.unwrap();
    assert_eq!(outcome.output, "done");
}
