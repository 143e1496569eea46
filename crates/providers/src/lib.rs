//! Where the contract meets those who answer.
//!
//! One [`transport`] for all; one small *recipe* per provider says what is its
//! own (endpoint, key, dialect, limits), and [`http`](HttpProvider) does the rest.
//! Providers translate and send: they never retry and never judge health.
//!
//! The [`fake`] provider is public, so that users can test their own code with it.
//!
//! ```no_run
//! use majordomo_llm::{Provider, Request};
//! use majordomo_providers::transport::{Config, Transport};
//! use majordomo_providers::{ProviderKind, Settings};
//!
//! # async fn example() -> majordomo_llm::Result<()> {
//! let transport = Transport::new(Config::default());
//! let ollama = ProviderKind::Ollama.provider(Settings::new("ollama", transport))?;
//! let reply = ollama.model("qwen3:8b")?.generate(Request::user("hi")).await?;
//! println!("{}", reply.text());
//! # Ok(()) }
//! ```

pub mod fake;
pub mod transport;

mod anthropic;
mod compatible;
mod discovery;
mod estimate;
mod google;
mod http;
mod kind;
mod llama_swap;
mod ollama;
mod openai;
mod openai_models;
mod quirks;
mod recipe;
mod settings;

pub use anthropic::AnthropicVersion;
pub use compatible::{Compatible, compatible};
#[cfg(feature = "exact-tokens")]
pub use estimate::count_text;
pub use http::HttpProvider;
pub use kind::ProviderKind;
pub use llama_swap::{LlamaSwap, Running};
pub use settings::{CapabilityOverrides, Settings};
