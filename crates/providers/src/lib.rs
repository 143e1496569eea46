//! Providers: they encode a request for an upstream, send it and decode the
//! response.
//!
//! All share one [`transport`]. A *recipe* per provider specifies endpoint, credential,
//! dialect and limits; [`HttpProvider`] implements everything else. Providers neither retry
//! nor track health.
//!
//! The scriptable [`fake`] provider is public, for tests of user code.
//!
//! ```no_run
//! use majordomo_llm::{Provider, Request};
//! use majordomo_providers::transport::{TransportConfig, Transport};
//! use majordomo_providers::{ProviderKind, Settings};
//!
//! # async fn example() -> majordomo_llm::Result<()> {
//! let transport = Transport::new(TransportConfig::default());
//! let ollama = ProviderKind::Ollama.provider(Settings::new("ollama", transport))?;
//! let response = ollama.model("qwen3:8b")?.generate(Request::user("hi")).await?;
//! println!("{}", response.text());
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
mod image_types;
mod images_api;
mod kind;
mod llama_swap;
mod ollama;
mod openai;
mod openai_models;
mod openai_sampling;
mod quirks;
mod reasoning_budget;
mod recipe;
mod settings;

pub use anthropic::AnthropicVersion;
pub use compatible::{Compatible, compatible};
#[cfg(feature = "exact-tokens")]
pub use estimate::count_text;
pub use http::HttpProvider;
pub use kind::ProviderKind;
pub use llama_swap::{LlamaSwap, RunningModel};
/// The protocols of providers, for their dialects' names.
pub use majordomo_wire::Protocol;
pub use settings::{CapabilityOverrides, MAX_KEYS, Settings};
