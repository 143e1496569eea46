//! Tool definitions, calls and results, as data.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Json, Native, Part};

/// The definition of a function that the model may call.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Tool {
    /// The function's name.
    pub name: String,
    /// What the function does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments; `None` if there are no arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Json>,
    /// Requests strict argument checking; `None` omits the flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Tool {
    /// Creates a tool without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            parameters: None,
            strict: None,
            native: None,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the JSON Schema of the arguments.
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

/// A tool call made by the model.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; `call_<n>` if the provider assigned no id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as the JSON text that the model wrote.
    ///
    /// Models do write invalid JSON. It is preserved; [`ToolCall::parse`] reports it.
    pub arguments: String,
    /// Fields that only the original dialect understands, such as a thought signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl ToolCall {
    /// Creates a call without native fields.
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

    /// Returns the id for call number `n` of a provider that assigns none.
    pub fn synthetic_id(n: usize) -> String {
        format!("call_{n}")
    }

    /// Parses the number of a synthetic id.
    pub(crate) fn synthetic_number(id: &str) -> Option<usize> {
        id.strip_prefix("call_")?.parse().ok()
    }

    /// Deserializes the arguments. Empty text counts as an empty object.
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

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name, if known. Some dialects pair results with calls by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The output: text and images.
    pub parts: Vec<Part>,
    /// The tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl ToolResult {
    /// Creates a successful result with one text.
    pub fn new(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            parts: vec![Part::text(text)],
            is_error: false,
            native: None,
        }
    }

    /// Creates an error result, which the model can react to.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::new(call, text)
        }
    }

    /// Concatenates all text parts.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}
