//! The loop itself.
//!
//! It may be dropped at any await: everything that must survive is in the
//! checkpoint, which is consistent at each of them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use majordomo_llm::{Request, Response, StreamItem};
use tokio::time::Instant;

use super::answer_calls::answer_calls;
use super::builder::{Config, Observer};
use super::checkpoint::CompactedStart;
use super::event::tell;
use super::unique_ids::make_unique;
use super::{AgentEvent, Checkpoint, CheckpointStore, Steer, StopReason};
use crate::compact::{Compacted, CompactionInput};
use crate::transcript::check_transcript;

/// What a run was started with.
pub(super) struct Context {
    pub(super) config: Arc<Config>,
    /// System, tools and options, without messages.
    pub(super) base: Request,
    pub(super) observers: Vec<Observer>,
    pub(super) steer: Option<Steer>,
    pub(super) store: Option<Arc<dyn CheckpointStore>>,
    pub(super) deadline: Option<Instant>,
    pub(super) streamed: bool,
}

impl Context {
    pub(super) fn tell(&self, event: impl FnOnce() -> AgentEvent) {
        tell(self.config.observers.iter().chain(&self.observers), event);
    }
}

/// Goes on until there is a final answer, or a reason to stop. `unfinished`
/// holds the text of an answer that is still coming.
pub(super) async fn drive(
    context: &Context,
    progress: &mut Checkpoint,
    unfinished: &mut String,
) -> Result<(), StopReason> {
    loop {
        if progress.results.is_some() {
            answer_calls(context, progress).await?;
            progress.close_results("The tool gave no result.");
            let run = &progress.messages[progress.run_start..];
            let looping = context.config.guards.check(run);
            looping.map_err(StopReason::ToolLoop)?;
        }
        if progress.finished {
            return Ok(());
        }
        let ceiling = (context.config.max_steps)();
        if progress.steps.len() >= ceiling as usize {
            return Err(StopReason::MaxSteps(ceiling));
        }
        steer(context, progress);
        let request = request(context, progress).await;
        let mut response = ask(context, progress, unfinished, request).await?;
        make_unique(&mut response, &progress.messages);
        progress.answered(&response);
        save(context, progress).await?;
        context.tell(|| AgentEvent::ModelFinished {
            step: progress.step(),
            response: Box::new(response),
        });
    }
}

/// Saves where the run stands, before anything is done with what is new.
pub(super) async fn save(context: &Context, progress: &Checkpoint) -> Result<(), StopReason> {
    match &context.store {
        None => Ok(()),
        Some(store) => store
            .save(progress)
            .await
            .map_err(|error| StopReason::Checkpoint(error.to_string())),
    }
}

fn steer(context: &Context, progress: &mut Checkpoint) {
    let said = context.steer.as_ref().map(Steer::take).unwrap_or_default();
    if !said.is_empty() {
        context.tell(|| AgentEvent::Steered {
            step: progress.steps.len(),
            messages: said.len(),
        });
        progress.messages.extend(said);
    }
}

/// What is sent: the transcript, or a shorter one.
async fn request(context: &Context, progress: &mut Checkpoint) -> Request {
    let full = with_messages(context, progress);
    let Some(compact) = &context.config.compact else {
        return full;
    };
    let step = progress.steps.len();
    let conversation = CompactionInput {
        model: &*context.config.model,
        request: &full,
    };
    let failed = |reason: String| context.tell(|| AgentEvent::CompactionFailed { step, reason });
    let work = AssertUnwindSafe(async { compact.compact(conversation).await });
    let Compacted { messages, usage } = match work.catch_unwind().await {
        Ok(Ok(Some(compacted))) => compacted,
        Ok(Ok(None)) => return full,
        Ok(Err(error)) => {
            failed(error.to_string());
            return full;
        }
        Err(_) => {
            failed("it panicked".into());
            return full;
        }
    };
    progress.usage += usage;
    if let Err(problem) = check_transcript(&messages) {
        failed(problem);
        return full;
    }
    context.tell(|| AgentEvent::Compacted {
        step,
        before: full.messages.len(),
        after: messages.len(),
    });
    progress.compacted = Some(CompactedStart {
        messages,
        replaces: progress.messages.len(),
    });
    with_messages(context, progress)
}

fn with_messages(context: &Context, progress: &Checkpoint) -> Request {
    let mut request = context.base.clone();
    request.edit().messages = progress.to_send();
    let left = context.deadline.map(|at| at - Instant::now());
    let limits = [left, request.get_timeout()];
    match limits.into_iter().flatten().min() {
        Some(limit) => request.timeout(limit),
        None => request,
    }
}

async fn ask(
    context: &Context,
    progress: &mut Checkpoint,
    unfinished: &mut String,
    request: Request,
) -> Result<Response, StopReason> {
    let step = progress.steps.len();
    context.tell(|| AgentEvent::ModelStarted { step });
    let model = &context.config.model;
    let answer = if context.streamed && model.capabilities().streaming {
        listen(context, unfinished, request).await
    } else {
        model.generate(request).await
    };
    answer.map_err(|error| {
        // What broke off was paid for as well.
        progress.usage += error.partial().map(|p| p.usage).unwrap_or_default();
        StopReason::Model(error)
    })
}

async fn listen(
    context: &Context,
    unfinished: &mut String,
    request: Request,
) -> majordomo_llm::Result<Response> {
    unfinished.clear();
    let mut stream = context.config.model.stream(request).await?;
    while let Some(item) = stream.next().await {
        match item? {
            StreamItem::Text(delta) => {
                unfinished.push_str(&delta);
                context.tell(|| AgentEvent::Text(delta));
            }
            StreamItem::Reasoning(delta) => context.tell(|| AgentEvent::Reasoning(delta)),
            StreamItem::ToolCall(_) => {}
            StreamItem::Response(response) => {
                unfinished.clear();
                return Ok(*response);
            }
        }
    }
    stream.finish().await
}
