//! A stream's fine events.
//!
//! What every codec's stream reader gives and every stream writer takes:
//!
//! - At most one [`Event::Start`], before everything else.
//! - [`Event::Text`], [`Event::Refusal`] and [`Event::Reasoning`] extend the
//!   open part of their kind, or open one.
//! - [`Event::EndPart`] closes the open part; an event of another kind does, too.
//! - Tool calls are told apart by `index`, which need not be contiguous, and may
//!   interleave. Each is started once and ended once.
//! - [`Event::Usage`] is cumulative: the last one stands.
//! - [`Event::Finish`] is the last event of a complete stream, and the only sign
//!   of completeness. A stream that ends without it was cut.

use crate::{FinishReason, Native, Part, Usage};

/// One step of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The provider began to answer.
    Start {
        /// The provider's id of the answer.
        id: Option<String>,
        /// The model in the provider's own words.
        model: Option<String>,
    },
    /// More text.
    Text(String),
    /// More of the text with which the model declines.
    Refusal(String),
    /// More reasoning text.
    Reasoning(String),
    /// The open text or reasoning part is complete; its state (a signature), if any.
    EndPart(Option<Box<Native>>),
    /// A part that came whole: an image, a signed text, a server tool's block.
    Part(Part),
    /// The model begins to ask for a tool.
    ToolCallStart {
        /// Tells the calls of this answer apart.
        index: usize,
        /// The provider's id of the call, where it gives one.
        id: Option<String>,
        /// Which tool.
        name: String,
        /// What only the provider understands (a thought signature).
        native: Option<Box<Native>>,
    },
    /// More of a call's arguments, as JSON text.
    ToolCallArguments {
        /// Which call.
        index: usize,
        /// The next piece of the text.
        fragment: String,
    },
    /// A call's arguments are complete.
    ToolCallEnd {
        /// Which call.
        index: usize,
    },
    /// Token counts so far.
    Usage(Usage),
    /// The answer is complete.
    Finish(FinishReason),
}

impl Event {
    /// Whether the event carries something of the answer itself. The first such
    /// event is a stream's commit point: there is no failover after it.
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
