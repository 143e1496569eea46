//! Some tools, in order, each under its own name.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Tool, ToolCall, ToolResult};
use serde_json::Value;
use thiserror::Error;

use super::Function;
use super::call::{Prepared, failure};
use crate::schema::Checker;

/// The longest name that all providers take.
const LONGEST_NAME: usize = 64;

/// Tools in the order in which they were added. Cheap to clone and to share.
///
/// ```
/// use majordomo::agent::{Function, NoArguments, Toolbox};
///
/// let ping = || Function::new("ping", "Says pong.", |_: NoArguments| async {
///     Ok::<_, String>("pong")
/// });
/// let mut toolbox = Toolbox::new([ping()]).unwrap();
/// let error = toolbox.add(ping()).unwrap_err();
/// assert_eq!(error.to_string(), "two tools are named `ping`; rename one of them");
/// ```
#[derive(Clone, Default)]
pub struct Toolbox {
    entries: Arc<Vec<Arc<Entry>>>,
}

/// A tool with its schema compiled.
pub(super) struct Entry {
    pub(super) function: Function,
    /// None: the tool said nothing about its arguments.
    pub(super) checker: Option<Checker>,
}

/// Why a tool cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolboxError {
    /// The name is taken.
    #[error("two tools are named `{name}`; rename one of them")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Providers would refuse the name.
    #[error("`{name}` is no tool name; use 1 to 64 letters, digits, `_` and `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// The arguments' schema cannot be used.
    #[error("the schema of the tool `{name}` cannot be used: {reason}")]
    Schema {
        /// The tool's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Toolbox {
    /// A toolbox of these tools.
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::default();
        for function in functions {
            toolbox.add(function)?;
        }
        Ok(toolbox)
    }

    /// Adds a tool at the end.
    pub fn add(&mut self, function: Function) -> Result<(), ToolboxError> {
        let entry = Arc::new(Entry::new(function)?);
        self.push(entry)
    }

    /// Adds all tools of another box at the end, or none of them.
    pub fn extend(&mut self, other: &Self) -> Result<(), ToolboxError> {
        let mut joined = self.clone();
        for entry in other.entries.iter() {
            joined.push(Arc::clone(entry))?;
        }
        *self = joined;
        Ok(())
    }

    /// What the model is told, in order.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.entries.iter().map(|entry| &entry.function.tool)
    }

    /// Whether there is no tool in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Runs a call. This never panics: whatever goes wrong is an error result
    /// that the model can act on. Dropping the future stops the tool.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        match self.prepare(call) {
            Ok(prepared) => prepared.run().await,
            Err(refused) => refused,
        }
    }

    /// Finds the tool and checks the arguments, without running anything.
    pub(crate) fn prepare(&self, call: &ToolCall) -> Result<Prepared, ToolResult> {
        match self.find(&call.name) {
            Some(entry) => Prepared::new(entry, call),
            None => Err(failure(call, &self.unknown(&call.name))),
        }
    }

    /// Exact names only: a guess would run something that nobody asked for.
    fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries
            .iter()
            .find(|entry| entry.function.tool.name == name)
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.definitions().map(|tool| tool.name.as_str()).collect();
        if names.is_empty() {
            return format!("There is no tool named `{name}`, and no other. Answer without tools.");
        }
        format!(
            "There is no tool named `{name}`. The tools are: {}.",
            names.join(", ")
        )
    }

    fn push(&mut self, entry: Arc<Entry>) -> Result<(), ToolboxError> {
        let name = &entry.function.tool.name;
        if self.find(name).is_some() {
            return Err(ToolboxError::Duplicate { name: name.clone() });
        }
        Arc::make_mut(&mut self.entries).push(entry);
        Ok(())
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.definitions().map(|tool| &tool.name))
            .finish()
    }
}

impl Entry {
    fn new(function: Function) -> Result<Self, ToolboxError> {
        let tool = &function.tool;
        if !is_name(&tool.name) {
            return Err(ToolboxError::Name {
                name: tool.name.clone(),
            });
        }
        let checker = match &tool.parameters {
            None => None,
            Some(schema) => {
                let compiled = schema
                    .to::<Value>()
                    .map_err(|error| error.to_string())
                    .and_then(|schema| takes_objects(&schema).and_then(|()| Checker::new(&schema)));
                Some(compiled.map_err(|reason| ToolboxError::Schema {
                    name: tool.name.clone(),
                    reason,
                })?)
            }
        };
        Ok(Self { function, checker })
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed)
}

/// Models send arguments by name, so only an object can receive them.
fn takes_objects(schema: &Value) -> Result<(), String> {
    match schema.get("type") {
        Some(kind) if kind != "object" => Err(format!(
            "arguments are named, so it must describe an object and not {kind}"
        )),
        _ => Ok(()),
    }
}
