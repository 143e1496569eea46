//! A provider over HTTP: a recipe, the settings, and the transport.
//!
//! [`HttpProvider`] makes models, [`model`] asks them, [`known`] keeps what the
//! server told about them, [`answer`] is a streamed body, [`events`] turns it into
//! events, [`pieces`] passes it on as it came,
//! [`list`] reads lists of models page by page, [`offload`] reads what is large off
//! the async threads, and [`backstop`] refuses what a
//! target is known not to take before anything is sent.

mod answer;
mod backstop;
mod events;
mod known;
mod list;
mod model;
mod offload;
mod pieces;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;
use bytes::Bytes;
use majordomo_llm::{
    BoxFuture, Error, ErrorKind, Fingerprint, Model, ModelInfo, Provider, Request, Result,
};
use quick_cache::sync::Cache;
use secrecy::{ExposeSecret, SecretString};

use crate::Settings;
use crate::discovery::Knowledge;
use crate::recipe::Recipe;
use crate::transport::{Head, Outgoing, Reply, Timeouts, Transport};
use known::Known;
use model::HttpModel;

/// How many models of one provider are remembered.
const MOST_KNOWN: usize = 1_024;
/// A longer id is nobody's model; clients may make up any.
const LONGEST_KNOWN: usize = 256;
/// How long a question about a model may take.
const LONGEST_QUESTION: Duration = Duration::from_secs(10);

/// A provider that is reached over HTTP. Clones share everything.
#[derive(Clone)]
pub struct HttpProvider(Arc<Inner>);

struct Inner {
    name: String,
    recipe: Arc<dyn Recipe>,
    transport: Transport,
    /// Without a trailing slash; none if nobody said where the provider is.
    base_url: Option<String>,
    /// Whether it is the service itself and no server of the user's own.
    at_home: bool,
    key: Option<SecretString>,
    fingerprint: Fingerprint,
    timeouts: Timeouts,
    settings: Settings,
    known: Cache<String, Arc<Known>>,
}

impl HttpProvider {
    pub(crate) fn new(recipe: Arc<dyn Recipe>, settings: Settings) -> Result<Self> {
        let home = recipe.base_url();
        let base_url = settings.base_url.clone().or_else(|| home.clone());
        let base_url = base_url.map(|url| url.trim_end_matches('/').to_owned());
        if let Some(url) = &base_url {
            check_base_url(url).map_err(|error| error.with_provider(&settings.name))?;
        }
        let kind = (&home, recipe.key_variables(), recipe.protocol());
        let key = settings.key.as_ref().map(|key| key.expose_secret());
        let fingerprint = Fingerprint::of((kind, &base_url, key));
        Ok(Self(Arc::new(Inner {
            fingerprint,
            name: settings.name.clone(),
            transport: settings.transport.clone(),
            at_home: base_url == home,
            base_url,
            key: settings.key.clone(),
            timeouts: settings.timeouts.unwrap_or_else(|| recipe.timeouts()),
            recipe,
            settings,
            known: Cache::new(MOST_KNOWN),
        })))
    }

    fn recipe(&self) -> &dyn Recipe {
        &*self.0.recipe
    }

    fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// What is known about a model, shared by all who ask for it.
    fn known(&self, model: &str) -> Arc<Known> {
        if model.len() > LONGEST_KNOWN {
            return Arc::new(Known::new(self.assumed(model)));
        }
        let make = || Ok::<_, Error>(Arc::new(Known::new(self.assumed(model))));
        let known = self.0.known.get_or_insert_with(model, make);
        known.unwrap_or_else(|_| Arc::new(Known::new(self.assumed(model))))
    }

    /// The provider's default, corrected by the settings.
    fn assumed(&self, model: &str) -> Knowledge {
        let explicit = self.0.settings.models.get(model).cloned();
        let capabilities = explicit.unwrap_or_else(|| {
            let mut capabilities = self.recipe().capabilities(model);
            self.0.settings.limits.apply(&mut capabilities);
            capabilities
        });
        Knowledge {
            capabilities: Arc::new(capabilities),
            thinking: Default::default(),
        }
    }

    /// Lets the settings overrule what the server's list says.
    fn correct(&self, model: &mut ModelInfo) {
        let settings = &self.0.settings;
        if let Some(explicit) = settings.models.get(&model.id) {
            model.capabilities = Some(explicit.clone());
        } else if let Some(told) = &mut model.capabilities {
            settings.limits.apply(told);
        }
    }

    /// Asks the server about a model if that is due, without waiting. What the
    /// settings say about a model is never questioned.
    fn learn(&self, model: &str, known: &Arc<Known>) {
        let settings = &self.0.settings;
        if !settings.discovery || settings.models.contains_key(model) {
            return;
        }
        known.refresh(|| self.ask(model, known.assumed()));
    }

    /// The question about a model. It holds nothing of the provider but the
    /// transport and the recipe.
    fn ask(
        &self,
        model: &str,
        assumed: &Knowledge,
    ) -> Option<impl Future<Output = Result<Option<Knowledge>>> + Send + use<>> {
        let question = self.recipe().question(model)?;
        let base = self.0.base_url.as_deref()?;
        let base = match question.beside_v1 {
            true => base.strip_suffix("/v1").unwrap_or(base),
            false => base,
        };
        let address = format!("{base}{}", question.path).parse().ok()?;
        let request = match question.body {
            Some(body) => Outgoing::post(address, body)
                .header("content-type", "application/json")
                .ok()?,
            None => Outgoing::get(address),
        };
        let request = self.dress(request, None).ok()?.timeouts(Timeouts {
            total: Some(LONGEST_QUESTION),
            ..self.0.timeouts
        });
        let (transport, recipe) = (self.transport().clone(), Arc::clone(&self.0.recipe));
        let limits = self.0.settings.limits.clone();
        let (assumed, model) = (Arc::clone(&assumed.capabilities), model.to_owned());
        Some(async move {
            let body = match transport.whole(request).await? {
                Reply::Accepted(_, body) => body,
                // A server that does not tell is not asked again soon.
                Reply::Refused(..) => return Ok(None),
            };
            let Some(told) = (question.read)(&body, &model)? else {
                return Ok(None);
            };
            let thinking = told.thinking;
            let mut capabilities = told.over(&assumed);
            recipe.learned(&mut capabilities);
            limits.apply(&mut capabilities);
            Ok(Some(Knowledge {
                capabilities: Arc::new(capabilities),
                thinking,
            }))
        })
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

    /// Adds key, headers and timers. A server of the user's own may need no key,
    /// and says so if it does; the service itself always does.
    fn dress(&self, outgoing: Outgoing, request: Option<&Request>) -> Result<Outgoing> {
        let recipe = self.recipe();
        let timers = request.map(Request::get_timers).unwrap_or_default();
        let request = outgoing
            .headers(recipe.headers(request))
            .timeouts(self.0.timeouts.with(timers));
        match (&self.0.key, recipe.key_variables()) {
            (Some(key), _) => Ok(request.credential(&recipe.credential(key)?)),
            (None, []) => Ok(request),
            (None, _) if !self.0.at_home => Ok(request),
            (None, variables) => {
                let text = format!("no key is configured: set {}", variables.join(" or "));
                Err(Error::new(ErrorKind::MissingKey, text))
            }
        }
    }

    /// Asks for something beside models and answers.
    pub(crate) async fn get(&self, path: &str) -> Result<Bytes> {
        let body = list::get(self, path).await;
        body.map_err(|error| error.with_provider(&self.0.name))
    }

    /// Tells it to do something beside answering.
    pub(crate) async fn post(&self, path: &str) -> Result<Bytes> {
        let sent = async {
            let request = Outgoing::post(self.address(path)?, Bytes::new());
            list::send(self, request, None).await
        };
        sent.await
            .map_err(|error| error.with_provider(&self.0.name))
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
            Some(key) => error.redacting(key.expose_secret()),
            None => error,
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

    fn base_url(&self) -> Option<&str> {
        self.0.base_url.as_deref()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(self.0.fingerprint)
    }

    fn ready(&self) -> Result<()> {
        let address = self.address(self.recipe().models_path());
        let ready = address.and_then(|address| self.dress(Outgoing::get(address), None));
        ready
            .map(drop)
            .map_err(|error| error.with_provider(&self.0.name))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        Box::pin(async move {
            let mut models = list::models(self)
                .await
                .map_err(|error| self.named(error))?;
            for model in &mut models {
                self.correct(model);
            }
            Ok(models)
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
