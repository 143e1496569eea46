//! Messages: the turns of a conversation.

use serde::{Deserialize, Serialize};

use crate::{Native, Part, ToolCall, ToolResult};

/// The author of a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions. May also appear in the middle of a conversation.
    System,
    /// The person or program that sends requests.
    User,
    /// The model.
    Assistant,
    /// Tool results.
    Tool,
}

/// One turn of a conversation.
///
/// The order of the parts is significant: providers validate the order of
/// reasoning, text and tool calls.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Message {
    /// Creates a message with any role.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            native: None,
        }
    }

    /// Creates a user message with one part.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// Creates an assistant message with one part.
    pub fn assistant(part: impl Into<Part>) -> Self {
        Self::new(Role::Assistant, vec![part.into()])
    }

    /// Creates a system message, for instructions in the middle of a conversation.
    pub fn system(part: impl Into<Part>) -> Self {
        Self::new(Role::System, vec![part.into()])
    }

    /// Creates the message that carries the results of the last assistant message's
    /// tool calls.
    pub fn tool_results_message(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(
            Role::Tool,
            results.into_iter().map(Part::ToolResult).collect(),
        )
    }

    /// Concatenates all text parts.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Iterates over the tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::as_tool_call)
    }

    /// Iterates over the tool results.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(Part::as_tool_result)
    }
}
