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
//!
//! # Set up
//!
//! ```toml
//! [dependencies]
//! majordomo = "0.1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! # For typed output and tools:
//! schemars = "1"
//! serde = { version = "1", features = ["derive"] }
//! # For models and middleware that implement their own event streams:
//! futures-core = "0.3"
//! ```
//!
//! A key in the environment, such as `ANTHROPIC_API_KEY`, or an `LLM_<NAME>` variable with a
//! [DSN](dsn) makes its provider usable. A local Ollama needs neither.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `images` | yes | images fitted to each target: the module `media` and [`chain::FitImages`] |
//! | `agent` | yes | tools, typed output, agents and skills: the module `agent` |
//! | `mcp` | no | tools of MCP servers (with `agent`) |
//! | `exact-tokens` | no | exact token counts of OpenAI's encodings |
//!
//! Without the default features, a program that only chats compiles half as many crates:
//! `majordomo = { version = "0.1", default-features = false }`.
//!
//! # What do you want to do?
//!
//! | task | start at | example |
//! |---|---|---|
//! | ask with failover | [`Registry::model`], or [`model`] for one registry per process | [failover] |
//! | stream | [`Chain::stream`], [`StreamItem`] | [streaming] |
//! | ask about an image | [`Part::image`], [`Request::part`] | [image_question] |
//! | get a value of a Rust type | [`Chain::generate_as`] | [typed] |
//! | run an agent with tools | [`agent::Agent`], [`agent::tool`](macro@agent::tool) | [agent](https://github.com/majordomo-llm/majordomo/blob/main/examples/agent.rs), [skills] |
//! | use an MCP server's tools | `agent::McpServer` | [mcp] |
//! | call tools by hand | [`agent::Toolbox`] | [tool_loop] |
//! | embed texts | [`Chain::embed`] | [embeddings] |
//! | generate or edit an image | [`Chain::generate_images`], [`ImageRequest`] | [image_generation] |
//! | configure keys in code | [`providers::Settings`], [`Registry::register`] | [key_in_code] |
//! | add a provider of your own | [`Provider`], [`Model`], [`EventStream`] | [custom_provider] |
//! | wrap models, adapt requests | [`Chain::wrap`], [`Model::extras`], [`chain::Shape`] | [middleware] |
//! | refuse or meter attempts | [`chain::AttemptGate`], [`Chain::gated_by`] | in its documentation |
//! | observe attempts and benches | [`observe::Observer`] | [observer] |
//! | test without a network | [`fake::Fake`], [`clock::ManualClock`] | [testing] |
//! | name specs, also dynamically | [`Registry::alias`], [`registry::Resolver`] | [tiers] |
//! | see what would be sent | [`Chain::preview`], [`Chain::describe`] | [explain] |
//!
//! Every example runs without a key: `cargo run --example failover`.
//!
//! # Errors
//!
//! An [`Error`] says what failed ([`Error::kind`]), how a chain reacts to it
//! ([`Error::class`]), and lists every attempt ([`Error::attempt_log`]). Its causes are in
//! [`source`](std::error::Error::source). Its text never contains a key.
//!
//! [custom_provider]: https://github.com/majordomo-llm/majordomo/blob/main/examples/custom_provider.rs
//! [embeddings]: https://github.com/majordomo-llm/majordomo/blob/main/examples/embeddings.rs
//! [explain]: https://github.com/majordomo-llm/majordomo/blob/main/examples/explain.rs
//! [failover]: https://github.com/majordomo-llm/majordomo/blob/main/examples/failover.rs
//! [image_generation]: https://github.com/majordomo-llm/majordomo/blob/main/examples/image_generation.rs
//! [image_question]: https://github.com/majordomo-llm/majordomo/blob/main/examples/image_question.rs
//! [key_in_code]: https://github.com/majordomo-llm/majordomo/blob/main/examples/key_in_code.rs
//! [mcp]: https://github.com/majordomo-llm/majordomo/blob/main/examples/mcp.rs
//! [middleware]: https://github.com/majordomo-llm/majordomo/blob/main/examples/middleware.rs
//! [observer]: https://github.com/majordomo-llm/majordomo/blob/main/examples/observer.rs
//! [skills]: https://github.com/majordomo-llm/majordomo/blob/main/examples/skills.rs
//! [streaming]: https://github.com/majordomo-llm/majordomo/blob/main/examples/streaming.rs
//! [testing]: https://github.com/majordomo-llm/majordomo/blob/main/examples/testing.rs
//! [tiers]: https://github.com/majordomo-llm/majordomo/blob/main/examples/tiers.rs
//! [tool_loop]: https://github.com/majordomo-llm/majordomo/blob/main/examples/tool_loop.rs
//! [typed]: https://github.com/majordomo-llm/majordomo/blob/main/examples/typed.rs

mod bench_cause;
pub mod chain;
pub mod clock;
mod default_registry;
pub mod dsn;
pub mod health;
mod keys;
pub mod nearest;
pub mod observe;
pub mod registry;
pub mod spec;

/// The items that most programs use, for one glob import.
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
        AnthropicVersion, CapabilityOverrides, Compatible, HttpProvider, MAX_KEYS, Protocol,
        ProviderKind, Settings,
    };
}

pub use chain::Chain;
pub use default_registry::{default_registry, model};
#[cfg(feature = "agent")]
pub use majordomo_agent as agent;
pub use majordomo_llm as llm;
pub use majordomo_llm::{
    BoxFuture, Capabilities, Class, Effort, EmbeddingRequest, EmbeddingResponse, Error, ErrorKind,
    Event, EventStream, FinishReason, Image, ImageRequest, ImageResponse, ImageSize, Json, Message,
    Model, ModelExt, Part, Provider, Request, Response, ResponseStream, Result, Role, StreamItem,
    Tool, ToolCall, ToolChoice, ToolResult, Usage,
};
#[cfg(feature = "images")]
pub use majordomo_media as media;
pub use majordomo_providers::{fake, transport};
pub use registry::Registry;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
