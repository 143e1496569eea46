//! A target of a chain: a model with its health and its credential's.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error, HealthEffect, Model, ModelExt, Provider, Request};

use crate::bench_cause::BenchCause;
use crate::clock::Clock;
use crate::health::{Denied, Health, HealthPermit, Standing, Subject};
use crate::keys::{Conversation, ConversationTables, KeyPermit, KeyRing, RingRefusal, TriedKeys};
use crate::spec::TargetName;

/// Longest `Retry-After` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);
/// How long a rate-limited key is benched if the provider states no time.
const KEY_PAUSE: Duration = Duration::from_secs(5);

/// A model that a chain may call.
#[derive(Clone)]
pub(crate) struct ChainTarget {
    name: TargetName,
    /// Uses the first key, if there are several.
    model: Arc<dyn Model>,
    health: Arc<Subject>,
    keys: TargetKeys,
    /// Whether the clients' own credentials are sent.
    takes_client_credentials: bool,
}

/// The keys of a target.
#[derive(Clone)]
enum TargetKeys {
    One(Arc<Subject>),
    Several(KeyRing),
}

/// Permission to call a target with its credential; reports the outcome to health.
pub(super) struct TargetPermit {
    target: HealthPermit,
    key: ChosenKey,
}

/// The key that a request is sent with.
enum ChosenKey {
    Only(HealthPermit),
    /// One of several keys.
    Chosen(Box<KeyPermit>),
    /// The client's own, to which the health of the configured keys does not apply.
    Clients,
}

/// Why a target may not be called.
pub(super) struct NotAdmitted {
    pub(super) denied: Denied,
    /// The credential is benched, so the target must not be forced.
    pub(super) by_credential: bool,
}

impl ChainTarget {
    pub(crate) fn new(
        name: TargetName,
        provider: &dyn Provider,
        health: &Health,
        conversations: &ConversationTables,
    ) -> Result<Self, Error> {
        let model = provider.model(name.model())?;
        let identity = provider.fingerprint();
        let keys = match KeyRing::of(provider, name.model(), health, conversations)? {
            Some(ring) => TargetKeys::Several(ring),
            None => TargetKeys::One(health.credential(name.provider(), identity)),
        };
        Ok(Self {
            health: health.target(name.as_str(), identity),
            keys,
            takes_client_credentials: provider.takes_client_credentials(),
            name,
            model,
        })
    }

    pub(crate) fn name(&self) -> &TargetName {
        &self.name
    }

    pub(crate) fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The model that sends with the key of a permit.
    pub(super) fn model_for(&self, permit: &TargetPermit) -> &dyn Model {
        match (&self.keys, &permit.key) {
            (TargetKeys::Several(ring), ChosenKey::Chosen(key)) => ring.model(key.number),
            _ => &*self.model,
        }
    }

    /// The standing of the target and of its credential, which is never forced.
    pub(super) fn standing(&self) -> [Standing; 2] {
        let credential = match &self.keys {
            TargetKeys::Several(ring) => ring.standing(),
            TargetKeys::One(credential) => match credential.standing() {
                Standing::Benched { until } => Standing::Closed { until },
                standing => standing,
            },
        };
        [self.health.standing(), credential]
    }

    /// Wraps the model.
    pub(super) fn wrap(
        &self,
        wrap: impl Fn(&TargetName, Arc<dyn Model>) -> Arc<dyn Model>,
    ) -> Self {
        Self {
            model: wrap(&self.name, Arc::clone(&self.model)),
            keys: match &self.keys {
                TargetKeys::One(credential) => TargetKeys::One(Arc::clone(credential)),
                TargetKeys::Several(ring) => {
                    TargetKeys::Several(ring.wrap(|model| wrap(&self.name, model)))
                }
            },
            ..self.clone()
        }
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        self.health.clock()
    }

    /// Admits a request.
    pub(super) fn admit(&self, request: &Request) -> Result<TargetPermit, NotAdmitted> {
        self.enter(request, false)
    }

    /// Admits a request to a benched target, unless the provider demands a pause or the
    /// credential is benched.
    pub(super) fn force(&self, request: &Request) -> Result<TargetPermit, NotAdmitted> {
        self.enter(request, true)
    }

    fn enter(&self, request: &Request, forced: bool) -> Result<TargetPermit, NotAdmitted> {
        let refused = |by_credential| {
            move |denied| NotAdmitted {
                denied,
                by_credential,
            }
        };
        let key = match &self.keys {
            _ if self.is_client_paid(request) => ChosenKey::Clients,
            TargetKeys::One(credential) => {
                ChosenKey::Only(credential.admit().map_err(refused(true))?)
            }
            TargetKeys::Several(ring) => {
                let conversation = Conversation::of(request.prompt());
                let permit = ring.admit(conversation, TriedKeys::default(), forced);
                let refused = |refusal: RingRefusal| NotAdmitted {
                    denied: refusal.denied,
                    by_credential: refusal.by_credential,
                };
                ChosenKey::Chosen(Box::new(permit.map_err(refused)?))
            }
        };
        let target = match forced {
            true => self.health.force(),
            false => self.health.admit(),
        };
        Ok(TargetPermit {
            target: target.map_err(refused(false))?,
            key,
        })
    }

    /// Whether a request is sent with its client's own credential.
    pub(super) fn is_client_paid(&self, request: &Request) -> bool {
        self.takes_client_credentials
            && request.client_credential().is_some_and(|credential| {
                self.model.dialect().as_ref() == Some(credential.dialect())
            })
    }

    /// After a failure that concerns the key alone, exchanges the permit's key for another
    /// one that the request has not tried, if there is one.
    pub(super) fn exchange_key(
        &self,
        permit: &mut TargetPermit,
        tried: &mut TriedKeys,
        request: &Request,
        failure: (Class, &Error),
    ) -> bool {
        let (TargetKeys::Several(ring), ChosenKey::Chosen(key)) = (&self.keys, &mut permit.key)
        else {
            return false;
        };
        if !blames_key(failure.0, failure.1) || !permit.target.still_good() {
            return false;
        }
        tried.add(key.number);
        match ring.admit(Conversation::of(request.prompt()), *tried, false) {
            Ok(another) => {
                **key = another;
                true
            }
            Err(_) => false,
        }
    }

    /// Records the quota of the permit's key, as a response reported it.
    pub(super) fn note_quota(&self, permit: &TargetPermit) {
        if let (TargetKeys::Several(ring), ChosenKey::Chosen(key)) = (&self.keys, &permit.key) {
            ring.note_quota(key.number);
        }
    }
}

/// Whether another key may serve after this failure: the key was rejected, its account is
/// empty, or it exceeds its rate limit. An overloaded server would overload with any key.
fn blames_key(class: Class, error: &Error) -> bool {
    match class {
        Class::Auth | Class::Quota => true,
        Class::RateLimited | Class::Transient => error.status() == Some(429),
        _ => false,
    }
}

impl TargetPermit {
    pub(super) fn succeed(&mut self) {
        self.target.succeed();
        self.key.succeed();
    }

    /// A stream committed: the credential is valid and the target reachable.
    pub(super) fn reopen(&mut self) {
        self.target.reopen();
        self.key.succeed();
    }

    /// Whether this request probes a benched target.
    pub(super) fn is_probe(&self) -> bool {
        self.target.is_probe()
    }

    /// Whether neither target nor credential has been benched since admission.
    pub(super) fn still_good(&self) -> bool {
        self.target.still_good() && self.key.still_good()
    }

    /// Whether the target may be retried, depending on whether it was reached; spends the
    /// retry of a forced attempt.
    pub(super) fn spend_retry(&self, reached: bool) -> bool {
        self.target.spend_retry(reached)
    }

    /// Reports a failure to health, with only its class and status: the text is for the client
    /// whose request failed.
    pub(super) fn fail(&mut self, class: Class, error: &Error) {
        let cause = BenchCause::from_error(error, class);
        let retry_after = error.retry_after().unwrap_or_default();
        let retry_after = retry_after.min(MAX_RETRY_AFTER);
        if let ChosenKey::Chosen(key) = &mut self.key
            && blames_key(class, error)
            && !matches!(class.verdict().health, HealthEffect::BenchCredential(_))
        {
            // The other keys can serve.
            match retry_after.is_zero() {
                true => key.limit.suspend(KEY_PAUSE, cause),
                false => key.limit.throttle(retry_after, cause),
            }
            return;
        }
        match class.verdict().health {
            HealthEffect::None => {}
            HealthEffect::Count => self.target.count(retry_after, cause),
            HealthEffect::Throttle => self.target.throttle(retry_after, cause),
            HealthEffect::Bench(wait) => self.target.suspend(wait, cause),
            HealthEffect::BenchCredential(base) => self.key.refuse(base, cause),
        }
    }
}

impl ChosenKey {
    fn succeed(&mut self) {
        match self {
            Self::Only(credential) => credential.succeed(),
            Self::Chosen(key) => {
                key.credential.succeed();
                key.limit.succeed();
            }
            Self::Clients => {}
        }
    }

    fn still_good(&self) -> bool {
        match self {
            Self::Only(credential) => credential.still_good(),
            Self::Chosen(key) => key.credential.still_good() && key.limit.still_good(),
            Self::Clients => true,
        }
    }

    fn refuse(&mut self, base: Duration, cause: BenchCause) {
        match self {
            Self::Only(credential) => credential.refuse(base, cause),
            Self::Chosen(key) => key.credential.refuse(base, cause),
            Self::Clients => {}
        }
    }
}
