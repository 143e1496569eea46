//! The agent loop: ask the model, run the tools that it asks for, ask again.
//!
//! The loop never panics and never loses what was done: whatever ends a run, the
//! caller gets the transcript so far, valid for every provider, and a checkpoint
//! to go on from. It starts no task: tools run side by side inside the run's own
//! future, so dropping that stops everything.

mod answer_calls;
mod approve;
mod builder;
mod checkpoint;
mod drive;
mod event;
mod guard;
mod outcome;
mod recover;
mod run;
mod steer;
mod stream;
mod unique_ids;

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Message, Model, Part};

pub use approve::{Approve, Decision};
pub use builder::AgentBuilder;
use builder::Config;
pub use checkpoint::{AgentStep, Checkpoint, CheckpointStore};
pub use event::AgentEvent;
pub use outcome::{AgentError, RunOutcome, StopReason};
pub use run::Run;
pub use steer::Steer;
pub use stream::RunStream;

/// A model with instructions, tools and skills. Cheap to clone; one agent serves
/// any number of runs at once.
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
/// let agent = Agent::builder(registry.parse("fp/m")?)
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
    config: Arc<Config>,
}

impl Agent {
    /// An agent on this model; more is set on the builder.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// As [`Agent::builder`], for a model that is shared already.
    pub fn builder_on(model: Arc<dyn Model>) -> AgentBuilder {
        AgentBuilder::new(model)
    }

    /// Asks the agent something. The run begins when it is awaited or streamed.
    pub fn run(&self, input: impl Into<Part>) -> Run {
        let progress = Checkpoint::new(Message::user(input));
        Run::new(Arc::clone(&self.config), progress)
    }

    /// Goes on where a run ended. Tools that reported a result before are not run
    /// again.
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
