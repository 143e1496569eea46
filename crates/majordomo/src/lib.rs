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
mod chain;
mod clock;
mod dsn;
mod health;
mod nearest;
mod observe;
mod registry;
mod spec;

pub use bench_cause::BenchCause;
pub use chain::{
    AllBenched, Chain, ChainConfig, FitImages, ForwardedStream, Forwarding, OpenStream, Preview,
    Shape, Shaped, TargetView,
};
pub use clock::{Clock, ManualClock, RuntimeClock};
pub use dsn::{Dsn, DsnError, DsnOptions};
pub use health::{Health, HealthConfig, HealthStatus, Standing};
pub use majordomo_agent as agent;
pub use majordomo_llm::*;
pub use majordomo_media as media;
#[cfg(feature = "exact-tokens")]
pub use majordomo_providers::count_text;
pub use majordomo_providers::{
    AnthropicVersion, CapabilityOverrides, Compatible, HttpProvider, ProviderKind, Settings, fake,
    transport,
};
pub use nearest::{did_you_mean, nearest, nearest_few};
pub use observe::{Notice, Observer};
pub use registry::{
    DsnProblem, LoadEnvError, Registry, RegistryBuilder, Resolver, SchemeFactory, ollama_url,
};
/// A DSN's token, for scheme factories.
pub use secrecy::{ExposeSecret, SecretString};
pub use spec::{SpecError, TargetName};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
