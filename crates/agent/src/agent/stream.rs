//! Streamed runs.

use std::collections::VecDeque;
use std::fmt;
use std::future::{IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::BoxFuture;

use super::{AgentError, AgentEvent, Run, RunOutcome};

/// The events of a run, followed by its outcome. Dropping it stops the run.
///
/// ```
/// # use majordomo::agent::{Agent, AgentError, AgentEvent, RunOutcome};
/// async fn watch(agent: &Agent) -> Result<RunOutcome, AgentError> {
///     let mut run = agent.run("Tell me a story.").stream();
///     while let Some(event) = run.next().await {
///         if let AgentEvent::Text(delta) = event {
///             print!("{delta}");
///         }
///     }
///     run.finish().await
/// }
/// ```
pub struct RunStream {
    run: RunState,
    events: Arc<Mutex<VecDeque<AgentEvent>>>,
}

enum RunState {
    Running(BoxFuture<'static, Result<RunOutcome, AgentError>>),
    Done(Box<Result<RunOutcome, AgentError>>),
}

impl RunStream {
    pub(super) fn new(run: Run) -> Self {
        let events = Arc::new(Mutex::new(VecDeque::new()));
        let queue = Arc::clone(&events);
        let run = run.observe(move |event| {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.push_back(event.clone());
        });
        Self {
            run: RunState::Running(run.into_future()),
            events,
        }
    }

    /// Returns the next event, or `None` when the run has ended.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Completes the run and returns its outcome, discarding remaining events.
    pub async fn finish(self) -> Result<RunOutcome, AgentError> {
        match self.run {
            RunState::Running(run) => run.await,
            RunState::Done(result) => *result,
        }
    }

    fn take(&self) -> Option<AgentEvent> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.pop_front()
    }
}

impl Stream for RunStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        if let Some(event) = self.take() {
            return Poll::Ready(Some(event));
        }
        if let RunState::Running(run) = &mut self.run
            && let Poll::Ready(result) = run.as_mut().poll(cx)
        {
            self.run = RunState::Done(Box::new(result));
        }
        match (self.take(), &self.run) {
            (Some(event), _) => Poll::Ready(Some(event)),
            (None, RunState::Done(_)) => Poll::Ready(None),
            (None, RunState::Running(_)) => Poll::Pending,
        }
    }
}

impl fmt::Debug for RunStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream")
            .field("ended", &matches!(self.run, RunState::Done(_)))
            .finish_non_exhaustive()
    }
}
