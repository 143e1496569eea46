//! Who says what, in order.

use serde::{Deserialize, Serialize};

use crate::{Native, Part, ToolCall, ToolResult};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions, also in the middle of a conversation.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// Tools that answer.
    Tool,
}

/// One turn: a role and its parts *in order*, because providers check the
/// order of reasoning, text and tool calls.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Message {
    /// A message of any role.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            native: None,
        }
    }

    /// The user says something.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// The model said something.
    pub fn assistant(part: impl Into<Part>) -> Self {
        Self::new(Role::Assistant, vec![part.into()])
    }

    /// An instruction in the middle of a conversation.
    pub fn system(part: impl Into<Part>) -> Self {
        Self::new(Role::System, vec![part.into()])
    }

    /// The answers of the tools that the last assistant message asked for.
    pub fn tool_results_message(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(
            Role::Tool,
            results.into_iter().map(Part::ToolResult).collect(),
        )
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The tool calls among the parts.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results among the parts.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// How many images the message holds, those inside tool results included.
    pub fn image_count(&self) -> usize {
        count_images(&self.parts)
    }
}

fn count_images(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            Part::Image(_) | Part::RemoteImage(_) => 1,
            Part::ToolResult(result) => count_images(&result.parts),
            _ => 0,
        })
        .sum()
}
