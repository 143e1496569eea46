//! One front per dialect: which paths are whose, and how answers look there.
//!
//! A front is thin. It knows its codec, the form of its ids and the media type of
//! its streams; everything between reading and writing is the same for all.

mod forwarded_headers;
mod path;

use majordomo::Dialect;
use majordomo_wire::{Codec, Protocol, ollama};

pub(crate) use forwarded_headers::passed_on;
pub(crate) use path::{Endpoint, Stream, endpoint};

/// The side of the gateway that speaks one dialect to its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Chat,
    Responses,
    Messages,
    Gemini,
    OllamaChat,
    /// The same dialect as chat in another form, which only its answers show.
    OllamaGenerate,
}

impl Front {
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Chat => Protocol::Chat,
            Self::Responses => Protocol::Responses,
            Self::Messages => Protocol::Messages,
            Self::Gemini => Protocol::Gemini,
            Self::OllamaChat | Self::OllamaGenerate => Protocol::Ollama,
        }
    }

    pub(crate) fn codec(self) -> &'static dyn Codec {
        match self {
            Self::OllamaGenerate => ollama::generate(),
            other => other.protocol().codec(),
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        self.protocol().dialect()
    }

    /// Whether answers of a target of the same dialect can be passed on as they
    /// are. A generate request may reach its target as a chat.
    pub(crate) fn forwards(self) -> bool {
        self != Self::OllamaGenerate
    }

    /// The media type of a stream.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::OllamaChat | Self::OllamaGenerate => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// What keeps a silent stream alive, if its clients understand anything.
    pub(crate) fn keep_alive(self) -> Option<&'static [u8]> {
        match self {
            Self::Messages => Some(b"event: ping\ndata: {\"type\": \"ping\"}\n\n"),
            Self::Chat | Self::Responses | Self::Gemini => Some(b": keep-alive\n\n"),
            Self::OllamaChat | Self::OllamaGenerate => None,
        }
    }

    /// What this dialect's answer ids begin with.
    pub(crate) fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl-",
            Self::Responses => "resp_",
            Self::Messages => "msg_",
            Self::Gemini | Self::OllamaChat | Self::OllamaGenerate => "",
        }
    }
}
