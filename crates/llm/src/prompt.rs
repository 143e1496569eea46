//! The content of a request.

use serde::{Deserialize, Serialize};

use crate::{Json, Message, Native, Opaque, Role, Text, Tool, ToolCall, ToolChoice};

/// How much reasoning the model should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning, if the target allows.
    None,
    /// The least that the target supports.
    Minimal,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// Extra high effort.
    XHigh,
    /// The most that the target supports.
    Max,
}

/// The format of the response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON value.
    Json,
    /// JSON that satisfies a schema.
    Schema(OutputSchema),
}

/// A JSON Schema that the response must satisfy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// The schema.
    pub schema: Json,
    /// The schema's name, for targets that require one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Requests strict mode; `None` omits the flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// The content of a [`Request`](crate::Request).
///
/// A field that is `None` is not sent, so the provider's default applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// The system prompt.
    pub system: Vec<Text>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The functions that the model may call.
    pub tools: Vec<Tool>,
    /// Tools hosted by the provider, verbatim in their dialect.
    pub hosted_tools: Vec<Opaque>,
    /// Whether the model must, may or must not call tools.
    pub tool_choice: ToolChoice,
    /// Allows several tool calls in one response.
    pub parallel_tool_calls: Option<bool>,
    /// The format of the response.
    pub output: OutputFormat,
    /// Maximum tokens of the response.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling threshold.
    pub top_p: Option<f64>,
    /// Samples from the `k` most likely tokens.
    pub top_k: Option<u64>,
    /// Penalty on tokens that have occurred.
    pub presence_penalty: Option<f64>,
    /// Penalty on tokens by their number of occurrences.
    pub frequency_penalty: Option<f64>,
    /// Seed for reproducible sampling.
    pub seed: Option<i64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// Reasoning effort.
    pub effort: Option<Effort>,
    /// Maximum tokens of reasoning, for targets with a token budget.
    pub reasoning_budget: Option<u64>,
    /// Requests prompt caching from providers where it is opt-in.
    pub prompt_cache: bool,
    /// A routing key for the provider's prompt cache.
    pub cache_key: Option<String>,
    /// An opaque identifier of the end user.
    pub user: Option<String>,
    /// Fields that only the original dialect understands.
    pub native: Option<Box<Native>>,
    /// Images in places of the client's body that its codec does not read. They are never
    /// written: removing such an image removes its place.
    pub unread_images: Vec<Opaque>,
}

impl Prompt {
    /// Joins the system prompt and the system messages of the conversation.
    pub fn system_text(&self) -> String {
        let system = self.system.iter().map(|text| text.text.clone());
        let inline = self
            .messages
            .iter()
            .filter(|message| message.role == Role::System)
            .map(Message::text);
        let texts: Vec<String> = system.chain(inline).filter(|t| !t.is_empty()).collect();
        texts.join("\n\n")
    }

    /// Returns the number of the next synthetic call id: above every `call_<n>` of the
    /// conversation, so that ids stay unique even if early turns were dropped.
    pub fn next_call_number(&self) -> usize {
        self.messages
            .iter()
            .flat_map(Message::tool_calls)
            .filter_map(|call| ToolCall::synthetic_number(&call.id))
            .max()
            .map_or(0, |highest| highest.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, Request};

    #[test]
    fn system_messages_follow_the_system_prompt() {
        let request = Request::user("hi")
            .system("first")
            .message(Message::system("second"));
        assert_eq!(request.prompt().system_text(), "first\n\nsecond");
    }

    #[test]
    fn synthetic_call_ids_continue_after_the_highest_in_the_conversation() {
        let calling = |id: &str| {
            let call = ToolCall::new(id, "look", "{}");
            Message::assistant(Part::ToolCall(call))
        };
        let request = Request::user("hi");
        assert_eq!(request.prompt().next_call_number(), 0);
        let request = request
            .message(calling("call_7"))
            .message(calling("call_x9"));
        assert_eq!(request.prompt().next_call_number(), 8);
    }
}
