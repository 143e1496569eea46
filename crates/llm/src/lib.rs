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
mod change_recorder;
mod classify;
mod dialect;
mod error;
mod estimate;
mod event;
mod fingerprint;
mod json;
mod message;
mod model;
mod part;
mod raw_chunk;
mod redact;
mod request;
mod request_counts;
mod response;
mod retry_after;
mod stream;
mod tool;
mod usage;
mod wire_source;

pub use accept::{Accept, Rejection};
pub use assembler::Assembler;
pub use attempt_log::{Attempt, AttemptLog, AttemptOutcome, Change};
pub use capabilities::{ByteCount, Capabilities, ImageLimits, ManyImages, PatchLimit};
pub use change_recorder::ChangeRecorder;
pub use classify::{Class, HealthEffect, KeyOwner, NextTarget, SameTarget, Verdict, classify};
pub use dialect::{Dialect, Native};
pub use error::{Error, ErrorKind, Result, Timer};
pub use estimate::{HeuristicEstimator, TokenEstimator};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use json::Json;
pub use message::{Message, Role};
pub use model::{BoxFuture, Model, ModelInfo, Provider};
pub use part::{File, Image, Opaque, Part, Reasoning, RemoteImage, Text};
pub use raw_chunk::{RawChunk, RawChunkStream};
pub use redact::redact;
pub use request::{Effort, OutputFormat, OutputSchema, Prompt, Request};
pub use request_counts::RequestCounts;
pub use response::{FinishReason, RawBody, Response};
pub use retry_after::retry_after;
pub use stream::{EventStream, ResponseStream, StreamItem};
pub use tool::{Tool, ToolCall, ToolChoice, ToolResult};
pub use usage::Usage;
pub use wire_source::WireSource;
