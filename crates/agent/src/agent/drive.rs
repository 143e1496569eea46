//! The agent loop.
//!
//! Its future may be dropped at any await point: all durable state is in the checkpoint,
//! which is consistent at every await point.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use majordomo_llm::{ModelExt, Request, Response, StreamItem};
use tokio::time::Instant;

use super::builder::{AgentConfig, Observer};
use super::call_ids::make_ids_unique;
use super::checkpoint::CompactedStart;
use super::event::emit;
use super::run_calls::run_calls;
use super::{AgentEvent, Checkpoint, CheckpointStore, Steer, StopReason};
use crate::compact::{Compacted, CompactionInput};
use crate::transcript::check_transcript;

/// The parameters of a run.
pub(super) struct RunContext {
    pub(super) config: Arc<AgentConfig>,
    /// System prompt, tools and options, without messages.
    pub(super) base: Request,
    pub(super) observers: Vec<Observer>,
    pub(super) steer: Option<Steer>,
    pub(super) store: Option<Arc<dyn CheckpointStore>>,
    pub(super) deadline: Option<Instant>,
    pub(super) streamed: bool,
}

impl RunContext {
    pub(super) fn emit(&self, event: impl FnOnce() -> AgentEvent) {
        emit(self.config.observers.iter().chain(&self.observers), event);
    }
}

/// Runs until the model gives its final answer or the run must stop. `unfinished` receives the
/// text of a response that is still streaming.
pub(super) async fn drive(
    context: &RunContext,
    progress: &mut Checkpoint,
    unfinished: &mut String,
) -> Result<(), StopReason> {
    loop {
        if progress.results.is_some() {
            run_calls(context, progress).await?;
            progress.close_results("The tool returned no result.");
            let run = &progress.messages[progress.run_start..];
            let looping = context.config.guards.check(run);
            looping.map_err(StopReason::ToolLoop)?;
        }
        if progress.finished {
            return Ok(());
        }
        let limit = (context.config.max_steps)();
        if progress.steps.len() >= limit as usize {
            return Err(StopReason::MaxSteps(limit));
        }
        steer(context, progress);
        let request = request(context, progress).await;
        let mut response = call_model(context, progress, unfinished, request).await?;
        make_ids_unique(&mut response, &progress.messages);
        progress.record_response(&response);
        save(context, progress).await?;
        context.emit(|| AgentEvent::ModelFinished {
            step: progress.step(),
            response: Box::new(response),
        });
    }
}

/// Saves the checkpoint. Called before anything acts on its latest state.
pub(super) async fn save(context: &RunContext, progress: &Checkpoint) -> Result<(), StopReason> {
    match &context.store {
        None => Ok(()),
        Some(store) => store
            .save(progress)
            .await
            .map_err(|error| StopReason::Checkpoint(error.to_string())),
    }
}

fn steer(context: &RunContext, progress: &mut Checkpoint) {
    let steered = context.steer.as_ref().map(Steer::take).unwrap_or_default();
    if !steered.is_empty() {
        context.emit(|| AgentEvent::Steered {
            step: progress.steps.len(),
            messages: steered.len(),
        });
        progress.messages.extend(steered);
    }
}

/// Builds the next request from the transcript, compacted if necessary.
async fn request(context: &RunContext, progress: &mut Checkpoint) -> Request {
    let full = with_messages(context, progress);
    let Some(compact) = &context.config.compact else {
        return full;
    };
    let step = progress.steps.len();
    let conversation = CompactionInput {
        model: &*context.config.model,
        request: &full,
    };
    let failed = |reason: String| context.emit(|| AgentEvent::CompactionFailed { step, reason });
    let work = AssertUnwindSafe(async { compact.compact(conversation).await });
    let Compacted { messages, usage } = match work.catch_unwind().await {
        Ok(Ok(Some(compacted))) => compacted,
        Ok(Ok(None)) => return full,
        Ok(Err(error)) => {
            failed(error.to_string());
            return full;
        }
        Err(_) => {
            failed("the compactor panicked".into());
            return full;
        }
    };
    progress.usage += usage;
    if let Err(problem) = check_transcript(&messages) {
        failed(problem);
        return full;
    }
    context.emit(|| AgentEvent::Compacted {
        step,
        before: full.prompt().messages.len(),
        after: messages.len(),
    });
    progress.compacted = Some(CompactedStart {
        messages,
        replaces: progress.messages.len(),
    });
    with_messages(context, progress)
}

fn with_messages(context: &RunContext, progress: &Checkpoint) -> Request {
    let mut request = context.base.clone();
    request.edit().messages = progress.to_send();
    let left = context.deadline.map(|at| at - Instant::now());
    let limits = [left, request.options().timeout];
    match limits.into_iter().flatten().min() {
        Some(limit) => request.timeout(limit),
        None => request,
    }
}

async fn call_model(
    context: &RunContext,
    progress: &mut Checkpoint,
    unfinished: &mut String,
    request: Request,
) -> Result<Response, StopReason> {
    let step = progress.steps.len();
    context.emit(|| AgentEvent::ModelStarted { step });
    let model = &context.config.model;
    let response = if context.streamed && model.capabilities().streaming {
        stream_response(context, unfinished, request).await
    } else {
        model.generate(request).await
    };
    response.map_err(|error| {
        // A partial response is billed as well.
        progress.usage += error.partial().map(|p| p.usage).unwrap_or_default();
        StopReason::Model(error)
    })
}

async fn stream_response(
    context: &RunContext,
    unfinished: &mut String,
    request: Request,
) -> majordomo_llm::Result<Response> {
    unfinished.clear();
    let mut stream = context.config.model.stream(request).await?;
    while let Some(item) = stream.next().await {
        match item? {
            StreamItem::Text(delta) => {
                unfinished.push_str(&delta);
                context.emit(|| AgentEvent::Text(delta));
            }
            StreamItem::Reasoning(delta) => context.emit(|| AgentEvent::Reasoning(delta)),
            StreamItem::Response(response) => {
                unfinished.clear();
                return Ok(*response);
            }
            _ => {}
        }
    }
    stream.finish().await
}
