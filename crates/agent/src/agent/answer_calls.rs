//! Answers all calls of one answer, side by side, each exactly once.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use majordomo_llm::{ToolCall, ToolResult};

use super::drive::{Context, save};
use super::{AgentEvent, Checkpoint, Decision, StopReason};
use crate::tools::Prepared;

/// A call on its way to its result.
struct Waiting {
    place: usize,
    call: ToolCall,
    /// Or why it cannot run.
    prepared: Result<Prepared, ToolResult>,
}

/// A call that came back.
enum Answered {
    Result(ToolResult),
    /// Nobody decided; it stays open.
    Undecided(ToolCall),
}

impl Waiting {
    fn is_alone(&self) -> bool {
        self.prepared.as_ref().is_ok_and(Prepared::is_alone)
    }
}

/// Runs what is open. Calls start in order; one that wants to be alone waits for
/// those before it and holds up those after it.
pub(super) async fn answer_calls(
    context: &Context,
    progress: &mut Checkpoint,
) -> Result<(), StopReason> {
    let step = progress.step();
    let mut waiting: VecDeque<Waiting> = progress
        .open_calls()
        .into_iter()
        .map(|(place, call)| Waiting {
            prepared: context.config.toolbox.prepare(&call),
            place,
            call,
        })
        .collect();
    let mut running = FuturesUnordered::new();
    let mut one_is_alone = false;
    let mut undecided = None;
    loop {
        while undecided.is_none()
            && running.len() < context.config.parallel
            && !one_is_alone
            && let Some(next) = waiting.front()
            && (running.is_empty() || !next.is_alone())
            && let Some(next) = waiting.pop_front()
        {
            one_is_alone = next.is_alone();
            running.push(answer(context, step, next));
        }
        let Some((place, answered)) = running.next().await else {
            break;
        };
        one_is_alone = false;
        match answered {
            Answered::Undecided(call) => undecided = Some(call),
            Answered::Result(result) => {
                progress.record(place, result.clone());
                // Saved before anybody hears of it.
                save(context, progress).await?;
                context.tell(|| AgentEvent::ToolFinished { step, result });
            }
        }
    }
    match undecided {
        Some(call) => Err(StopReason::Suspended(call)),
        None => Ok(()),
    }
}

async fn answer(context: &Context, step: usize, waiting: Waiting) -> (usize, Answered) {
    let Waiting {
        place,
        call,
        prepared,
    } = waiting;
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(refused) => return (place, Answered::Result(refused)),
    };
    let answered = match decide(context, &call).await {
        Decision::Suspend => Answered::Undecided(call),
        Decision::Deny(reason) => {
            let text = format!("This call was not allowed: {reason}");
            Answered::Result(ToolResult::error(&call, text))
        }
        Decision::Allow => {
            context.tell(|| AgentEvent::ToolStarted { step, call });
            Answered::Result(prepared.run().await)
        }
    };
    (place, answered)
}

async fn decide(context: &Context, call: &ToolCall) -> Decision {
    let Some(gate) = &context.config.approve else {
        return Decision::Allow;
    };
    let decision = AssertUnwindSafe(async { gate.approve(call).await });
    // A gate that breaks is a closed one.
    let closed = |_| Decision::Deny("the check of calls broke".into());
    decision.catch_unwind().await.unwrap_or_else(closed)
}
