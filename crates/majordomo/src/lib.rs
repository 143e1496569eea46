//! One interface to many language models, with failover built in.
//!
//! A model *spec* such as `m5/qwen3:30b,ollama-cloud/kimi-k2.6:cloud,thinking` is a chain:
//! targets and aliases, tried in order. Each target receives the request shaped for it, and
//! targets that keep failing are benched.
//!
//! ```
//! use majordomo::fake::{Fake, Step};
//! use majordomo::{Error, Registry, Request};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! let registry = Registry::from_env();
//! # let fake = Fake::new("m5");
//! # fake.enqueue("qwen3:30b", [Step::reply("hello")]);
//! # registry.register(fake);
//! # registry.register(Fake::new("anthropic"));
//! registry.alias("thinking", "anthropic/claude-opus-5-5")?;
//! let model = registry.model("m5/qwen3:30b,thinking")?;
//! let reply = model
//!     .generate(Request::user("hi").system("You are terse.").max_tokens(200))
//!     .await?;
//! println!("{} (served by {})", reply.text(), reply.model);
//! # assert_eq!(reply.model, "m5/qwen3:30b");
//! # Ok(()) }
//! ```

mod bench_cause;
pub mod chain;
pub mod clock;
pub mod dsn;
pub mod health;
pub mod nearest;
pub mod observe;
pub mod registry;
pub mod spec;

/// What most programs use, for one glob import.
///
/// ```
/// use majordomo::prelude::*;
///
/// let request = Request::user("hi").max_tokens(200);
/// # let _ = request;
/// ```
pub mod prelude {
    pub use crate::{
        Chain, Error, Message, Model, ModelExt, Part, Provider, Registry, Request, Response,
        Result, StreamItem,
    };
}

/// Providers over HTTP, and their settings.
pub mod providers {
    #[cfg(feature = "exact-tokens")]
    pub use majordomo_providers::count_text;
    pub use majordomo_providers::{
        AnthropicVersion, CapabilityOverrides, Compatible, HttpProvider, ProviderKind, Settings,
    };
}

pub use chain::Chain;
#[cfg(feature = "agent")]
pub use majordomo_agent as agent;
pub use majordomo_llm as llm;
pub use majordomo_llm::{
    BoxFuture, Capabilities, Class, Effort, Error, ErrorKind, Event, EventStream, FinishReason,
    Image, Json, Message, Model, ModelExt, Part, Provider, Request, Response, ResponseStream,
    Result, Role, StreamItem, Tool, ToolCall, ToolChoice, ToolResult, Usage,
};
#[cfg(feature = "images")]
pub use majordomo_media as media;
pub use majordomo_providers::{fake, transport};
pub use registry::Registry;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
