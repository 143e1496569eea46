//! The content of messages.
//!
//! [`Part`] is deliberately exhaustive: every codec matches all variants, so that a new
//! kind of content cannot be dropped silently.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ImageData, Native, Opaque, ToolCall, ToolResult};

/// One element of a message or response.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(Text),
    /// The model's text when it declines to answer.
    Refusal(Text),
    /// An image, as bytes.
    Image(Image),
    /// An image given by URL. Only decoded from client requests.
    RemoteImage(RemoteImage),
    /// The model's reasoning, with the provider's state for it.
    Reasoning(Reasoning),
    /// A tool call made by the model.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A document or another file, as bytes.
    File(File),
    /// A block that only one dialect understands.
    Opaque(Opaque),
}

impl Part {
    /// Returns the bytes of text, reasoning or arguments that the part carries.
    pub fn content_len(&self) -> usize {
        match self {
            Self::Text(part) | Self::Refusal(part) => part.text.len(),
            Self::Reasoning(part) => part.text.len(),
            Self::ToolCall(call) => call.name.len() + call.arguments.len(),
            Self::ToolResult(result) => result.parts.iter().map(Self::content_len).sum(),
            Self::Image(_) | Self::RemoteImage(_) | Self::File(_) | Self::Opaque(_) => 0,
        }
    }

    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }

    /// Creates an image part.
    pub fn image(media_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self::Image(Image::new(media_type, data))
    }

    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Refusal(_)
            | Self::Image(_)
            | Self::RemoteImage(_)
            | Self::Reasoning(_)
            | Self::ToolCall(_)
            | Self::ToolResult(_)
            | Self::File(_)
            | Self::Opaque(_) => None,
        }
    }

    /// Returns the call of a tool call part.
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text(_)
            | Self::Refusal(_)
            | Self::Image(_)
            | Self::RemoteImage(_)
            | Self::Reasoning(_)
            | Self::ToolResult(_)
            | Self::File(_)
            | Self::Opaque(_) => None,
        }
    }

    /// Returns the result of a tool result part.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        match self {
            Self::ToolResult(result) => Some(result),
            Self::Text(_)
            | Self::Refusal(_)
            | Self::Image(_)
            | Self::RemoteImage(_)
            | Self::Reasoning(_)
            | Self::ToolCall(_)
            | Self::File(_)
            | Self::Opaque(_) => None,
        }
    }

    /// Returns the fields that only the original dialect understands.
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

/// Text, with native fields such as cache markers and citations.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Text {
    /// Creates a text without native fields.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            native: None,
        }
    }
}

/// An image: its bytes and declared MIME type.
#[derive(Clone, PartialEq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// The declared MIME type. If it contradicts the bytes, the bytes win.
    pub media_type: String,
    /// The encoded image, shared by all attempts.
    pub data: ImageData,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Image {
    /// Creates an image without native fields.
    pub fn new(media_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            media_type: media_type.into(),
            data: ImageData::from(data.into()),
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

/// An image given by URL.
///
/// Library callers attach bytes. Clients of the gateway may send URLs, which are
/// forwarded if the target's dialect supports them.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct RemoteImage {
    /// The URL exactly as the client wrote it.
    pub url: String,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

/// The model's reasoning: text to display, and opaque state to send back.
///
/// The state (a signature, encrypted content) is in `native`. It is sent back verbatim
/// to the dialect that created it and omitted elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Reasoning {
    /// The text or its summary. Empty if the provider sent only state.
    pub text: String,
    /// The provider's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl Reasoning {
    /// Creates reasoning without state.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            native: None,
        }
    }
}

/// A document or other file, as bytes.
#[derive(Clone, PartialEq, Hash, Serialize, Deserialize)]
pub struct File {
    /// The declared MIME type.
    pub media_type: String,
    /// The content.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
    /// The file name, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
}

impl File {
    /// Whether the file is an image, by its media type.
    pub fn is_image(&self) -> bool {
        let kind = self.media_type.get(..IMAGE_TYPES.len());
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(IMAGE_TYPES))
    }
}

/// The prefix of image media types.
const IMAGE_TYPES: &str = "image/";

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

/// Serializes bytes as base64.
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
