//! Sets of tools with unique names.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Tool, ToolCall, ToolResult};
use serde_json::Value;
use thiserror::Error;

use super::Function;
use super::prepared_call::{PreparedCall, failure};
use crate::schema::SchemaChecker;

/// Maximum length of a name that all providers accept.
const MAX_NAME_LEN: usize = 64;

/// A set of tools, in order of insertion. Cheap to clone.
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
    entries: Arc<Vec<Arc<ToolEntry>>>,
}

/// A tool with its compiled schema.
pub(super) struct ToolEntry {
    pub(super) function: Function,
    /// `None` if the tool declares no schema.
    pub(super) checker: Option<SchemaChecker>,
}

/// Why a tool cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolboxError {
    /// The name is already in use.
    #[error("two tools are named `{name}`; rename one of them")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Providers would reject the name.
    #[error("`{name}` is not a valid tool name; use 1 to 64 letters, digits, `_` and `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// The schema of the arguments is invalid.
    #[error("the schema of the tool `{name}` is invalid: {reason}")]
    Schema {
        /// The tool's name.
        name: String,
        /// The reason.
        reason: String,
    },
}

impl Toolbox {
    /// Creates a toolbox.
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::default();
        for function in functions {
            toolbox.add(function)?;
        }
        Ok(toolbox)
    }

    /// Adds a tool.
    pub fn add(&mut self, function: Function) -> Result<(), ToolboxError> {
        let entry = Arc::new(ToolEntry::new(function)?);
        self.push(entry)
    }

    /// Adds all tools of another toolbox, or none on error.
    pub fn extend(&mut self, other: &Self) -> Result<(), ToolboxError> {
        let mut joined = self.clone();
        for entry in other.entries.iter() {
            joined.push(Arc::clone(entry))?;
        }
        *self = joined;
        Ok(())
    }

    /// Iterates over the definitions sent to the model.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.entries.iter().map(|entry| &entry.function.tool)
    }

    /// Returns `true` if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Runs a tool call.
    ///
    /// Failures, including panics of the handler, become error results that the model can
    /// react to. Dropping the future cancels the tool.
    pub async fn call(&self, call: &ToolCall) -> ToolResult {
        match self.prepare(call) {
            Ok(prepared) => prepared.run().await,
            Err(rejected) => rejected,
        }
    }

    /// Finds the tool and validates the arguments.
    pub(crate) fn prepare(&self, call: &ToolCall) -> Result<PreparedCall, ToolResult> {
        match self.find(&call.name) {
            Some(entry) => PreparedCall::new(entry, call),
            None => Err(failure(call, &self.unknown(&call.name))),
        }
    }

    /// Matches exactly: guessing could run a tool that the model did not request.
    fn find(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.entries
            .iter()
            .find(|entry| entry.function.tool.name == name)
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.definitions().map(|tool| tool.name.as_str()).collect();
        if names.is_empty() {
            return format!(
                "There is no tool named `{name}`, nor any other. Answer without tools."
            );
        }
        format!(
            "There is no tool named `{name}`. The tools are: {}.",
            names.join(", ")
        )
    }

    fn push(&mut self, entry: Arc<ToolEntry>) -> Result<(), ToolboxError> {
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

impl ToolEntry {
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
                    .and_then(|schema| {
                        takes_objects(&schema).and_then(|()| SchemaChecker::new(&schema))
                    });
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
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(allowed)
}

/// Models send arguments by name, which requires an object.
fn takes_objects(schema: &Value) -> Result<(), String> {
    match schema.get("type") {
        Some(kind) if kind != "object" => Err(format!(
            "arguments are named, so the type must be \"object\", not {kind}"
        )),
        _ => Ok(()),
    }
}
