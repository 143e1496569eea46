//! Client keys: who may call the gateway, and which models.
//!
//! Keys are stored as their SHA-256, looked up by a prefix of it and compared in constant
//! time. A client cannot choose a hash, so lookup time reveals nothing about how close a
//! guess is. `trust` extracts the key from a request and checks it here; `config` reads
//! the entries. Uses no other module.

mod entry;
mod generate;
mod role;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use majordomo::llm::KeyOwner;
use majordomo::{Error, ErrorKind};
use majordomo_rules::Glob;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub use entry::{KeyEntry, KeySecret};
pub use generate::{NewKey, generate_key};
pub use role::KeyRole;

type Hash = [u8; 32];

/// Allowed models that a rejection lists; the rest are counted.
const MAX_LISTED: usize = 8;

/// The keys of a configuration.
#[derive(Clone, Default)]
pub struct ClientKeys {
    /// By hash prefix.
    keys: HashMap<u64, Vec<(Hash, Arc<ClientKey>)>>,
}

/// An authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKey {
    name: String,
    role: KeyRole,
    /// `None` means all.
    models: Option<Vec<Glob>>,
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
    /// let keys = ClientKeys::new(&config.keys);
    /// let laptop = keys.check("canary").unwrap();
    /// assert!(laptop.may_use("coder") && !laptop.may_use("thinking"));
    /// assert!(keys.check("guess").is_none());
    /// ```
    pub fn new(entries: &[KeyEntry]) -> Self {
        let compile = |entry: &KeyEntry| {
            let hash = match &entry.secret {
                KeySecret::Sha256(hash) => *hash,
                KeySecret::Plain(key) => sha256(key.expose_secret()),
            };
            let globs = |models: &Vec<String>| models.iter().map(|m| Glob::new(m)).collect();
            let key = ClientKey {
                name: entry.name.clone(),
                role: entry.role,
                models: entry.models.as_ref().map(globs),
            };
            (hash, Arc::new(key))
        };
        let mut keys: HashMap<u64, Vec<(Hash, Arc<ClientKey>)>> = HashMap::new();
        for (hash, key) in entries.iter().map(compile) {
            keys.entry(part(&hash)).or_default().push((hash, key));
        }
        Self { keys }
    }

    /// Whether no key is configured: every client on this machine may use every model.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key with this name.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<ClientKey>> {
        self.all().find(|key| key.name == name).cloned()
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all().map(|key| key.name())
    }

    fn all(&self) -> impl Iterator<Item = &Arc<ClientKey>> {
        self.keys.values().flatten().map(|(_, key)| key)
    }

    /// Looks up a presented key.
    pub fn check(&self, presented: &str) -> Option<Arc<ClientKey>> {
        let presented = sha256(presented);
        let near = self.keys.get(&part(&presented))?;
        let same = near
            .iter()
            .find(|(hash, _)| bool::from(hash.ct_eq(&presented)));
        same.map(|(_, key)| Arc::clone(key))
    }
}

/// The hash prefix used for lookup.
fn part(hash: &Hash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl ClientKey {
    /// The owner's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the key may be used for.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// Whether it may use a model. Every element of a chain must be allowed.
    pub fn may_use(&self, model: &str) -> bool {
        let Some(allowed) = &self.models else {
            return true;
        };
        let mut elements = model
            .split(',')
            .map(str::trim)
            .filter(|e| !e.is_empty())
            .peekable();
        elements.peek().is_some() && elements.all(|e| allowed.iter().any(|glob| glob.matches(e)))
    }
}

impl ClientKey {
    /// Rejects a model that it may not use.
    pub(crate) fn allow(&self, model: &str) -> Result<(), Error> {
        if self.may_use(model) {
            return Ok(());
        }
        let text = format!(
            "the key `{}` may not use the model `{model}`; it allows {}",
            self.name,
            self.allowed()
        );
        // OpenAI's code for a model that a valid key has no access to.
        let error = Error::new(ErrorKind::Local, text).with_code("model_not_found");
        Err(error.with_status(403).with_key_owner(KeyOwner::Client))
    }

    /// The allowed models, for people.
    fn allowed(&self) -> String {
        let patterns = self.models.as_deref().unwrap_or_default();
        let shown = patterns.iter().take(MAX_LISTED);
        let mut names: Vec<String> = shown.map(|glob| format!("`{glob}`")).collect();
        if patterns.len() > MAX_LISTED {
            names.push(format!("and {} more", patterns.len() - MAX_LISTED));
        }
        names.join(", ")
    }
}

/// Prints no secrets, not even hashes.
impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.keys.values().flatten().map(|(_, key)| &key.name))
            .finish()
    }
}

fn sha256(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(entries: &[(&str, KeySecret, Option<Vec<&str>>)]) -> ClientKeys {
        let entry = |(name, secret, models): &(&str, KeySecret, Option<Vec<&str>>)| KeyEntry {
            name: (*name).to_owned(),
            secret: secret.clone(),
            role: KeyRole::Client,
            models: models
                .as_ref()
                .map(|all| all.iter().map(|m| (*m).to_owned()).collect()),
            models_span: 0..0,
            span: 0..0,
        };
        let entries: Vec<KeyEntry> = entries.iter().map(entry).collect();
        ClientKeys::new(&entries)
    }

    #[test]
    fn keys_are_recognized_by_plain_text_or_hash() {
        let keys = keys(&[
            ("a", KeySecret::Plain("CANARY-a".into()), None),
            ("b", KeySecret::Sha256(sha256("CANARY-b")), None),
        ]);
        let name = |presented| keys.check(presented).map(|key| key.name().to_owned());
        assert_eq!(name("CANARY-a").as_deref(), Some("a"));
        assert_eq!(name("CANARY-b").as_deref(), Some("b"));
        for wrong in ["", "CANARY", "CANARY-a ", "canary-a"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
        assert!(!keys.is_empty() && ClientKeys::default().is_empty());
        assert_eq!(ClientKeys::default().check(""), None);
    }

    #[test]
    fn a_chain_is_allowed_only_if_every_element_is() {
        let keys = keys(&[(
            "a",
            KeySecret::Plain("k".into()),
            Some(vec!["coder", "demo/*"]),
        )]);
        let key = keys.check("k").unwrap();
        for (model, may) in [
            ("coder", true),
            ("demo/text", true),
            ("demo/text, coder", true),
            ("demo/text,openai/gpt-6", false),
            ("coder2", false),
            ("", false),
            (",", false),
        ] {
            assert_eq!(key.may_use(model), may, "{model}");
        }
    }

    #[test]
    fn debug_output_contains_no_key() {
        let keys = keys(&[("laptop", KeySecret::Plain("CANARY".into()), None)]);
        assert_eq!(format!("{keys:?}"), "[\"laptop\"]");
    }
}
