//! The events of a streamed response.

use crate::{FinishReason, Native, Part, Usage};

/// One event of a streamed response.
///
/// Stream readers produce and stream writers consume events that follow these rules:
///
/// - [`Event::Start`] comes before everything else. A second one means that the
///   provider started over: everything before it is void.
/// - [`Event::Text`], [`Event::Refusal`] and [`Event::Reasoning`] extend the open part
///   of their kind, or open one.
/// - [`Event::EndPart`], or any event of another kind, closes the open part.
/// - Tool calls are identified by `index`, which need not be contiguous, and may
///   interleave. Each starts once and ends once.
/// - [`Event::Usage`] is cumulative: the last one counts.
/// - [`Event::Finish`] is the last event of a complete stream. A stream that ends
///   without it is truncated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The response has begun.
    Start {
        /// The provider's response id.
        id: Option<String>,
        /// The model name reported by the provider.
        model: Option<String>,
    },
    /// A text delta.
    Text(String),
    /// A delta of the text with which the model declines.
    Refusal(String),
    /// A reasoning delta.
    Reasoning(String),
    /// The open text or reasoning part is complete. Carries its native state, such as a
    /// signature.
    EndPart(Option<Box<Native>>),
    /// A complete part: an image, a signed text, a server tool's block.
    Part(Part),
    /// A tool call has begun.
    ToolCallStart {
        /// Identifies the call within this response.
        index: usize,
        /// The provider's call id, if it assigns one.
        id: Option<String>,
        /// The tool's name.
        name: String,
        /// Fields that only this dialect understands, such as a thought signature.
        native: Option<Box<Native>>,
    },
    /// A delta of a call's arguments.
    ToolCallArguments {
        /// Identifies the call.
        index: usize,
        /// The next fragment of the JSON text.
        fragment: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// Identifies the call.
        index: usize,
    },
    /// Cumulative token usage.
    Usage(Usage),
    /// The response is complete.
    Finish(FinishReason),
}

impl Event {
    /// Returns the bytes of text, reasoning or arguments that the event carries.
    pub fn content_len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Refusal(text) | Self::Reasoning(text) => text.len(),
            Self::Part(part) => part.content_len(),
            Self::ToolCallStart { name, .. } => name.len(),
            Self::ToolCallArguments { fragment, .. } => fragment.len(),
            Self::Start { .. }
            | Self::EndPart(_)
            | Self::ToolCallEnd { .. }
            | Self::Usage(_)
            | Self::Finish(_) => 0,
        }
    }

    /// Returns `true` if the event carries content.
    ///
    /// The first such event is a stream's commit point: there is no failover after it.
    pub fn is_semantic(&self) -> bool {
        match self {
            Self::Text(text) | Self::Refusal(text) | Self::Reasoning(text) => !text.is_empty(),
            Self::Part(_) | Self::ToolCallStart { .. } | Self::ToolCallArguments { .. } => true,
            Self::Start { .. }
            | Self::EndPart(_)
            | Self::ToolCallEnd { .. }
            | Self::Usage(_)
            | Self::Finish(_) => false,
        }
    }
}
