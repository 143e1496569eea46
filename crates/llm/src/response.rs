//! What a model answered.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Ledger, Message, Native, Part, Role, ToolCall, Usage};

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wrote one of the request's stop sequences; which one, where the provider says.
    StopSequence(Option<String>),
    /// It reached the token limit.
    Length,
    /// It filled its context window.
    ContextWindow,
    /// It asks for tools.
    ToolCalls,
    /// The provider's filter cut it off.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// It paused and wants the conversation sent again.
    Paused,
    /// The provider's own word for something else.
    Other(String),
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// What was said, in order.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// The target that served, as `provider/model`.
    pub model: String,
    /// The model's name in the provider's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
    /// The provider's id of this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
    /// The provider's bytes, for what the contract does not model.
    #[serde(skip)]
    pub raw: Option<Bytes>,
    /// Who was asked on the way here, and what was changed for them.
    #[serde(default)]
    pub ledger: Ledger,
}

impl Response {
    /// An answer of these parts that ended by itself.
    pub fn new(parts: Vec<Part>) -> Self {
        let asks_tools = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        Self {
            parts,
            finish: if asks_tools {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            },
            usage: Usage::default(),
            model: String::new(),
            reported_model: None,
            id: None,
            native: None,
            raw: None,
            ledger: Ledger::default(),
        }
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The tools that the model asks for.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer says nothing: no tool call, no image or file, and at
    /// most white space. Reasoning alone is not an answer; a refusal, a filter's
    /// cut and a pause are outcomes of their own.
    ///
    /// ```
    /// use majordomo_llm::{Part, Response};
    ///
    /// assert!(Response::new(vec![Part::text(" \n")]).is_empty());
    /// assert!(!Response::new(vec![Part::text("yes")]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        let outcome = matches!(
            self.finish,
            FinishReason::Refusal | FinishReason::ContentFilter | FinishReason::Paused
        );
        !outcome
            && self.parts.iter().all(|part| match part {
                Part::Text(text) => text.text.trim().is_empty(),
                Part::Reasoning(_) => true,
                Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => false,
            })
    }

    /// The answer as the next message of the conversation.
    pub fn to_message(&self) -> Message {
        Message::new(Role::Assistant, self.parts.clone())
    }
}
