//! The interface between [`HttpProvider`](crate::HttpProvider) and each provider.

use ::http::HeaderMap;
use majordomo_llm::{Capabilities, Dialect, Request, Result};
use majordomo_wire::{Outgoing, Protocol};
use secrecy::SecretString;

use crate::discovery::{DiscoveryRequest, ModelTraits};
use crate::estimate::TokenRule;
use crate::images_api::{EmbeddingsApi, ImagesApi};
use crate::transport::{Credential, Timeouts};

/// Everything that differs between HTTP providers.
pub(crate) trait Recipe: Send + Sync {
    /// The dialect.
    fn protocol(&self) -> Protocol;

    /// The default base URL; `None` if it must be configured.
    fn base_url(&self) -> Option<String>;

    /// The path of a call, below the base URL.
    fn path(&self, model: &str, request: &Request, stream: bool) -> String;

    /// The path of the model list.
    fn models_path(&self) -> &'static str;

    /// The path for counting tokens, if supported.
    fn count_path(&self, _model: &str) -> Option<String> {
        None
    }

    /// The path for embeddings in a client's dialect, if supported.
    fn embeddings_path(&self, _dialect: &Dialect) -> Option<&'static str> {
        None
    }

    /// The API for typed embeddings, if supported.
    fn embeddings_api(&self, _model: &str) -> Option<EmbeddingsApi> {
        None
    }

    /// The API for image generation, if supported.
    fn images_api(&self, _model: &str) -> Option<ImagesApi> {
        None
    }

    /// The query suffix of the next page, if there is one.
    fn next_page(&self, _page: &[u8]) -> Option<String> {
        None
    }

    /// Whether to request usage for streams: the server reports it only on request, and is
    /// known to accept that, or may accept it and the usage is needed.
    fn asks_for_usage(&self, _needed: bool) -> bool {
        false
    }

    /// Environment variables that may hold the key, in order of precedence. Empty
    /// if no key is needed.
    fn key_variables(&self) -> &'static [&'static str];

    /// The header that carries the key.
    fn credential(&self, key: &SecretString) -> Result<Credential>;

    /// Headers besides the credential; `request` is `None` outside model calls.
    fn headers(&self, _request: Option<&Request>) -> HeaderMap {
        HeaderMap::new()
    }

    /// Capabilities assumed for a model before discovery.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// The request that discovers a model's capabilities, if supported.
    fn discovery_request(&self, _model: &str) -> Option<DiscoveryRequest> {
        None
    }

    /// Adjusts limits that depend on discovered capabilities.
    fn adjust_discovered(&self, _capabilities: &mut Capabilities) {}

    /// The provider's way of counting tokens.
    fn token_rule(&self, _model: &str) -> TokenRule {
        TokenRule::default()
    }

    /// The output limit of a request without one, if the provider requires a limit and the
    /// model's own is unknown.
    fn required_output_limit(&self, _model: &str) -> Option<u64> {
        None
    }

    /// Default timeouts.
    fn timeouts(&self) -> Timeouts {
        Timeouts::default()
    }

    /// Changes settings that the provider's models are known to reject, recording each change.
    fn prepare(&self, request: Request, _model: &str) -> Request {
        request
    }

    /// Sets the encoder's options.
    fn encoding<'a>(
        &self,
        to: Outgoing<'a>,
        _request: &Request,
        _traits: &ModelTraits,
    ) -> Outgoing<'a> {
        to
    }
}
