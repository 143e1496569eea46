//! Fronts: the client-facing endpoints of each dialect.
//!
//! A front knows its paths, codec, id format and stream media type; everything between
//! decoding and encoding is shared. Uses no sibling module.

mod forwarded_headers;
mod labels;
mod page;
mod path;

use majordomo::Class;
use majordomo::llm::Dialect;
use majordomo_wire::{ClientError, Codec, Protocol, ollama};

pub(crate) use forwarded_headers::forwarded_headers;
pub use labels::EndpointLabels;
pub(crate) use page::ListPage;
pub(crate) use path::{Endpoint, ImageCall, StreamMode, endpoint};

/// The endpoint of one dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Chat,
    /// The same dialect as chat; requests and responses differ.
    TextCompletions,
    Responses,
    /// The same dialect as responses; requests and responses differ.
    Compaction,
    Messages,
    Gemini,
    OllamaChat,
    /// The same dialect as chat; only its responses differ.
    OllamaGenerate,
}

impl Front {
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Chat | Self::TextCompletions => Protocol::Chat,
            Self::Responses | Self::Compaction => Protocol::Responses,
            Self::Messages => Protocol::Messages,
            Self::Gemini => Protocol::Gemini,
            Self::OllamaChat | Self::OllamaGenerate => Protocol::Ollama,
        }
    }

    pub(crate) fn codec(self) -> &'static dyn Codec {
        match self {
            Self::OllamaGenerate => ollama::generate(),
            Self::TextCompletions => majordomo_wire::text_completions(),
            Self::Compaction => majordomo_wire::compaction(),
            other => other.protocol().codec(),
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        self.protocol().dialect()
    }

    /// Whether responses of a target of the same dialect can be forwarded unchanged. Other
    /// endpoints of a dialect reach their target as ordinary generations.
    pub(crate) fn forwards(self) -> bool {
        !matches!(
            self,
            Self::OllamaGenerate | Self::TextCompletions | Self::Compaction
        )
    }

    /// The media type of a stream.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::OllamaChat | Self::OllamaGenerate => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// The keep-alive frame of a silent stream, if the dialect has one.
    pub(crate) fn keep_alive(self) -> Option<&'static [u8]> {
        match self {
            Self::Messages => Some(b"event: ping\ndata: {\"type\": \"ping\"}\n\n"),
            Self::Chat
            | Self::TextCompletions
            | Self::Responses
            | Self::Compaction
            | Self::Gemini => Some(b": keep-alive\n\n"),
            Self::OllamaChat | Self::OllamaGenerate => None,
        }
    }

    /// Whether this error of a streamed request is sent inside the stream, even if it is
    /// known before the first event. OpenAI accepts a request before it measures it, and
    /// Codex compacts only on `response.failed`.
    pub(crate) fn fails_in_stream(self, error: &ClientError) -> bool {
        self == Self::Responses && error.class == Class::ContextLength
    }

    /// The field with the conversation, if a request without it is an error, unless it refers
    /// to a stored conversation. Ollama's clients load a model by omitting it.
    pub(crate) fn required_messages(self) -> Option<&'static str> {
        match self {
            Self::Chat | Self::Messages => Some("messages"),
            Self::TextCompletions => Some("prompt"),
            Self::Gemini => Some("contents"),
            Self::Responses | Self::Compaction => Some("input"),
            Self::OllamaChat | Self::OllamaGenerate => None,
        }
    }

    /// Prefix of this dialect's response ids.
    pub(crate) fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl-",
            Self::TextCompletions => "cmpl-",
            Self::Responses | Self::Compaction => "resp_",
            Self::Messages => "msg_",
            Self::Gemini | Self::OllamaChat | Self::OllamaGenerate => "",
        }
    }
}
