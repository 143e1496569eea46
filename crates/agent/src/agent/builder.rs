//! Configuration of agents.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Model, Request, Text};

use super::loop_guard::LoopGuards;
use super::{Agent, AgentEvent, Approve};
use crate::compact::Compact;
use crate::{Function, Skill, Toolbox, ToolboxError};

const DEFAULT_STEPS: u32 = 10;
const DEFAULT_PARALLEL: usize = 8;

/// Returns the maximum number of steps; evaluated before each step.
pub(super) type StepLimit = Arc<dyn Fn() -> u32 + Send + Sync>;
/// Configures every request of a run.
pub(super) type RequestOptions = Arc<dyn Fn(Request) -> Request + Send + Sync>;
/// Receives the events of a run.
pub(super) type Observer = Arc<dyn Fn(&AgentEvent) + Send + Sync>;

/// The configuration shared by all runs of an agent.
pub(super) struct AgentConfig {
    pub(super) model: Arc<dyn Model>,
    pub(super) system: Option<Text>,
    pub(super) toolbox: Toolbox,
    pub(super) max_steps: StepLimit,
    pub(super) parallel: usize,
    pub(super) options: Option<RequestOptions>,
    pub(super) observers: Vec<Observer>,
    pub(super) approve: Option<Arc<dyn Approve>>,
    pub(super) compact: Option<Arc<dyn Compact>>,
    pub(super) guards: LoopGuards,
    pub(super) recover_final_answer: bool,
}

/// Builds an [`Agent`].
#[must_use = "call `build` to create the agent"]
pub struct AgentBuilder {
    config: AgentConfig,
    /// Joined with blank lines, in order.
    instructions: Vec<String>,
    /// The first error, returned by `build`.
    error: Option<ToolboxError>,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            config: AgentConfig {
                model,
                system: None,
                toolbox: Toolbox::default(),
                max_steps: Arc::new(|| DEFAULT_STEPS),
                parallel: DEFAULT_PARALLEL,
                options: None,
                observers: Vec::new(),
                approve: None,
                compact: None,
                guards: LoopGuards::default(),
                recover_final_answer: false,
            },
            instructions: Vec::new(),
            error: None,
        }
    }

    /// Adds instructions to the system prompt.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, function: Function) -> Self {
        let added = self.config.toolbox.add(function);
        self.record(added)
    }

    /// Adds all tools of a toolbox.
    pub fn toolbox(mut self, toolbox: &Toolbox) -> Self {
        let added = self.config.toolbox.extend(toolbox);
        self.record(added)
    }

    /// Adds a skill's instructions and tools.
    pub fn skill(mut self, skill: &(impl Skill + ?Sized)) -> Self {
        self.instructions.push(skill.instructions().to_owned());
        match skill.toolbox() {
            Some(toolbox) => self.toolbox(toolbox),
            None => self,
        }
    }

    /// Sets the maximum number of model calls per run. The default is 10.
    pub fn max_steps(self, steps: u32) -> Self {
        self.max_steps_with(move || steps)
    }

    /// Sets a limit that may change during a run; evaluated before each step.
    pub fn max_steps_with(mut self, limit: impl Fn() -> u32 + Send + Sync + 'static) -> Self {
        self.config.max_steps = Arc::new(limit);
        self
    }

    /// Sets how many tools run concurrently. The default is 8, the minimum 1.
    pub fn parallel(mut self, tools: usize) -> Self {
        self.config.parallel = tools.max(1);
        self
    }

    /// Configures every request: temperature, effort, token limit.
    ///
    /// The agent replaces the messages, and adds its tools and instructions to those set
    /// here.
    pub fn options(mut self, set: impl Fn(Request) -> Request + Send + Sync + 'static) -> Self {
        self.config.options = Some(Arc::new(set));
        self
    }

    /// Observes the events of all runs. Panics are ignored.
    pub fn observe(mut self, observer: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.config.observers.push(Arc::new(observer));
        self
    }

    /// Requires approval of each tool call.
    pub fn approve(mut self, gate: impl Approve + 'static) -> Self {
        self.config.approve = Some(Arc::new(gate));
        self
    }

    /// Compacts long conversations before they are sent.
    pub fn compact(mut self, compact: impl Compact + 'static) -> Self {
        self.config.compact = Some(Arc::new(compact));
        self
    }

    /// Ends a run after this many consecutive steps in which all tools failed.
    pub fn max_consecutive_tool_errors(mut self, steps: u32) -> Self {
        self.config.guards.consecutive_errors = Some(steps);
        self
    }

    /// Ends a run after this many calls of one tool with the same arguments.
    pub fn max_same_call(mut self, times: u32) -> Self {
        self.config.guards.same_call = Some(times);
        self
    }

    /// Returns the last substantial text of the run if the final response is empty or only
    /// refers back ("see above").
    ///
    /// Off by default, because it matches English phrases.
    pub fn recover_final_answer(mut self, on: bool) -> Self {
        self.config.recover_final_answer = on;
        self
    }

    /// Creates the agent.
    ///
    /// # Errors
    ///
    /// Fails if two tools share a name or a schema is invalid.
    pub fn build(mut self) -> Result<Agent, ToolboxError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.instructions.retain(|text| !text.trim().is_empty());
        if !self.instructions.is_empty() {
            self.config.system = Some(Text::new(self.instructions.join("\n\n")));
        }
        Ok(Agent {
            config: Arc::new(self.config),
        })
    }

    fn record(mut self, added: Result<(), ToolboxError>) -> Self {
        self.error = self.error.or(added.err());
        self
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("model", &self.config.model.name())
            .field("toolbox", &self.config.toolbox)
            .finish_non_exhaustive()
    }
}
