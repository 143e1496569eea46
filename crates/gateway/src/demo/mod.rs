//! The built-in demo provider, which needs no upstream.
//!
//! `demo/text` accepts text, `demo/vision` reports format and size of images,
//! `demo/slow` takes its time, so that a running request can be watched, `demo/image` draws
//! a small picture, `demo/flaky` fails every third request. Equal requests get equal
//! responses, so that a first `curl`, a guide and a test can rely on them.
//!
//! May use `clip`.

mod budget;
mod instance;
mod model;
mod response;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use majordomo::llm::ModelInfo;
use majordomo::{BoxFuture, Capabilities, Model, Provider, Result};

use model::DemoModel;

/// The demo provider. Clones share its request counter.
///
/// ```
/// use majordomo::{Registry, Request};
/// use majordomo_gateway::Demo;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
/// let registry = Registry::empty();
/// registry.register(Demo::new("demo"));
/// let reply = registry.model("demo/text")?.generate(Request::user("Good morning!")).await?;
/// assert!(reply.text().contains("You said: \"Good morning!\""));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Demo {
    name: Arc<str>,
    corrections: Arc<BTreeMap<String, Capabilities>>,
    flaky_requests: Arc<AtomicU64>,
}

impl Demo {
    /// The ids of its models.
    pub const MODELS: [&'static str; 5] = ["text", "vision", Self::SLOW, Self::IMAGE, Self::FLAKY];

    pub(crate) const SLOW: &'static str = "slow";

    const IMAGE: &'static str = "image";

    const FLAKY: &'static str = "flaky";

    /// Creates the provider under this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            corrections: Arc::default(),
            flaky_requests: Arc::default(),
        }
    }

    /// Overrides capabilities of some models, by id.
    #[must_use]
    pub fn with_models(mut self, models: BTreeMap<String, Capabilities>) -> Self {
        self.corrections = Arc::new(models);
        self
    }

    fn capabilities_of(&self, id: &str) -> Arc<Capabilities> {
        let assumed = || match id {
            "vision" => Capabilities::default(),
            _ => Capabilities::text_only(),
        };
        Arc::new(self.corrections.get(id).cloned().unwrap_or_else(assumed))
    }

    /// Counts a request to the flaky model: every third one fails.
    fn fails_now(&self) -> bool {
        self.flaky_requests.fetch_add(1, Ordering::Relaxed) % 3 == 2
    }
}

impl Provider for Demo {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(DemoModel::new(self.clone(), id)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        let info = |id: &str| ModelInfo {
            id: id.to_owned(),
            capabilities: Some((*self.capabilities_of(id)).clone()),
        };
        let models = Self::MODELS.into_iter().map(info).collect();
        Box::pin(std::future::ready(Ok(models)))
    }
}
