//! A provider over HTTP: a recipe, the settings, and the transport.
//!
//! [`HttpProvider`] makes models, [`model`] asks them, [`events`] turns a
//! streamed body into events, [`backstop`] refuses what a target is known not to
//! take before anything is sent.

mod backstop;
mod events;
mod model;

use std::fmt;
use std::sync::Arc;

use ::http::Uri;
use majordomo_llm::{
    BoxFuture, Capabilities, Error, ErrorKind, Model, ModelInfo, Provider, Result,
};
use secrecy::{ExposeSecret, SecretString};

use crate::Settings;
use crate::recipe::Recipe;
use crate::transport::{Head, Outgoing, Reply, Timeouts, Transport};
use model::HttpModel;

/// A provider that is reached over HTTP. Clones share everything.
#[derive(Clone)]
pub struct HttpProvider(Arc<Inner>);

struct Inner {
    name: String,
    recipe: Arc<dyn Recipe>,
    transport: Transport,
    /// Without a trailing slash; none if nobody said where the provider is.
    base_url: Option<String>,
    key: Option<SecretString>,
    timeouts: Timeouts,
    settings: Settings,
}

impl HttpProvider {
    pub(crate) fn new(recipe: Arc<dyn Recipe>, settings: Settings) -> Result<Self> {
        let base_url = settings.base_url.clone().or_else(|| recipe.base_url());
        let base_url = base_url.map(|url| url.trim_end_matches('/').to_owned());
        if let Some(url) = &base_url {
            check_base_url(url).map_err(|error| error.with_provider(&settings.name))?;
        }
        Ok(Self(Arc::new(Inner {
            name: settings.name.clone(),
            transport: settings.transport.clone(),
            base_url,
            key: settings.key.clone(),
            timeouts: settings.timeouts.unwrap_or_else(|| recipe.timeouts()),
            recipe,
            settings,
        })))
    }

    fn recipe(&self) -> &dyn Recipe {
        &*self.0.recipe
    }

    fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// What a model takes: the provider's default, corrected by the settings.
    fn capabilities(&self, model: &str) -> Capabilities {
        if let Some(known) = self.0.settings.models.get(model) {
            return known.clone();
        }
        let mut capabilities = self.recipe().capabilities(model);
        self.0.settings.limits.apply(&mut capabilities);
        capabilities
    }

    /// The address of a path below the provider's base.
    fn address(&self, path: &str) -> Result<Uri> {
        let Some(base) = &self.0.base_url else {
            let text = "its address is not known: set its base URL, or a DSN in LLM_<NAME>";
            return Err(Error::new(ErrorKind::Spec, text));
        };
        let address: Result<Uri, _> = format!("{base}{path}").parse();
        address.map_err(|_| {
            let text = "the model's id cannot be part of an address";
            Error::new(ErrorKind::ModelNotFound, text)
        })
    }

    /// Adds key, headers and timers.
    fn dress(&self, request: Outgoing) -> Result<Outgoing> {
        let recipe = self.recipe();
        let request = request.headers(recipe.headers()).timeouts(self.0.timeouts);
        match (&self.0.key, recipe.key_variables()) {
            (Some(key), _) => Ok(request.credential(&recipe.credential(key)?)),
            (None, []) => Ok(request),
            (None, variables) => {
                let text = format!("no key is configured: set {}", variables.join(" or "));
                Err(Error::new(ErrorKind::MissingKey, text))
            }
        }
    }

    /// What the provider said instead of an answer.
    fn refusal(&self, head: &Head, body: &[u8]) -> Error {
        let header = |name: &str| head.header(name);
        let failed = majordomo_wire::FailedAnswer {
            status: head.status().as_u16(),
            header: &header,
            body,
            now: self.transport().now(),
        };
        let error = self.recipe().protocol().codec().read_error(&failed);
        // Not every dialect's body names the wait or the request; the head may.
        let wait = error.retry_after().or(head.retry_after());
        head.explain(error).with_retry_after(wait)
    }

    /// An error of this provider, without its key.
    fn named(&self, error: Error) -> Error {
        let error = error.with_provider(&self.0.name);
        match &self.0.key {
            Some(key) => error.hiding(key.expose_secret()),
            None => error,
        }
    }

    async fn list(&self) -> Result<Vec<ModelInfo>> {
        let address = self.address(self.recipe().models_path())?;
        let request = self.dress(Outgoing::get(address))?;
        match self.transport().whole(request).await? {
            Reply::Accepted(_, body) => self.recipe().protocol().codec().read_models(&body),
            Reply::Refused(head, body) => Err(self.refusal(&head, &body)),
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(HttpModel::new(self.clone(), id)))
    }

    fn ready(&self) -> Result<()> {
        let address = self.address(self.recipe().models_path());
        let ready = address.and_then(|address| self.dress(Outgoing::get(address)));
        ready
            .map(drop)
            .map_err(|error| error.with_provider(&self.0.name))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        Box::pin(async move {
            let models = self.list().await;
            models.map_err(|error| self.named(error))
        })
    }
}

/// A base URL is `http` or `https`, a host, maybe a path, and nothing else.
fn check_base_url(url: &str) -> Result<()> {
    let bad = |why: &str| Err(Error::new(ErrorKind::Spec, format!("its base URL {why}")));
    let Ok(uri) = url.parse::<Uri>() else {
        return bad("is not a URL");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return bad("must begin with http:// or https://");
    }
    if uri.host().is_none_or(str::is_empty) {
        return bad("names no host");
    }
    if uri.query().is_some() {
        return bad("must not have a query");
    }
    if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
        return bad("must not hold a user or password; give the key on its own");
    }
    Ok(())
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.0.name)
            .field("protocol", &self.recipe().protocol())
            .finish_non_exhaustive()
    }
}
