//! How an agent is put together.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Model, Request, Text};

use super::guard::Guards;
use super::{Agent, AgentEvent, Approve};
use crate::compact::Compact;
use crate::{Function, Skill, Toolbox, ToolboxError};

/// As in the original.
const DEFAULT_STEPS: u32 = 10;
/// Enough to be quick, few enough for a neighbour's rate limit.
const DEFAULT_PARALLEL: usize = 8;

/// Says how many steps a run may take; asked before each one.
pub(super) type Ceiling = Arc<dyn Fn() -> u32 + Send + Sync>;
/// Sets what every request of a run should say.
pub(super) type Options = Arc<dyn Fn(Request) -> Request + Send + Sync>;
/// Listens to a run.
pub(super) type Observer = Arc<dyn Fn(&AgentEvent) + Send + Sync>;

/// What all runs of an agent share.
pub(super) struct Config {
    pub(super) model: Arc<dyn Model>,
    pub(super) system: Option<Text>,
    pub(super) toolbox: Toolbox,
    pub(super) max_steps: Ceiling,
    pub(super) parallel: usize,
    pub(super) options: Option<Options>,
    pub(super) observers: Vec<Observer>,
    pub(super) approve: Option<Arc<dyn Approve>>,
    pub(super) compact: Option<Arc<dyn Compact>>,
    pub(super) guards: Guards,
    pub(super) recover_final_answer: bool,
}

/// Puts an [`Agent`] together; see there for an example.
#[must_use = "an agent is made by `build`"]
pub struct AgentBuilder {
    config: Config,
    /// In order of attachment, joined with blank lines.
    instructions: Vec<String>,
    /// The first thing that went wrong; `build` tells.
    problem: Option<ToolboxError>,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            config: Config {
                model,
                system: None,
                toolbox: Toolbox::default(),
                max_steps: Arc::new(|| DEFAULT_STEPS),
                parallel: DEFAULT_PARALLEL,
                options: None,
                observers: Vec::new(),
                approve: None,
                compact: None,
                guards: Guards::default(),
                recover_final_answer: false,
            },
            instructions: Vec::new(),
            problem: None,
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
        self.note(added)
    }

    /// Adds all tools of a box.
    pub fn toolbox(mut self, toolbox: &Toolbox) -> Self {
        let added = self.config.toolbox.extend(toolbox);
        self.note(added)
    }

    /// Adds a skill: its instructions after those so far, and its tools.
    pub fn skill(mut self, skill: &(impl Skill + ?Sized)) -> Self {
        self.instructions.push(skill.instructions().to_owned());
        match skill.toolbox() {
            Some(toolbox) => self.toolbox(toolbox),
            None => self,
        }
    }

    /// How many times the model may be asked in one run; 10 unless set.
    pub fn max_steps(self, steps: u32) -> Self {
        self.max_steps_with(move || steps)
    }

    /// A ceiling that may change while a run goes on; asked before each step.
    pub fn max_steps_with(mut self, ceiling: impl Fn() -> u32 + Send + Sync + 'static) -> Self {
        self.config.max_steps = Arc::new(ceiling);
        self
    }

    /// How many tools of one answer run side by side; 8 unless set, at least 1.
    pub fn parallel(mut self, tools: usize) -> Self {
        self.config.parallel = tools.max(1);
        self
    }

    /// Sets what every request should say: temperature, effort, a token limit.
    /// Messages are the agent's own; tools and instructions are added to those
    /// set here.
    pub fn options(mut self, set: impl Fn(Request) -> Request + Send + Sync + 'static) -> Self {
        self.config.options = Some(Arc::new(set));
        self
    }

    /// Listens to all runs. A panic in it is swallowed.
    pub fn observe(mut self, listen: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.config.observers.push(Arc::new(listen));
        self
    }

    /// Asks before each tool call whether it may run.
    pub fn approve(mut self, gate: impl Approve + 'static) -> Self {
        self.config.approve = Some(Arc::new(gate));
        self
    }

    /// Shortens what is sent when a conversation grows long.
    pub fn compact(mut self, compact: impl Compact + 'static) -> Self {
        self.config.compact = Some(Arc::new(compact));
        self
    }

    /// Ends a run after so many steps in a row whose tools all failed.
    pub fn max_consecutive_tool_errors(mut self, steps: u32) -> Self {
        self.config.guards.consecutive_errors = Some(steps);
        self
    }

    /// Ends a run when the same call, with the same arguments, was made so often.
    pub fn max_same_call(mut self, times: u32) -> Self {
        self.config.guards.same_call = Some(times);
        self
    }

    /// When the last answer is empty or only points back ("see above"), gives the
    /// last substantial text of the run instead, as the original did. It judges
    /// by English phrases, so it is off unless asked for.
    pub fn recover_final_answer(mut self, on: bool) -> Self {
        self.config.recover_final_answer = on;
        self
    }

    /// The agent, unless two tools share a name or a schema is unusable.
    pub fn build(mut self) -> Result<Agent, ToolboxError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        self.instructions.retain(|text| !text.trim().is_empty());
        if !self.instructions.is_empty() {
            self.config.system = Some(Text::new(self.instructions.join("\n\n")));
        }
        Ok(Agent {
            config: Arc::new(self.config),
        })
    }

    fn note(mut self, added: Result<(), ToolboxError>) -> Self {
        self.problem = self.problem.or(added.err());
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
