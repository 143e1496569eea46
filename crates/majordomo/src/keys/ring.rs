//! The keys of a target, their health, and the permission to use one.

use std::sync::Arc;

use majordomo_llm::{Error, Fingerprint, Model, Provider, Result};

use super::choice::{KeyState, TriedKeys, choose};
use super::conversations::{ConversationTable, ConversationTables};
use super::{Conversation, MAX_KEYS};
use crate::health::{Denied, Health, HealthPermit, Standing, Subject, key_subject};

/// The keys of a target.
#[derive(Clone)]
pub(crate) struct KeyRing {
    pub(super) keys: Arc<[RingKey]>,
    conversations: Arc<ConversationTable>,
    /// Distinguishes the target's conversations from those of the provider's other models,
    /// whose prompts are cached separately.
    model: u64,
}

/// One key of a target.
#[derive(Clone)]
pub(super) struct RingKey {
    model: Arc<dyn Model>,
    identity: Option<Fingerprint>,
    /// Rejected keys and empty accounts, for all models.
    pub(super) credential: Arc<Subject>,
    /// The rate limits of this model, and their quota.
    pub(super) limit: Arc<Subject>,
}

/// Permission to use a key.
pub(crate) struct KeyPermit {
    pub(crate) number: usize,
    pub(crate) credential: HealthPermit,
    pub(crate) limit: HealthPermit,
}

/// Why no key may be used.
pub(crate) struct RingRefusal {
    pub(crate) denied: Denied,
    /// All keys are rejected, rather than paused.
    pub(crate) by_credential: bool,
}

impl KeyRing {
    /// The keys of a provider's model; `None` unless the provider has several.
    pub(crate) fn of(
        provider: &dyn Provider,
        model: &str,
        health: &Health,
        tables: &ConversationTables,
    ) -> Result<Option<Self>> {
        let providers = provider.by_key();
        if providers.is_empty() {
            return Ok(None);
        }
        let name = provider.name();
        let key = |(number, keyed): (usize, Arc<dyn Provider>)| {
            let subject = key_subject(name, number);
            let identity: Option<Fingerprint> = keyed.fingerprint();
            Ok(RingKey {
                model: keyed.model(model)?,
                identity,
                limit: health.target(&format!("{subject}/{model}"), identity),
                credential: health.credential(&subject, identity),
            })
        };
        let keys = (1..).zip(providers).take(MAX_KEYS).map(key);
        let keys = keys.collect::<Result<Vec<RingKey>, Error>>()?;
        Ok(Some(Self {
            keys: keys.into(),
            conversations: tables.of(name),
            model: model.bytes().fold(0, |hash: u64, byte| {
                hash.wrapping_mul(31).wrapping_add(byte.into())
            }),
        }))
    }

    /// The model that sends with a key.
    pub(crate) fn model(&self, key: usize) -> &dyn Model {
        &*self.keys[key].model
    }

    /// Wraps the model of each key.
    pub(crate) fn wrap(&self, wrap: impl Fn(Arc<dyn Model>) -> Arc<dyn Model>) -> Self {
        let wrapped = |key: &RingKey| RingKey {
            model: wrap(Arc::clone(&key.model)),
            ..key.clone()
        };
        Self {
            keys: self.keys.iter().map(wrapped).collect(),
            ..self.clone()
        }
    }

    /// Admits a request of a conversation to a key that it has not tried, and remembers the
    /// key. A `forced` request is admitted despite a bench, unless the provider demanded the
    /// pause.
    pub(crate) fn admit(
        &self,
        conversation: Option<Conversation>,
        mut tried: TriedKeys,
        forced: bool,
    ) -> std::result::Result<KeyPermit, RingRefusal> {
        let alone = conversation.is_none();
        let conversation = conversation.unwrap_or_else(|| self.conversations.lone_request());
        let conversation = Conversation(conversation.0 ^ self.model);
        let current = self.current_key(conversation);
        loop {
            let states = self.keys.iter().map(|key| key.state(forced));
            let states: Vec<KeyState> = states.collect();
            let Some(number) = choose(conversation, current, &states, tried) else {
                return Err(self.refusal());
            };
            // Another request may have become its probe.
            let Ok(permit) = self.keys[number].admit(number, forced) else {
                tried.add(number);
                continue;
            };
            if !alone && current != Some(number) {
                let identity = self.keys[number].identity;
                if let Ok(number) = u8::try_from(number) {
                    self.conversations.set(conversation, (number, identity));
                }
            }
            return Ok(permit);
        }
    }

    /// The key of a conversation, by its present number.
    fn current_key(&self, conversation: Conversation) -> Option<usize> {
        let (number, identity) = self.conversations.find(conversation)?;
        let is_it = |key: &RingKey| key.identity == identity;
        let number = usize::from(number);
        match self.keys.get(number).is_some_and(is_it) {
            true => Some(number),
            false => self.keys.iter().position(is_it),
        }
    }

    /// Records a key's quota, as the last response reported it.
    pub(crate) fn note_quota(&self, key: usize) {
        let key = &self.keys[key];
        if let Some(quota) = key.model.extras().and_then(|extras| extras.own_quota()) {
            key.limit.note_quota(quota);
        }
    }

    /// The best standing of all keys.
    pub(crate) fn standing(&self) -> Standing {
        let rank = |standing: &Standing| match standing {
            Standing::Usable => (0, None),
            Standing::Probe => (1, None),
            Standing::Benched { until } => (2, Some(*until)),
            Standing::Closed { until } => (3, Some(*until)),
        };
        let standings = self.keys.iter().map(RingKey::standing);
        standings.min_by_key(rank).unwrap_or(Standing::Usable)
    }

    /// Why no key may be used: the shortest pause, if there is one, otherwise a rejection.
    fn refusal(&self) -> RingRefusal {
        let denials = self.keys.iter().map(RingKey::denied);
        let shortest = denials.min_by_key(|refusal| (refusal.by_credential, refusal.denied.wait));
        shortest.unwrap_or_else(|| RingRefusal {
            denied: Denied::default(),
            by_credential: true,
        })
    }
}

impl RingKey {
    fn state(&self, forced: bool) -> KeyState {
        let rests = match (self.credential.standing(), self.limit.standing()) {
            (Standing::Benched { .. } | Standing::Closed { .. }, _) => true,
            (_, Standing::Closed { .. }) => true,
            (_, Standing::Benched { .. }) => !forced,
            _ => false,
        };
        if rests {
            return KeyState::Resting;
        }
        let Some(quota) = self.limit.quota() else {
            return KeyState::Usable(1.0);
        };
        match quota.used_up_for() {
            Some(wait) => KeyState::UsedUp { resets_in: wait },
            None => KeyState::Usable(quota.share()),
        }
    }

    fn admit(&self, number: usize, forced: bool) -> std::result::Result<KeyPermit, Denied> {
        Ok(KeyPermit {
            number,
            credential: self.credential.admit()?,
            limit: match forced {
                true => self.limit.force()?,
                false => self.limit.admit()?,
            },
        })
    }

    /// The worse standing of key and limit. A rejected key is never forced.
    fn standing(&self) -> Standing {
        match (self.credential.standing(), self.limit.standing()) {
            (Standing::Benched { until } | Standing::Closed { until }, _) => {
                Standing::Closed { until }
            }
            (Standing::Probe, Standing::Usable) => Standing::Probe,
            (_, limit) => limit,
        }
    }

    fn denied(&self) -> RingRefusal {
        if let Err(denied) = self.credential.admit() {
            return RingRefusal {
                denied,
                by_credential: true,
            };
        }
        RingRefusal {
            denied: self.limit.admit().err().unwrap_or_default(),
            by_credential: false,
        }
    }
}
