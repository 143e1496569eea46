//! llama-swap: Chat Completions, and what it has loaded.

use ::http::Uri;
use majordomo_llm::{BoxFuture, Error, ErrorKind, Model, ModelInfo, Provider, Result};
use serde::Deserialize;
use std::sync::Arc;

use crate::{HttpProvider, ProviderKind, Settings};

/// A llama-swap. As a [`Provider`] it is what [`ProviderKind::LlamaSwap`] makes; beside
/// that it tells which models are loaded, and unloads them.
///
/// ```no_run
/// use majordomo_providers::transport::{Config, Transport};
/// use majordomo_providers::{LlamaSwap, Settings};
///
/// # async fn example() -> majordomo_llm::Result<()> {
/// let settings = Settings::new("box", Transport::new(Config::default()));
/// let swap = LlamaSwap::new(settings.base_url("http://box:8080"))?;
/// for running in swap.running().await? {
///     println!("{} is {}", running.model, running.state);
/// }
/// swap.unload("qwen3-30b").await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct LlamaSwap(HttpProvider);

/// A model that is loaded, or on its way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Running {
    /// Its id.
    pub model: String,
    /// What it is doing, in llama-swap's own word: `ready`, `starting`, `stopping`.
    #[serde(default)]
    pub state: String,
}

#[derive(Deserialize)]
struct RunningList {
    #[serde(default)]
    running: Vec<Running>,
}

impl LlamaSwap {
    /// A llama-swap with these settings; they must have its address.
    pub fn new(settings: Settings) -> Result<Self> {
        ProviderKind::LlamaSwap.provider(settings).map(Self)
    }

    /// The models that are loaded.
    pub async fn running(&self) -> Result<Vec<Running>> {
        let body = self.0.get("/running").await?;
        let list: RunningList = serde_json::from_slice(&body).map_err(|_| {
            let text = "the list of running models could not be read";
            Error::new(ErrorKind::BadResponse, text).with_provider(self.name())
        })?;
        Ok(list.running)
    }

    /// Unloads one model.
    pub async fn unload(&self, model: &str) -> Result<()> {
        // The id is the end of the path: these would make it another path.
        let odd = model.contains(['/', '?', '#']) || model.is_empty();
        if odd || format!("/{model}").parse::<Uri>().is_err() {
            let text = "this id cannot be named in an address, so it cannot be unloaded alone";
            return Err(Error::new(ErrorKind::Unsupported, text).with_target(self.name(), model));
        }
        let path = format!("/api/models/unload/{model}");
        self.0.post(&path).await.map(drop)
    }

    /// Unloads all models.
    pub async fn unload_all(&self) -> Result<()> {
        self.0.post("/api/models/unload").await.map(drop)
    }
}

impl Provider for LlamaSwap {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        self.0.model(id)
    }

    fn base_url(&self) -> Option<&str> {
        self.0.base_url()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        self.0.models()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Config, Transport};

    #[test]
    fn it_tells_its_address_without_a_trailing_slash() {
        let settings = Settings::new("box", Transport::new(Config::default()));
        let swap = LlamaSwap::new(settings.base_url("http://box:8080/")).unwrap();
        assert_eq!(swap.base_url(), Some("http://box:8080"));
    }
}
