//! Provider-neutral types for language models.
//!
//! - [`Request`] is what a caller sends: messages made of [`Part`]s, [`Tool`]s and
//!   sampling settings.
//! - [`Model`] serves requests and [`Provider`] creates models; codecs, transports
//!   and chains implement them.
//! - [`Response`] is a complete result. A streamed one arrives as [`Event`]s, which
//!   an [`Assembler`] folds into a `Response`.
//! - [`ImageModel`] generates images and [`EmbeddingModel`] embeds texts, next to the chat
//!   model of the same target.
//! - [`Error`] describes a failure; [`classify`] decides whether to retry, fail over or give
//!   up.
//! - [`AttemptLog`] records which targets were tried and what was changed for them.
//!
//! The crate performs no I/O, spawns no tasks and knows no provider. Of the workspace it
//! uses `image-header` only, which parses the headers of images.
//!
//! ```
//! use majordomo_llm::Request;
//!
//! let request = Request::user("What is in this picture?")
//!     .system("You are terse.")
//!     .max_tokens(200);
//! assert_eq!(request.prompt().messages[0].text(), "What is in this picture?");
//! assert_eq!(request.prompt().max_tokens, Some(200));
//! ```

mod accept;
mod assembler;
mod attempt_log;
mod call_context;
mod call_options;
mod capabilities;
mod change_recorder;
mod classify;
mod client_credential;
mod dialect;
mod embedding;
mod error;
mod error_kind;
mod estimate;
mod event;
mod fingerprint;
mod image_data;
mod image_model;
mod image_request;
mod image_size;
mod images;
mod json;
mod message;
mod model;
mod model_extras;
mod native_images;
mod opaque;
mod output_count;
mod output_limit;
mod part;
mod prompt;
mod quota;
mod raw_chunk;
mod raw_recorder;
mod redact;
mod redacted_cause;
mod request;
mod request_counts;
mod response;
mod retry_after;
mod stream;
mod tokenizer_family;
mod tool;
mod trace_headers;
mod usage;
mod variants;
mod wire_source;

pub use accept::{Accept, Rejection};
pub use assembler::Assembler;
pub use attempt_log::{Attempt, AttemptLog, AttemptOutcome, Change};
pub use call_context::CallContext;
pub use call_options::CallOptions;
pub use capabilities::{ByteCount, Capabilities, ImageLimits, ManyImages, PatchLimit};
pub use change_recorder::ChangeRecorder;
pub use classify::{Class, HealthEffect, KeyOwner, NextTarget, SameTarget, Verdict, classify};
pub use client_credential::ClientCredential;
pub use dialect::{Dialect, Native};
pub use embedding::{BatchLimits, EmbeddingModel, EmbeddingRequest, EmbeddingResponse};
pub use error::{Error, Result};
pub use error_kind::{ErrorKind, Timer};
pub use estimate::{HeuristicEstimator, TokenEstimator};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use image_data::ImageData;
pub use image_model::{ImageModel, ImageResponse};
pub use image_request::{ImageBody, ImagePrompt, ImageRequest};
pub use image_size::ImageSize;
pub use images::{ImageRef, Images, ImagesMut};
pub use json::Json;
pub use message::{Message, Role};
pub use model::{BoxFuture, Model, ModelInfo, Provider};
pub use model_extras::{ModelExt, ModelExtras};
pub use opaque::{Opaque, OpaqueImages};
pub use output_count::{OutputCount, OutputCounter};
pub use part::{File, Image, Part, Reasoning, RemoteImage, Text};
pub use prompt::{Effort, OutputFormat, OutputSchema, Prompt};
pub use quota::{Quota, QuotaWindow};
pub use raw_chunk::{RawChunk, RawChunkStream};
pub use raw_recorder::RawRecorder;
pub use redact::redact;
pub use request::Request;
pub use request_counts::RequestCounts;
pub use response::{FinishReason, RawBody, Response};
pub use retry_after::retry_after;
pub use stream::{EventStream, ResponseStream, StreamItem};
pub use tokenizer_family::TokenizerFamily;
pub use tool::{Tool, ToolCall, ToolChoice, ToolResult};
pub use trace_headers::TraceHeaders;
pub use usage::Usage;
pub use wire_source::{BodySpans, FieldSpan, WireSource};

pub use majordomo_image_header as image_header;
