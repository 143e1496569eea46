//! llama-swap: Chat Completions, plus listing and unloading of models.
//!
//! # Wire shapes
//!
//! Checked on 2026-11-15 against the sources of llama.cpp (2026-08-22).
//!
//! | operation | shape |
//! |---|---|
//! | chat | Chat Completions below `{base}/v1`, with `max_tokens`; reasoning in `reasoning_content` |
//! | images | `POST /sdapi/v1/txt2img` and `img2img`, chosen by `model`; `/v1/images/generations` ignores the seed |
//! | models | `GET /v1/models`: `{"data":[{"id"}]}` |
//! | running models | `GET /running`: `{"running":[{"model","state"}]}` |
//! | unload | `POST /api/models/unload/{model}` |
//! | still loading | 503 with `unavailable_error`, which is transient |

use ::http::Uri;
use majordomo_llm::{BoxFuture, Error, ErrorKind, Model, ModelInfo, Provider, Result};
use serde::Deserialize;
use std::sync::Arc;

use crate::{HttpProvider, ProviderKind, Settings};

/// A llama-swap server. It is the [`Provider`] of [`ProviderKind::LlamaSwap`] that
/// also lists loaded models and unloads them.
///
/// ```no_run
/// use majordomo_providers::transport::{TransportConfig, Transport};
/// use majordomo_providers::{LlamaSwap, Settings};
///
/// # async fn example() -> majordomo_llm::Result<()> {
/// let settings = Settings::new("box", Transport::new(TransportConfig::default()));
/// let swap = LlamaSwap::new(settings.base_url("http://box:8080"))?;
/// for running in swap.running().await? {
///     println!("{} is {}", running.model, running.state);
/// }
/// swap.unload("qwen3-30b").await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct LlamaSwap(HttpProvider);

/// A model that is loaded or loading.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunningModel {
    /// The model id.
    pub model: String,
    /// The state in llama-swap's terms: `ready`, `starting`, `stopping`.
    #[serde(default)]
    pub state: String,
}

#[derive(Deserialize)]
struct RunningModels {
    #[serde(default)]
    running: Vec<RunningModel>,
}

impl LlamaSwap {
    /// Creates the provider; `settings` must have a base URL.
    pub fn new(settings: Settings) -> Result<Self> {
        ProviderKind::LlamaSwap.provider(settings).map(Self)
    }

    /// Lists the loaded models.
    pub async fn running(&self) -> Result<Vec<RunningModel>> {
        let body = self.0.get("/running").await?;
        let list: RunningModels = serde_json::from_slice(&body).map_err(|_| {
            let text = "the list of running models is malformed";
            Error::new(ErrorKind::BadResponse, text).with_provider(self.name())
        })?;
        Ok(list.running)
    }

    /// Unloads one model.
    pub async fn unload(&self, model: &str) -> Result<()> {
        // The id becomes the last path segment and must not alter the path.
        let alters_path = model.contains(['/', '?', '#']) || model.is_empty();
        if alters_path || format!("/{model}").parse::<Uri>().is_err() {
            let text =
                "the model id is not valid in a URL, so the model cannot be unloaded by itself";
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
    use crate::transport::{Transport, TransportConfig};

    #[test]
    fn the_base_url_has_no_trailing_slash() {
        let settings = Settings::new("box", Transport::new(TransportConfig::default()));
        let swap = LlamaSwap::new(settings.base_url("http://box:8080/")).unwrap();
        assert_eq!(swap.base_url(), Some("http://box:8080"));
    }
}
