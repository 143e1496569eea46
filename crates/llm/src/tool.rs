//! Tools as data: what a model may call, what it called, what came back.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Json, Native, Part};

/// A function that the model may ask for.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Tool {
    /// The name that the model calls it by.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments; none means that it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Json>,
    /// Whether the caller asked for strict argument checking; unset sends no flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Tool {
    /// A tool without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            parameters: None,
            strict: None,
            native: None,
        }
    }

    /// Says what the tool does.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Gives the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Json) -> Self {
        self.parameters = Some(schema);
        self
    }
}

/// Whether the model must, may or must not call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

/// The model asks for a tool.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; `call_<n>` where the provider gave none.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// The arguments, as the JSON text that the model wrote. Models do write
    /// invalid JSON; it is carried rather than lost, and [`ToolCall::parse`] tells.
    pub arguments: String,
    /// Fields of the dialect that it was read from (a thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl ToolCall {
    /// A call without native fields.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            native: None,
        }
    }

    /// The id of a call whose provider gave none.
    pub fn synthetic_id(n: usize) -> String {
        format!("call_{n}")
    }

    /// The number in a made-up id, if it is one.
    pub(crate) fn synthetic_number(id: &str) -> Option<usize> {
        id.strip_prefix("call_")?.parse().ok()
    }

    /// Reads the arguments into a type; empty text reads as an empty object.
    ///
    /// ```
    /// use majordomo_llm::ToolCall;
    ///
    /// let call = ToolCall::new("call_0", "add", r#"{"a": 1, "b": 2}"#);
    /// let args: serde_json::Value = call.parse().unwrap();
    /// assert_eq!(args["b"], 2);
    /// ```
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let text = self.arguments.trim();
        serde_json::from_str(if text.is_empty() { "{}" } else { text })
    }
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that it answers.
    pub call_id: String,
    /// The tool's name, where it is known; some dialects pair by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the tool said: text, and images where it made some.
    pub parts: Vec<Part>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl ToolResult {
    /// A successful text result.
    pub fn new(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            parts: vec![Part::text(text)],
            is_error: false,
            native: None,
        }
    }

    /// A failed result that the model can react to.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::new(call, text)
        }
    }

    /// The result's texts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}
