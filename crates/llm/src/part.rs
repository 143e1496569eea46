//! What messages are made of.
//!
//! [`Part`] is closed on purpose: every codec matches it exhaustively, so a new
//! kind of content is a deliberate change everywhere and never a silent drop.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Dialect, Json, Native, ToolCall, ToolResult};

/// One piece of a message or of an answer.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(Text),
    /// The model's text when it declines to answer.
    Refusal(Text),
    /// A picture, as bytes.
    Image(Image),
    /// A picture that a client named by its address; only read from the wire.
    RemoteImage(RemoteImage),
    /// What the model thought, with the provider's own proof of it.
    Reasoning(Reasoning),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// A tool's answer.
    ToolResult(ToolResult),
    /// A document or another file, as bytes.
    File(File),
    /// A block of one dialect that the contract does not model.
    Opaque(Opaque),
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }

    /// An image part.
    pub fn image(media_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self::Image(Image::new(media_type, data))
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// What only the part's own dialect understands.
    pub fn native(&self) -> Option<&Native> {
        match self {
            Self::Text(p) | Self::Refusal(p) => p.native.as_deref(),
            Self::Image(p) => p.native.as_deref(),
            Self::RemoteImage(p) => p.native.as_deref(),
            Self::Reasoning(p) => p.native.as_deref(),
            Self::ToolCall(p) => p.native.as_deref(),
            Self::ToolResult(p) => p.native.as_deref(),
            Self::File(p) => p.native.as_deref(),
            Self::Opaque(_) => None,
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Text, with what only its dialect knows about it (cache marks, citations).
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Text {
    /// Text without native fields.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            native: None,
        }
    }
}

/// A picture: bytes and their declared type. Nothing is fetched.
#[derive(Clone, PartialEq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// The declared MIME type; the bytes decide where the two differ.
    pub media_type: String,
    /// The encoded picture, shared by all attempts.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Image {
    /// A picture without native fields.
    pub fn new(media_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            media_type: media_type.into(),
            data: data.into(),
            native: None,
        }
    }
}

/// Prints the size instead of the pixels.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} bytes)", self.media_type, self.data.len())
    }
}

/// A picture that is somewhere else.
///
/// Library callers attach bytes; this exists because clients of the gateway
/// send addresses, which go on as addresses where the target's dialect has them.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct RemoteImage {
    /// The address exactly as the client wrote it.
    pub url: String,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

/// The model's reasoning: text to show, and state to hand back.
///
/// The state (a signature, encrypted content) is in `native`. It goes back
/// verbatim to the dialect that made it and is left out elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Reasoning {
    /// Readable text or summary; may be empty when only state was given.
    pub text: String,
    /// The provider's own state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Reasoning {
    /// Reasoning text without state.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            native: None,
        }
    }
}

/// A document or other file.
#[derive(Clone, PartialEq, Hash, Serialize, Deserialize)]
pub struct File {
    /// The declared MIME type.
    pub media_type: String,
    /// The file's bytes.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
    /// The file's name, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

/// Prints the size instead of the content.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("unnamed");
        write!(
            f,
            "File({name}, {}, {} bytes)",
            self.media_type,
            self.data.len()
        )
    }
}

/// A block that only its origin understands: server tools, audio, what comes next.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Opaque {
    /// The dialect that wrote it.
    pub origin: Dialect,
    /// The block's own type name, for the note about its loss.
    pub kind: String,
    /// The block, verbatim.
    pub raw: Json,
}

/// Bytes as base64 text in saved transcripts.
mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(data: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(d)?;
        STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(D::Error::custom)
    }
}
