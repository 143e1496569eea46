//! What every dialect does, and what all of them promise.
//!
//! - Readers map messages (or items) one to one: nothing is merged, a system
//!   message in the middle stays there, a tool's answer is a [`Role::Tool`]
//!   message with one result. Writers regroup as their dialect needs.
//! - What the contract does not model is kept: unknown fields as [`Native`],
//!   unknown blocks as [`Part::Opaque`]. Both go back verbatim to their own
//!   dialect and are a [`Loss`] elsewhere. So is reasoning state.
//! - A request that nobody edited is written to its own dialect as its own
//!   bytes but for `model` (and `stream`, where the caller wants another). An
//!   edited one keeps the bytes of every field, message and part that is the same.
//! - [`Event::Finish`] is the last event of a complete stream: readers hold it
//!   back until the protocol's own terminator, so usage always comes before it.
//! - No input makes a codec panic, and none is trusted.
//!
//! [`Role::Tool`]: majordomo_llm::Role::Tool
//! [`Native`]: majordomo_llm::Native
//! [`Part::Opaque`]: majordomo_llm::Part::Opaque

use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Dialect, Error, Event, ModelInfo, Request, Response, Result};

use crate::{Loss, ReadError};

/// One dialect, from both sides.
pub trait Codec: Send + Sync {
    /// The dialect's name, the mark on everything that only it understands.
    fn dialect(&self) -> Dialect;

    /// Reads a client's request and keeps its bytes.
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError>;

    /// Writes a request for a target of this dialect.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written;

    /// Reads a whole answer; missing call ids are made up from `first_call` on.
    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response>;

    /// Writes a whole answer for a client of this dialect.
    fn write_response(&self, response: &Response, reply: &Reply) -> Written;

    /// Reads one streamed answer.
    fn stream_reader(&self) -> Box<dyn StreamReader>;

    /// Writes one streamed answer.
    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter>;

    /// Reads what a provider said instead of an answer. Only extracts: what it
    /// means is decided by [`majordomo_llm::classify`].
    fn read_error(&self, failed: &FailedAnswer<'_>) -> Error;

    /// Writes an error for a client of this dialect.
    fn write_error(&self, error: &Error) -> ErrorReply;

    /// Reads a provider's list of models.
    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>>;

    /// Writes a list of models, all of them made at `created` (Unix seconds).
    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes;

    /// Token counting, where the dialect has it.
    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        None
    }
}

/// Asking how many tokens a request has.
pub trait CountTokens: Send + Sync {
    /// Reads a client's question.
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError>;

    /// Writes the question for a target of this dialect.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written;

    /// Reads the answer.
    fn read_response(&self, body: &[u8]) -> Result<u64>;

    /// Writes the answer.
    fn write_response(&self, tokens: u64) -> Bytes;
}

/// Reads one streamed answer: bytes in any chunking, events out.
pub trait StreamReader: Send {
    /// Takes the next bytes and adds the events that they complete. After an
    /// error the stream is over.
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()>;

    /// Like `push`, but looks only for usage, finish and errors: for streams
    /// that are forwarded as bytes. Both may be used on the same stream.
    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()>;

    /// The stream ended. An error unless its terminator was seen.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()>;
}

/// Writes one streamed answer: events in, bytes out.
pub trait StreamWriter: Send {
    /// Adds the bytes that the event becomes, if any.
    fn write(&mut self, event: &Event, out: &mut BytesMut);

    /// Ends a stream that had begun with the dialect's own error; never with a
    /// made-up ending.
    fn fail(&mut self, error: &Error, out: &mut BytesMut);

    /// What could not be said so far.
    fn losses(&self) -> Vec<Loss>;
}

/// A request that was read, and how its client wants to be answered.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The model that the client asks for; some dialects have it in the URL.
    pub model: Option<String>,
    /// Whether the client wants a stream; some dialects have it in the URL.
    pub stream: bool,
    /// Whether the client wants usage inside the stream, where that must be asked for.
    pub stream_usage: bool,
    /// What is asked.
    pub request: Request,
}

/// What a target needs to know beside the request.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// The model's id at the target.
    pub model: &'a str,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Chat: `max_tokens` instead of `max_completion_tokens`, for servers that
    /// know only the old name.
    pub legacy_max_tokens: bool,
    /// Messages: the limit to send when the request has none, since it must have one.
    pub default_max_tokens: u64,
    /// Responses: whether the provider may keep the answer, when the request was
    /// not written in that dialect and so could not say.
    pub store: Option<bool>,
    /// Ollama: what is known about the server and its model.
    pub ollama: crate::ollama::OllamaTarget,
}

impl<'a> Outgoing<'a> {
    /// A whole answer of this model.
    pub fn new(model: &'a str) -> Self {
        Self {
            model,
            stream: false,
            legacy_max_tokens: false,
            default_max_tokens: 4_096,
            store: None,
            ollama: crate::ollama::OllamaTarget::default(),
        }
    }

    /// Asks for a stream.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }
}

/// Bytes to send, and what they do not say.
#[derive(Clone, Debug)]
pub struct Written {
    /// The body.
    pub body: Bytes,
    /// What the dialect could not express.
    pub losses: Vec<Loss>,
}

/// What an answer needs beside its content; the same for all of its chunks.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The answer's id, as the client's dialect forms them.
    pub id: String,
    /// The model's name as the client knows it.
    pub model: String,
    /// When it was made, in Unix seconds.
    pub created: u64,
    /// Whether the client asked for usage inside the stream.
    pub stream_usage: bool,
    /// Number of the first made-up call id.
    pub first_call: usize,
}

/// An answer whose status is not a success.
#[derive(Clone, Copy)]
pub struct FailedAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Looks up a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body, or as much of it as was read.
    pub body: &'a [u8],
    /// The time, for waits that are told as dates.
    pub now: SystemTime,
}

/// An error as a client of a dialect expects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReply {
    /// The HTTP status.
    pub status: u16,
    /// Headers beside the content type.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub body: Bytes,
}
