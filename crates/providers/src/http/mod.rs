//! Providers over HTTP: a recipe, settings, and the transport.
//!
//! [`HttpProvider`] creates [`model`]s; [`base_url`] checks its address. [`preflight`] rejects
//! requests that a target is known not to support. [`streamed_body`] reads a streamed
//! response, which [`event_decoder`] decodes and [`raw_chunks`] forwards verbatim.
//! [`discovered_traits`] caches discovered capabilities, [`model_list`] pages through model
//! lists, [`quota`] reads the remaining rate limits of a key, [`attribution`] names the
//! provider in errors, [`image_model`] and [`embedding_model`] are a model's operations
//! besides chat, [`other_calls`] sends
//! them, and [`offload`] decodes large bodies off the async threads.

mod attribution;
mod base_url;
mod by_key;
mod client_credential;
mod discovered_traits;
mod embedding_model;
mod event_decoder;
mod image_model;
mod model;
mod model_list;
mod offload;
mod other_calls;
mod preflight;
mod quota;
mod raw_chunks;
mod required_limit;
mod streamed_body;
mod trace;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::Uri;
use bytes::Bytes;
use majordomo_llm::{
    BoxFuture, ClientCredential, Error, ErrorKind, Fingerprint, Model, ModelInfo, Provider,
    Request, Result,
};
use quick_cache::sync::Cache;
use secrecy::{ExposeSecret, SecretString};

use crate::Settings;
use crate::discovery::ModelTraits;
use crate::recipe::Recipe;
use crate::transport::{
    Credential, ResponseHead, Timeouts, Transport, TransportRequest, TransportResponse,
};
use base_url::{below_version, check_base_url};
use discovered_traits::DiscoveredTraits;
use model::HttpModel;
use trace::trace_headers;

/// Maximum number of models per provider whose traits are cached.
const MAX_CACHED_MODELS: usize = 1_024;
/// Longer ids are not cached: clients can invent any id.
const MAX_CACHED_ID: usize = 256;
/// Timeout of a discovery request.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// A provider over HTTP. Clones share all state.
#[derive(Clone)]
pub struct HttpProvider(Arc<HttpProviderInner>);

struct HttpProviderInner {
    name: String,
    recipe: Arc<dyn Recipe>,
    transport: Transport,
    /// Without a trailing slash; `None` if it is not configured and has no default.
    base_url: Option<String>,
    /// Whether this is the recipe's default endpoint rather than a self-hosted
    /// server.
    is_default_endpoint: bool,
    key: Option<SecretString>,
    /// The header of the key, once it was needed.
    credential: OnceLock<Credential>,
    fingerprint: Fingerprint,
    timeouts: Timeouts,
    settings: Settings,
    /// Shared by all keys of a provider.
    traits: Arc<Cache<String, Arc<DiscoveredTraits>>>,
    /// This provider with each of its keys, if it has several.
    by_key: Vec<HttpProvider>,
    /// Whether to read the key's quota from responses, because the provider has several keys.
    reads_quota: bool,
}

impl HttpProvider {
    fn with_key(
        recipe: Arc<dyn Recipe>,
        settings: Settings,
        traits: Arc<Cache<String, Arc<DiscoveredTraits>>>,
        by_key: Vec<Self>,
        reads_quota: bool,
    ) -> Result<Self> {
        let default_url = recipe.base_url();
        let base_url = settings.base_url.clone().or_else(|| default_url.clone());
        let base_url = base_url.map(|url| below_version(&url, recipe.models_path()).to_owned());
        if let Some(url) = &base_url {
            check_base_url(url).map_err(|error| error.with_provider(&settings.name))?;
        }
        let kind = (&default_url, recipe.key_variables(), recipe.protocol());
        let key = settings.key.as_ref().map(|key| key.expose_secret());
        let headers: Vec<&[u8]> = settings.headers.values().map(|it| it.as_bytes()).collect();
        let all: Vec<Fingerprint> = by_key.iter().map(|it| it.0.fingerprint).collect();
        let fingerprint = match all.as_slice() {
            [] => Fingerprint::of((kind, &base_url, key, headers)),
            all => Fingerprint::of((kind, &base_url, all, headers)),
        };
        Ok(Self(Arc::new(HttpProviderInner {
            fingerprint,
            name: settings.name.clone(),
            transport: settings.transport.clone(),
            is_default_endpoint: base_url == default_url,
            base_url,
            key: settings.key.clone(),
            credential: OnceLock::new(),
            timeouts: settings.timeouts.unwrap_or_else(|| recipe.timeouts()),
            recipe,
            settings,
            traits,
            by_key,
            reads_quota,
        })))
    }

    fn recipe(&self) -> &dyn Recipe {
        &*self.0.recipe
    }

    fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// The traits of a model, shared by all its instances.
    fn traits(&self, model: &str) -> Arc<DiscoveredTraits> {
        if model.len() > MAX_CACHED_ID {
            return Arc::new(DiscoveredTraits::new(self.assumed(model)));
        }
        let make = || Ok::<_, Error>(Arc::new(DiscoveredTraits::new(self.assumed(model))));
        let traits = self.0.traits.get_or_insert_with(model, make);
        traits.unwrap_or_else(|_| Arc::new(DiscoveredTraits::new(self.assumed(model))))
    }

    /// The recipe's defaults, corrected by the settings.
    fn assumed(&self, model: &str) -> ModelTraits {
        let explicit = self.0.settings.models.get(model).cloned();
        let capabilities = explicit.unwrap_or_else(|| {
            let mut capabilities = self.recipe().capabilities(model);
            self.0.settings.limits.apply(&mut capabilities);
            capabilities
        });
        ModelTraits {
            capabilities: Arc::new(capabilities),
            thinking: Default::default(),
        }
    }

    /// Overrides listed capabilities with those of the settings.
    fn override_capabilities(&self, model: &mut ModelInfo) {
        let settings = &self.0.settings;
        if let Some(explicit) = settings.models.get(&model.id) {
            model.capabilities = Some(explicit.clone());
        } else if let Some(discovered) = &mut model.capabilities {
            settings.limits.apply(discovered);
        }
    }

    /// Starts discovery for a model if it is due, without waiting. Capabilities
    /// from the settings are never discovered.
    fn start_discovery(&self, model: &str, traits: &Arc<DiscoveredTraits>) {
        let settings = &self.0.settings;
        if !settings.discovery || settings.models.contains_key(model) {
            return;
        }
        traits.refresh(|| self.discovery_call(model, traits.assumed()));
    }

    /// The discovery call. It keeps only the transport and the recipe alive, not
    /// the provider.
    fn discovery_call(
        &self,
        model: &str,
        assumed: &ModelTraits,
    ) -> Option<impl Future<Output = Result<Option<ModelTraits>>> + Send + use<>> {
        let discovery = self.recipe().discovery_request(model)?;
        let base = self.0.base_url.as_deref()?;
        let base = match discovery.outside_v1 {
            true => base.strip_suffix("/v1").unwrap_or(base),
            false => base,
        };
        let uri = format!("{base}{}", discovery.path).parse().ok()?;
        let request = match discovery.body {
            Some(body) => TransportRequest::post(uri, body).json(),
            None => TransportRequest::get(uri),
        };
        let request = self.apply_settings(request, None).ok()?.timeouts(Timeouts {
            total: Some(DISCOVERY_TIMEOUT),
            ..self.0.timeouts
        });
        let (transport, recipe) = (self.transport().clone(), Arc::clone(&self.0.recipe));
        let limits = self.0.settings.limits.clone();
        let (assumed, model) = (Arc::clone(&assumed.capabilities), model.to_owned());
        Some(async move {
            let body = match transport.send(request).await? {
                TransportResponse::Success(_, body) => body,
                // Unsupported here: cached as a negative result.
                TransportResponse::ErrorStatus(..) => return Ok(None),
            };
            let Some(discovered) = (discovery.decode)(&body, &model)? else {
                return Ok(None);
            };
            let thinking = discovered.thinking;
            let mut capabilities = discovered.merge_into(&assumed);
            recipe.adjust_discovered(&mut capabilities);
            limits.apply(&mut capabilities);
            Ok(Some(ModelTraits {
                capabilities: Arc::new(capabilities),
                thinking,
            }))
        })
    }

    /// The URI of a path below the base URL.
    fn uri(&self, path: &str) -> Result<Uri> {
        let Some(base) = &self.0.base_url else {
            let text = "no base URL is configured: set one, or a DSN in LLM_<NAME>";
            return Err(Error::new(ErrorKind::Spec, text));
        };
        let uri: Result<Uri, _> = format!("{base}{path}").parse();
        uri.map_err(|_| {
            let text = "the model id is not valid in a URL";
            Error::new(ErrorKind::ModelNotFound, text)
        })
    }

    /// Adds credential, headers and timeouts. A self-hosted server may need no key;
    /// the default endpoint always does.
    fn apply_settings(
        &self,
        outgoing: TransportRequest,
        request: Option<&Request>,
    ) -> Result<TransportRequest> {
        let recipe = self.recipe();
        let client = request.and_then(|request| self.client_credential(request));
        let timers = request.map_or(&[][..], |request| &request.options().timers);
        let trace = request.and_then(|request| request.options().trace.as_deref());
        let outgoing = match trace {
            Some(trace) => outgoing.headers(trace_headers(trace, self.0.settings.trace)),
            None => outgoing,
        };
        let request = outgoing
            .headers(recipe.headers(request))
            .timeouts(self.0.timeouts.with_overrides(timers));
        // Configured headers come last: they may replace the credential.
        let headers = self.0.settings.headers.clone();
        if let Some(credential) = client {
            return client_credential::apply(request.headers(headers), credential);
        }
        match (&self.0.key, recipe.key_variables()) {
            (Some(key), _) => {
                let request = request.credential(self.credential(key)?);
                Ok(request.headers(headers))
            }
            (None, []) => Ok(request.headers(headers)),
            (None, _) if !self.0.is_default_endpoint => Ok(request.headers(headers)),
            (None, variables) => {
                let text = format!("no key is configured: set {}", variables.join(" or "));
                Err(Error::new(ErrorKind::MissingKey, text))
            }
        }
    }

    /// The header of the key.
    fn credential(&self, key: &SecretString) -> Result<&Credential> {
        if let Some(known) = self.0.credential.get() {
            return Ok(known);
        }
        let credential = self.recipe().credential(key)?;
        Ok(self.0.credential.get_or_init(|| credential))
    }

    /// The client's own credential, if the request has one for this provider.
    fn client_credential<'r>(&self, request: &'r Request) -> Option<&'r ClientCredential> {
        let credential = request.client_credential();
        credential.filter(|credential| {
            let dialect = self.recipe().protocol().dialect();
            self.0.settings.client_credentials && *credential.dialect() == dialect
        })
    }

    /// Sends a GET request outside the models API.
    pub(crate) async fn get(&self, path: &str) -> Result<Bytes> {
        let body = model_list::get(self, path).await;
        body.map_err(|error| error.with_provider(&self.0.name))
    }

    /// Sends a POST request outside the models API.
    pub(crate) async fn post(&self, path: &str) -> Result<Bytes> {
        let sent = async {
            let request = TransportRequest::post(self.uri(path)?, Bytes::new());
            model_list::send(self, request, None).await
        };
        sent.await
            .map_err(|error| error.with_provider(&self.0.name))
    }

    /// Decodes an error response.
    fn decode_error(&self, head: &ResponseHead, body: &[u8]) -> Error {
        let header = |name: &str| head.header(name);
        let failed = majordomo_wire::FailedResponse {
            status: head.status().as_u16(),
            header: &header,
            body,
            now: self.transport().now(),
        };
        let error = self.recipe().protocol().codec().read_error(&failed);
        // The delay may be only in the header, not in the body.
        let delay = error.retry_after().or(head.retry_after());
        head.add_to(error).with_retry_after(delay)
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(HttpModel::new(self.clone(), id)))
    }

    fn base_url(&self) -> Option<&str> {
        self.0.base_url.as_deref()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(self.0.fingerprint)
    }

    fn by_key(&self) -> Vec<Arc<dyn Provider>> {
        let keyed = self.0.by_key.iter().cloned();
        keyed.map(|it| Arc::new(it) as Arc<dyn Provider>).collect()
    }

    fn takes_client_credentials(&self) -> bool {
        self.0.settings.client_credentials
    }

    fn ready(&self) -> Result<()> {
        let uri = self.uri(self.recipe().models_path());
        let ready = uri.and_then(|uri| self.apply_settings(TransportRequest::get(uri), None));
        ready
            .map(drop)
            .map_err(|error| error.with_provider(&self.0.name))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        Box::pin(async move {
            let mut listed = model_list::list_models(self).await;
            // The first key may be the one that is rejected or exhausted.
            for other in self.0.by_key.iter().skip(1) {
                if listed.is_ok() {
                    break;
                }
                listed = model_list::list_models(other).await;
            }
            let mut models = listed.map_err(|error| self.attribute(error))?;
            for model in &mut models {
                self.override_capabilities(model);
            }
            Ok(models)
        })
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.0.name)
            .field("protocol", &self.recipe().protocol())
            .finish_non_exhaustive()
    }
}
