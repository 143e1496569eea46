//! The codec traits, and the guarantees of every codec.
//!
//! - Readers map messages (or items) one to one: nothing is merged, a system
//!   message in the middle stays there, and a tool result is a [`Role::Tool`]
//!   message with one result. Writers regroup as their dialect needs.
//! - Fields that the contract does not model are kept as [`Native`], and blocks as
//!   [`Part::Opaque`]. Both are written back verbatim to their own dialect and are
//!   a [`Loss`] elsewhere. So is reasoning state.
//! - An unedited request is written to its own dialect byte for byte, except for
//!   `model` (and `stream`, if the caller wants another value). An edited request
//!   keeps the bytes of every unchanged field, message and part.
//! - [`Event::Finish`] is the last event of a complete stream: readers hold it
//!   back until the protocol's terminator, so usage always precedes it.
//! - No input is trusted, and no input makes a codec panic.
//!
//! [`Role::Tool`]: majordomo_llm::Role::Tool
//! [`Native`]: majordomo_llm::Native
//! [`Part::Opaque`]: majordomo_llm::Part::Opaque

use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Dialect, Error, Event, ModelInfo, Request, Response, Result};

use crate::{ClientError, EmulatedCall, FrameContent, Loss, ReadError, RequestEcho, Stopwatch};

/// Reads and writes one dialect, for both clients and providers.
pub trait Codec: Send + Sync {
    /// The dialect's name, which marks everything specific to it.
    fn dialect(&self) -> Dialect;

    /// Reads a client's request and keeps its bytes.
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError>;

    /// Writes a request for a target of this dialect.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written;

    /// Returns the reader for the response to a request whose forced call this dialect can
    /// only emulate. It must be applied to the results of the other readers.
    fn emulated_call(&self, _request: &Request, _to: &Outgoing<'_>) -> Option<EmulatedCall> {
        None
    }

    /// Reads a whole response; missing call ids are generated from `first_call`
    /// on.
    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response>;

    /// Writes a whole response for a client of this dialect.
    fn write_response(&self, response: &Response, reply: &Reply) -> Written;

    /// Returns the parts of this client's request on which its responses depend, for
    /// [`Reply::echo`].
    fn echo(&self, _request: &Request) -> RequestEcho {
        RequestEcho::default()
    }

    /// Returns a reader for one streamed response.
    fn stream_reader(&self) -> Box<dyn StreamReader>;

    /// Returns a writer for one streamed response.
    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter>;

    /// Reads a provider's error response. Only extracts its fields;
    /// [`majordomo_llm::classify`] decides what they mean.
    fn read_error(&self, failed: &FailedResponse<'_>) -> Error;

    /// Writes an error for a client of this dialect.
    fn write_client_error(&self, error: &ClientError) -> ErrorReply;

    /// Writes a chain's or a provider's error for a client of this dialect.
    fn write_error(&self, error: &Error) -> ErrorReply {
        self.write_client_error(&ClientError::from(error))
    }

    /// Reads a provider's model list.
    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>>;

    /// Writes a model list, with every model created at `created` (Unix
    /// seconds).
    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes;

    /// Writes a page of a model list; `more` if further pages follow.
    fn write_model_page(&self, models: &[ModelInfo], _more: bool, created: u64) -> Bytes {
        self.write_models(models, created)
    }

    /// Whether a message of this dialect can refer to an image by this URL.
    fn takes_image_url(&self, url: &str) -> bool;

    /// Token counting, if the dialect supports it.
    fn count_tokens(&self) -> Option<&dyn CountTokens> {
        None
    }
}

/// A dialect's token-counting endpoint.
pub trait CountTokens: Send + Sync {
    /// Reads a client's request.
    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError>;

    /// Writes a request for a target of this dialect.
    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written;

    /// Reads the token count.
    fn read_response(&self, body: &[u8]) -> Result<u64>;

    /// Writes the token count.
    fn write_response(&self, tokens: u64) -> Bytes;
}

/// Reads one streamed response: bytes in any chunking, events out.
pub trait StreamReader: Send {
    /// Takes the next bytes and appends the events they complete. The stream is
    /// over after an error.
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()>;

    /// Like `push`, but only detects usage, finish and errors, for streams that
    /// are forwarded as bytes. Both may be used on the same stream.
    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()>;

    /// Finds the content of one whole frame, for streams that are forwarded as bytes.
    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a>;

    /// Ends the stream. Fails unless its terminator was seen.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()>;
}

/// Writes one streamed response: events in, bytes out.
pub trait StreamWriter: Send {
    /// Appends the bytes of an event, if it has any.
    fn write(&mut self, event: &Event, out: &mut BytesMut);

    /// Ends a started stream with the dialect's own error, never with a
    /// synthesized terminator.
    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut);

    /// Like [`fail_with`](Self::fail_with), with a chain's or a provider's error.
    fn fail(&mut self, error: &Error, out: &mut BytesMut) {
        self.fail_with(&ClientError::from(error), out);
    }

    /// The losses so far.
    fn losses(&self) -> Vec<Loss>;
}

/// A decoded client request, and how the client wants its response.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The requested model; some dialects carry it in the URL.
    pub model: Option<String>,
    /// Whether the client wants a stream; some dialects carry this in the URL.
    pub stream: bool,
    /// Whether the client wants usage inside the stream, where that is opt-in.
    pub stream_usage: bool,
    /// The request.
    pub request: Request,
}

/// The properties of a target that a writer needs.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// The model's id at the target.
    pub model: &'a str,
    /// Whether to request a stream.
    pub stream: bool,
    /// Chat: `max_tokens` instead of `max_completion_tokens`, for servers that
    /// only know the old name.
    pub legacy_max_tokens: bool,
    /// Messages: the limit to send if the request has none, since the field is
    /// mandatory.
    pub default_max_tokens: u64,
    /// Responses: whether the provider may store the response, for requests
    /// read from other dialects.
    pub store: Option<bool>,
    /// Ollama: known properties of the server and its model.
    pub ollama: crate::ollama::OllamaTarget,
}

impl<'a> Outgoing<'a> {
    /// Requests a whole response from this model.
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

    /// Sets whether to request a stream.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }
}

/// An encoded body, with its losses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written {
    /// The body.
    pub body: Bytes,
    /// The parts that the dialect could not express.
    pub losses: Vec<Loss>,
}

/// Metadata of a response; the same for all of its chunks.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The response's id, in the form of the client's dialect.
    pub id: String,
    /// The model name that the client knows.
    pub model: String,
    /// Creation time, in Unix seconds.
    pub created: u64,
    /// Whether the client asked for usage inside the stream.
    pub stream_usage: bool,
    /// Number of the first generated call id.
    pub first_call: usize,
    /// The parts of the request that the response repeats.
    pub echo: RequestEcho,
    /// Messages: the estimated input tokens, until the provider reports them.
    pub estimated_input: Option<u64>,
    /// Ollama: how long the response has taken.
    pub stopwatch: Stopwatch,
}

/// A response with a non-success status.
#[derive(Clone, Copy)]
pub struct FailedResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Looks up a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body, or the part of it that was read.
    pub body: &'a [u8],
    /// The current time, to resolve a `retry-after` date.
    pub now: SystemTime,
}

/// An error in the form that clients of a dialect expect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorReply {
    /// The HTTP status.
    pub status: u16,
    /// Headers other than the content type.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub body: Bytes,
}
