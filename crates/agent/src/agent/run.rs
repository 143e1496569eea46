//! One run of an agent.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{BoxFuture, Message, Part, Request};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::builder::{AgentConfig, Observer, RequestOptions};
use super::drive::{RunContext, drive};
use super::final_answer::find_substantial_answer;
use super::{
    AgentError, AgentEvent, Checkpoint, CheckpointStore, RunOutcome, RunStream, Steer, StopReason,
};

/// A run of an [`Agent`](super::Agent). Await it, or [`stream`](Run::stream) it.
///
/// Dropping its future stops the model call and all tools. To get the partial result as
/// well, use [`Run::cancel`].
#[must_use = "runs do nothing unless awaited or streamed"]
pub struct Run {
    config: Arc<AgentConfig>,
    progress: Checkpoint,
    options: Option<RequestOptions>,
    observers: Vec<Observer>,
    steer: Option<Steer>,
    store: Option<Arc<dyn CheckpointStore>>,
    cancel: Option<CancellationToken>,
    timeout: Option<Duration>,
    streamed: bool,
}

impl Run {
    pub(super) fn new(config: Arc<AgentConfig>, progress: Checkpoint) -> Self {
        Self {
            config,
            progress,
            options: None,
            observers: Vec::new(),
            steer: None,
            store: None,
            cancel: None,
            timeout: None,
            streamed: false,
        }
    }

    /// Prepends an earlier conversation.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.progress.prepend(messages.into_iter().collect());
        self
    }

    /// Adds a part, such as an image, to the input. For a resumed run it becomes a new user
    /// message.
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        self.progress.add_input(part.into());
        self
    }

    /// Configures every request of this run, after the agent's options.
    pub fn options(mut self, set: impl Fn(Request) -> Request + Send + Sync + 'static) -> Self {
        self.options = Some(Arc::new(set));
        self
    }

    /// Observes the events of this run. Panics are ignored.
    pub fn observe(mut self, observer: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Accepts messages during the run.
    pub fn steer(mut self, steer: Steer) -> Self {
        self.steer = Some(steer);
        self
    }

    /// Saves checkpoints to a store.
    pub fn checkpoints(mut self, store: impl CheckpointStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Ends the run when the token is cancelled. The error carries the result so far.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Sets the timeout for the whole run, including all tools.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Streams the run's events, including text deltas.
    pub fn stream(mut self) -> RunStream {
        self.streamed = true;
        RunStream::new(self)
    }

    async fn finish(self) -> Result<RunOutcome, AgentError> {
        let deadline = self.timeout.and_then(|t| Instant::now().checked_add(t));
        let context = RunContext {
            base: base_request(&self.config, self.options.as_ref()),
            config: self.config,
            observers: self.observers,
            steer: self.steer,
            store: self.store,
            deadline,
            streamed: self.streamed,
        };
        let mut progress = self.progress;
        let mut unfinished = String::new();
        let end = tokio::select! {
            biased;
            () = cancelled(self.cancel) => Err(StopReason::Cancelled),
            () = passed(deadline) => Err(StopReason::Deadline),
            end = drive(&context, &mut progress, &mut unfinished) => end,
        };
        match end {
            Ok(()) => Ok(outcome(&context.config, progress, unfinished)),
            Err(reason) => {
                let so_far = outcome(&context.config, progress.clone(), unfinished);
                Err(AgentError::new(reason, so_far, progress))
            }
        }
    }
}

/// Boxed, because the future of a run is large.
impl IntoFuture for Run {
    type Output = Result<RunOutcome, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}

fn base_request(config: &AgentConfig, run_options: Option<&RequestOptions>) -> Request {
    let mut request = Request::default();
    for set in config.options.iter().chain(run_options) {
        request = set(request);
    }
    let prompt = request.edit();
    prompt.system.splice(0..0, config.system.clone());
    prompt.tools.extend(config.toolbox.definitions().cloned());
    prompt.messages.clear();
    request
}

fn outcome(config: &AgentConfig, mut progress: Checkpoint, unfinished: String) -> RunOutcome {
    progress.close_results("The run ended before this tool returned a result.");
    let run = &progress.messages[progress.run_start.min(progress.messages.len())..];
    let latest_first = progress.steps.iter().rev();
    let mut output = latest_first
        .filter_map(|step| progress.messages.get(step.messages.start))
        .map(Message::text)
        .find(|text| progress.finished || !text.trim().is_empty())
        .unwrap_or_default();
    if progress.finished && config.recover_final_answer {
        output = find_substantial_answer(run, &output).unwrap_or(output);
    }
    RunOutcome {
        output,
        messages: progress.messages,
        steps: progress.steps,
        usage: progress.usage,
        unfinished,
    }
}

async fn cancelled(token: Option<CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

fn passed(deadline: Option<Instant>) -> impl Future<Output = ()> {
    // Boxed, so that runs without a deadline do not pay for a timer.
    let timer = deadline.map(|at| Box::pin(sleep_until(at)));
    async {
        match timer {
            Some(timer) => timer.await,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("messages", &self.progress.messages.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
