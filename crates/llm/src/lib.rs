//! The contract between programs that ask and language models that answer.
//!
//! This crate holds data types, two traits and one classification function. It
//! does no I/O, starts no task and names no provider; every other crate of the
//! workspace may rely on it and it relies on none of them.
//!
//! ```
//! use majordomo_llm::{Message, Part, Request};
//!
//! let request = Request::user("What is in this picture?")
//!     .system("You are terse.")
//!     .max_tokens(200);
//! assert_eq!(request.messages[0].text(), "What is in this picture?");
//! assert_eq!(request.max_tokens, Some(200));
//! ```

mod accept;
mod assembler;
mod attempt_log;
mod capabilities;
mod classify;
mod counts;
mod dialect;
mod error;
mod estimate;
mod event;
mod fingerprint;
mod json;
mod message;
mod model;
mod notes;
mod part;
mod piece;
mod request;
mod response;
mod retry_after;
mod scrub;
mod stream;
mod tool;
mod usage;
mod wire_source;

pub use accept::{Accept, Refused};
pub use assembler::Assembler;
pub use attempt_log::{Attempt, AttemptLog, Change, Outcome};
pub use capabilities::{ByteCount, Capabilities, ImageLimits, ManyImages, Patches};
pub use classify::{Class, HealthEffect, KeyOwner, NextTarget, SameTarget, Verdict, classify};
pub use counts::Counts;
pub use dialect::{Dialect, Native};
pub use error::{Error, ErrorKind, Result, Timer};
pub use estimate::{PlainEstimate, TokenEstimate};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use json::Json;
pub use message::{Message, Role};
pub use model::{BoxFuture, Model, ModelInfo, Provider};
pub use notes::Notes;
pub use part::{File, Image, Opaque, Part, Reasoning, RemoteImage, Text};
pub use piece::{Piece, PieceStream};
pub use request::{Effort, Output, OutputSchema, Prompt, Request};
pub use response::{FinishReason, Raw, Response};
pub use retry_after::retry_after;
pub use scrub::scrub;
pub use stream::{EventStream, ResponseStream, StreamItem};
pub use tool::{Tool, ToolCall, ToolChoice, ToolResult};
pub use usage::Usage;
pub use wire_source::WireSource;
