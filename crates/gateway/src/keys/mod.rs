//! Client keys: they determine who may call the gateway, and which models.
//!
//! Keys are stored as their SHA-256, looked up by a prefix of it and compared in constant
//! time. A client cannot choose a hash, so lookup time reveals nothing about how close a guess
//! is. A request's key is checked in `trust::authenticate`, which looks it up here; `config`
//! reads the entries of the file and `stored_keys` the stored ones. Uses no other module.

mod client_key;
mod entry;
mod generate;
mod hash;
mod role;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use secrecy::ExposeSecret;
use subtle::ConstantTimeEq;

use crate::refusal::RequestRefusal;
pub use client_key::ClientKey;
pub use entry::{KeyEntry, KeySecret, TeamEntry};
pub use generate::{NewKey, generate_key};
pub(crate) use generate::{generate_secret, hash_of, quoted};
use hash::prefix;
pub(crate) use hash::{Hash, sha256, unhex};
pub use role::KeyRole;

/// The header for a gateway key, for clients whose usual header holds another credential.
pub(crate) static GATEWAY_KEY: HeaderName = HeaderName::from_static("x-majordomo-key");

/// All keys: those of the configuration file, and those of the store.
#[derive(Clone, Default)]
pub struct ClientKeys {
    /// By hash prefix.
    secrets: HashMap<u64, Vec<KnownSecret>>,
    /// Whether clients need a key, even if none is known.
    required: bool,
}

/// A secret that opens a key.
#[derive(Clone)]
struct KnownSecret {
    hash: Hash,
    /// When it stops working, in milliseconds of Unix time.
    until_millis: Option<i64>,
    key: Arc<ClientKey>,
}

/// A stored key with its secrets.
#[derive(Clone, Debug)]
pub(crate) struct StoredGrant {
    /// The entry, whose own secret is not used.
    pub(crate) entry: KeyEntry,
    /// Hashes, and when each stops working, in milliseconds of Unix time.
    pub(crate) secrets: Vec<(Hash, Option<i64>)>,
    pub(crate) frozen: bool,
}

/// Why a presented key is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRefusal {
    /// No key has this secret, or it has stopped working.
    #[error("the key is unknown")]
    Unknown,
    /// The key of this name has expired.
    #[error("the key `{0}` has expired: ask the operator for a new one")]
    Expired(Arc<str>),
    /// The key of this name is frozen.
    #[error("the key `{0}` is frozen: ask the operator")]
    Frozen(Arc<str>),
}

impl KeyRefusal {
    /// The refusal for the client.
    pub(crate) fn refusal(&self) -> RequestRefusal {
        RequestRefusal::of_key(401, self.to_string())
    }
}

impl ClientKeys {
    /// Compiles the entries of a configuration.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use majordomo_gateway::{ClientKeys, Config};
    ///
    /// let text = "[[keys]]\nname = \"laptop\"\nkey = \"canary\"\nmodels = [\"coder\"]";
    /// let config = Config::parse("majordomo.toml", text, &BTreeMap::new()).unwrap();
    /// let keys = ClientKeys::new(&config.keys, &config.teams);
    /// let now_millis = 1_794_924_000_000;
    /// let laptop = keys.check("canary", now_millis).unwrap();
    /// assert!(laptop.may_use("coder") && !laptop.may_use("thinking"));
    /// assert!(keys.check("guess", now_millis).is_err());
    /// ```
    pub fn new(entries: &[KeyEntry], teams: &[TeamEntry]) -> Self {
        let mut keys = Self::default();
        for entry in entries {
            let hash = match &entry.secret {
                KeySecret::Sha256(hash) => *hash,
                KeySecret::Plain(key) => sha256(key.expose_secret()),
            };
            let key = Arc::new(ClientKey::new(entry, team_of(entry, teams), false));
            keys.add(hash, None, key);
        }
        keys
    }

    /// Adds stored keys, except for those with the name of a key in the file or with a team
    /// that does not exist.
    pub(crate) fn with_stored(
        mut self,
        grants: &[StoredGrant],
        teams: &[&TeamEntry],
        required: bool,
    ) -> Self {
        let taken: Vec<Arc<str>> = self.all().map(|key| key.shared_name()).collect();
        for grant in grants {
            let entry = &grant.entry;
            let team = entry.team.as_ref();
            let team = team.map(|name| teams.iter().find(|team| team.name == *name));
            if taken.iter().any(|name| **name == *entry.name) || matches!(team, Some(None)) {
                tracing::warn!(
                    key = entry.name,
                    "a stored key is refused: the file has a key of its name, or its team does not exist"
                );
                continue;
            }
            let team = team.flatten().copied();
            let key = Arc::new(ClientKey::new(entry, team, grant.frozen));
            for (hash, until_millis) in &grant.secrets {
                self.add(*hash, *until_millis, Arc::clone(&key));
            }
        }
        self.required |= required;
        self
    }

    fn add(&mut self, hash: Hash, until_millis: Option<i64>, key: Arc<ClientKey>) {
        let secret = KnownSecret {
            hash,
            until_millis,
            key,
        };
        self.secrets.entry(prefix(&hash)).or_default().push(secret);
        self.required = true;
    }

    /// Whether every client on this machine may use every model without a key: none is
    /// configured, and none was ever stored.
    pub fn is_keyless(&self) -> bool {
        !self.required
    }

    /// The key with this name.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<ClientKey>> {
        self.all().find(|key| key.name() == name).cloned()
    }

    /// All names; a key with several secrets occurs once for each.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all().map(|key| key.name())
    }

    /// Whether several keys share the gateway.
    pub(crate) fn are_several(&self) -> bool {
        let mut names = self.names();
        let first = names.next();
        names.any(|name| Some(name) != first)
    }

    /// All keys; a key with several secrets occurs once for each.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ClientKey>> {
        self.secrets.values().flatten().map(|secret| &secret.key)
    }

    /// Looks up a presented key, at this Unix time in milliseconds.
    ///
    /// # Errors
    ///
    /// Says why the key is not accepted.
    pub fn check(&self, presented: &str, now_millis: i64) -> Result<Arc<ClientKey>, KeyRefusal> {
        self.check_hash(&sha256(presented), now_millis)
    }

    /// Looks up a key by the hash of its secret.
    ///
    /// # Errors
    ///
    /// Like [`check`](Self::check).
    pub(crate) fn check_hash(
        &self,
        presented: &Hash,
        now_millis: i64,
    ) -> Result<Arc<ClientKey>, KeyRefusal> {
        let near = self.secrets.get(&prefix(presented));
        let mut near = near.into_iter().flatten();
        let found = near.find(|secret| bool::from(secret.hash.ct_eq(presented)));
        let secret = found.ok_or(KeyRefusal::Unknown)?;
        if secret.until_millis.is_some_and(|end| now_millis >= end) {
            return Err(KeyRefusal::Unknown);
        }
        secret.key.usable(now_millis)?;
        Ok(Arc::clone(&secret.key))
    }
}

fn team_of<'a>(entry: &KeyEntry, teams: &'a [TeamEntry]) -> Option<&'a TeamEntry> {
    let name = entry.team.as_deref()?;
    teams.iter().find(|team| team.name == name)
}

/// Prints no secrets, not even hashes.
impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests;
