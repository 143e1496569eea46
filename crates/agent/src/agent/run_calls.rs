//! Runs the tool calls of a response concurrently, each exactly once.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use majordomo_llm::{ToolCall, ToolResult};

use super::drive::{RunContext, save};
use super::{AgentEvent, Checkpoint, Decision, StopReason};
use crate::tools::PreparedCall;

/// A call that has not been started.
struct PendingCall {
    slot: usize,
    call: ToolCall,
    /// `Err` is the result of an invalid call.
    prepared: Result<PreparedCall, ToolResult>,
}

/// How a call ended.
enum CallOutcome {
    Result(ToolResult),
    /// Awaits approval; the call stays open.
    Undecided(ToolCall),
}

impl PendingCall {
    fn is_alone(&self) -> bool {
        self.prepared.as_ref().is_ok_and(PreparedCall::is_alone)
    }
}

/// Runs the open calls. They start in order; an exclusive call waits for those before it
/// and delays those after it.
pub(super) async fn run_calls(
    context: &RunContext,
    progress: &mut Checkpoint,
) -> Result<(), StopReason> {
    let step = progress.step();
    let mut waiting: VecDeque<PendingCall> = progress
        .open_calls()
        .into_iter()
        .map(|(slot, call)| PendingCall {
            prepared: context.config.toolbox.prepare(&call),
            slot,
            call,
        })
        .collect();
    let mut running = FuturesUnordered::new();
    let mut exclusive = false;
    let mut undecided = None;
    loop {
        while undecided.is_none()
            && running.len() < context.config.parallel
            && !exclusive
            && let Some(next) = waiting.front()
            && (running.is_empty() || !next.is_alone())
            && let Some(next) = waiting.pop_front()
        {
            exclusive = next.is_alone();
            running.push(run_call(context, step, next));
        }
        let Some((slot, outcome)) = running.next().await else {
            break;
        };
        exclusive = false;
        match outcome {
            CallOutcome::Undecided(call) => undecided = Some(call),
            CallOutcome::Result(result) => {
                progress.record_result(slot, result.clone());
                // Save before observers see the result.
                save(context, progress).await?;
                context.emit(|| AgentEvent::ToolFinished { step, result });
            }
        }
    }
    match undecided {
        Some(call) => Err(StopReason::Suspended(call)),
        None => Ok(()),
    }
}

async fn run_call(context: &RunContext, step: usize, waiting: PendingCall) -> (usize, CallOutcome) {
    let PendingCall {
        slot,
        call,
        prepared,
    } = waiting;
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(rejected) => return (slot, CallOutcome::Result(rejected)),
    };
    let outcome = match decide(context, &call).await {
        Decision::Suspend => CallOutcome::Undecided(call),
        Decision::Deny(reason) => {
            let text = format!("This call was not allowed: {reason}");
            CallOutcome::Result(ToolResult::error(&call, text))
        }
        Decision::Allow => {
            context.emit(|| AgentEvent::ToolStarted { step, call });
            CallOutcome::Result(prepared.run().await)
        }
    };
    (slot, outcome)
}

async fn decide(context: &RunContext, call: &ToolCall) -> Decision {
    let Some(approve) = &context.config.approve else {
        return Decision::Allow;
    };
    let decision = AssertUnwindSafe(async { approve.approve(call).await });
    // Fail closed.
    let closed = |_| Decision::Deny("the approval check panicked".into());
    decision.catch_unwind().await.unwrap_or_else(closed)
}
