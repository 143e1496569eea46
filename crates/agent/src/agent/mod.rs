//! The agent loop: call the model, run the tools that it requests, repeat.
//!
//! The loop never panics and never loses work: however a run ends, the caller gets the
//! transcript so far, valid for every provider, and a checkpoint to resume from. It
//! spawns no tasks: tools run concurrently inside the run's future, so dropping it stops
//! everything.

mod approve;
mod builder;
mod call_ids;
mod checkpoint;
mod drive;
mod event;
mod final_answer;
mod loop_guard;
mod outcome;
mod run;
mod run_calls;
mod steer;
mod stream;

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Message, Model, Part};

pub use approve::{Approve, Decision};
pub use builder::AgentBuilder;
use builder::AgentConfig;
pub use checkpoint::{AgentStep, Checkpoint, CheckpointStore};
pub use event::AgentEvent;
pub use outcome::{AgentError, RunOutcome, StopReason};
pub use run::Run;
pub use steer::Steer;
pub use stream::RunStream;

/// A model with instructions, tools and skills. Cheap to clone; one agent serves any
/// number of concurrent runs.
///
/// ```
/// use majordomo::agent::{Agent, tool};
/// use majordomo::fake::{Fake, Step};
/// use majordomo::{Part, Registry, Response, ToolCall};
///
/// /// Adds two whole numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fake = Fake::new("fp");
/// # let call = ToolCall::new("call_0", "add", r#"{"a": 2, "b": 3}"#);
/// # fake.enqueue("m", [
/// #     Step::respond(Response::new(vec![Part::ToolCall(call)])),
/// #     Step::reply("It is 5."),
/// # ]);
/// # let registry = Registry::empty();
/// # registry.register(fake);
/// let agent = Agent::builder(registry.model("fp/m")?)
///     .system("You are good at sums.")
///     .tool(add())
///     .build()?;
/// let outcome = agent.run("What is 2 + 3?").await?;
/// assert_eq!(outcome.output, "It is 5.");
/// assert_eq!(outcome.steps.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Agent {
    config: Arc<AgentConfig>,
}

impl Agent {
    /// Starts building an agent with this model.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// Like [`Agent::builder`], with a shared model.
    pub fn builder_on(model: Arc<dyn Model>) -> AgentBuilder {
        AgentBuilder::new(model)
    }

    /// Creates a run with this input. It starts when awaited or streamed.
    pub fn run(&self, input: impl Into<Part>) -> Run {
        let progress = Checkpoint::new(Message::user(input));
        Run::new(Arc::clone(&self.config), progress)
    }

    /// Creates a run that continues from a checkpoint. Tools whose results are recorded are
    /// not run again.
    pub fn resume(&self, checkpoint: Checkpoint) -> Run {
        Run::new(Arc::clone(&self.config), checkpoint)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.config.model.name())
            .field("toolbox", &self.config.toolbox)
            .finish_non_exhaustive()
    }
}
