//! The supported protocols.

use majordomo_llm::Dialect;

use crate::anthropic_messages::Messages;
use crate::gemini::Gemini;
use crate::ollama::{Ollama, OllamaEndpoint};
use crate::openai_chat::Chat;
use crate::openai_responses::Responses;
use crate::{Codec, Frames};

/// A protocol spoken by clients and providers.
///
/// ```
/// use majordomo_wire::Protocol;
///
/// let names: Vec<_> = Protocol::ALL.iter().map(|p| p.dialect().to_string()).collect();
/// assert_eq!(names[0], "openai-chat");
/// assert_eq!(Protocol::of(&Protocol::Gemini.dialect()), Some(Protocol::Gemini));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI Chat Completions, and compatible servers.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Google Gemini generateContent.
    Gemini,
    /// Ollama chat and generate.
    Ollama,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The dialect of values that were read from this protocol.
    pub const fn dialect(self) -> Dialect {
        Dialect::new(match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic-messages",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama-chat",
        })
    }

    /// The protocol of a dialect.
    pub fn of(dialect: &Dialect) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.dialect() == *dialect)
    }

    /// The protocol's codec.
    pub fn codec(self) -> &'static dyn Codec {
        match self {
            Self::Chat => &Chat,
            Self::Responses => &Responses,
            Self::Messages => &Messages,
            Self::Gemini => &Gemini,
            Self::Ollama => &Ollama(OllamaEndpoint::Chat),
        }
    }

    /// Returns a splitter for streams that are forwarded verbatim.
    pub fn frames(self) -> Frames {
        Frames::new(self == Self::Ollama)
    }
}
