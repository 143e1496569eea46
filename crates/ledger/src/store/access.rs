//! Stored keys and teams, and the audit log of changes to them.
//!
//! The store keeps hashes of secrets, never secrets. The settings of a key are an opaque JSON
//! text, whose meaning belongs to the gateway. Every change and its audit row are one
//! transaction, and every change increments the revision, so that other nodes notice it.

use serde::{Deserialize, Serialize};

use super::StoreError;

/// Maximum keys of a store, and maximum teams.
pub const MAX_STORED_KEYS: usize = 10_000;
/// Maximum secrets of a key that are valid at once: the current one and overlapping ones.
pub const MAX_KEY_SECRETS: usize = 4;

/// Everything that authentication needs from a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAccess {
    /// Grows with every change.
    pub revision: i64,
    /// Whether a key was ever stored. From then on clients need a key.
    pub had_keys: bool,
    /// All keys, by name.
    pub keys: Vec<StoredKey>,
    /// All teams, by name.
    pub teams: Vec<StoredTeam>,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    /// Its name. Usage and budgets belong to the name, whatever the secrets.
    pub name: String,
    /// Its settings, as a JSON object.
    pub settings: String,
    /// Its secrets; the newest is the last.
    pub secrets: Vec<StoredSecret>,
    /// Whether it is frozen.
    pub frozen: bool,
    /// When it was created, in milliseconds of Unix time.
    pub created_millis: i64,
}

/// A secret of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    /// The secret's SHA-256 in hexadecimal digits.
    pub sha256: String,
    /// When it stops working; `None` for the current one.
    pub until_millis: Option<i64>,
}

/// A stored team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTeam {
    /// Its name.
    pub name: String,
    /// Its limits, as a JSON object.
    pub settings: String,
}

/// A change of keys or teams.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessChange {
    /// A new key.
    CreateKey(StoredKey),
    /// New settings for a key.
    UpdateKey {
        /// The key.
        name: String,
        /// Its new settings.
        settings: String,
    },
    /// A new secret for a key. Its other secrets work at most until `overlap_until_millis`.
    RotateKey {
        /// The key.
        name: String,
        /// The new secret's SHA-256 in hexadecimal digits.
        sha256: String,
        /// When the other secrets stop working.
        overlap_until_millis: i64,
    },
    /// Freezes or unfreezes a key.
    FreezeKey {
        /// The key.
        name: String,
        /// Whether it is refused.
        frozen: bool,
    },
    /// Removes a key.
    DeleteKey {
        /// The key.
        name: String,
    },
    /// Creates a team or replaces its settings.
    PutTeam(StoredTeam),
    /// Removes a team without keys.
    DeleteTeam {
        /// The team.
        name: String,
    },
}

impl AccessChange {
    /// The action's name in the audit log, such as `key.freeze`.
    pub fn action(&self) -> &'static str {
        match self {
            Self::CreateKey(_) => "key.create",
            Self::UpdateKey { .. } => "key.update",
            Self::RotateKey { .. } => "key.rotate",
            Self::FreezeKey { frozen: true, .. } => "key.freeze",
            Self::FreezeKey { .. } => "key.unfreeze",
            Self::DeleteKey { .. } => "key.delete",
            Self::PutTeam(_) => "team.put",
            Self::DeleteTeam { .. } => "team.delete",
        }
    }

    /// The key or team.
    pub fn subject(&self) -> &str {
        match self {
            Self::CreateKey(StoredKey { name, .. })
            | Self::PutTeam(StoredTeam { name, .. })
            | Self::UpdateKey { name, .. }
            | Self::RotateKey { name, .. }
            | Self::FreezeKey { name, .. }
            | Self::DeleteKey { name }
            | Self::DeleteTeam { name } => name,
        }
    }

    /// The details for the audit log: settings, never a hash.
    pub(crate) fn detail(&self) -> &str {
        match self {
            Self::CreateKey(StoredKey { settings, .. })
            | Self::PutTeam(StoredTeam { settings, .. })
            | Self::UpdateKey { settings, .. } => settings,
            _ => "",
        }
    }
}

/// The author and time of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditStamp {
    /// A key's name, or where the change came from.
    pub who: String,
    /// Unix time in milliseconds.
    pub at_millis: i64,
}

/// One row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its number, which grows.
    pub id: i64,
    /// Unix time in milliseconds.
    pub at_millis: i64,
    /// A key's name, or where the change came from.
    pub who: String,
    /// The action, such as `key.freeze`.
    pub action: String,
    /// The key or team.
    pub subject: String,
    /// The new settings, as JSON; empty for other actions.
    pub detail: String,
}

/// A query of the audit log, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// From this Unix time on, in milliseconds.
    pub since_millis: i64,
    /// Only rows with a smaller number, for paging.
    pub before: Option<i64>,
    /// Maximum rows.
    pub limit: usize,
}

/// Keeps keys, teams and the audit log.
pub trait AccessStore: Send {
    /// The number of changes so far. Cheap, because it is polled several times per second.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    fn revision(&mut self) -> Result<i64, StoreError>;

    /// Reads all keys and teams.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    fn load(&mut self) -> Result<StoredAccess, StoreError>;

    /// Applies a change and writes its audit row, both or neither.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Refused`] if the change conflicts with the stored state, and
    /// with another error if the store cannot be written.
    fn apply(&mut self, change: &AccessChange, stamp: &AuditStamp) -> Result<(), StoreError>;

    /// Writes an audit row for an action on something that is not stored here.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn note(&mut self, action: &str, subject: &str, stamp: &AuditStamp) -> Result<(), StoreError>;

    /// Lists audit rows.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError>;

    /// Removes audit rows from before this Unix time, and returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn drop_audit_before(&mut self, millis: i64) -> Result<u64, StoreError>;
}

impl StoredAccess {
    /// Checks a change against the stored state; the error is a sentence for people.
    ///
    /// # Errors
    ///
    /// Fails if the change conflicts with the stored state.
    pub(crate) fn check(&self, change: &AccessChange) -> Result<(), StoreError> {
        let refuse = |text: String| Err(StoreError::Refused(text));
        let name = change.subject();
        let key = self.keys.iter().find(|key| key.name == name);
        let has_team = self.teams.iter().any(|team| team.name == name);
        match change {
            AccessChange::CreateKey(_) if key.is_some() => {
                refuse(format!("there is already a key named `{name}`"))
            }
            AccessChange::CreateKey(_) if self.keys.len() >= MAX_STORED_KEYS => {
                refuse(format!("there are already {MAX_STORED_KEYS} stored keys"))
            }
            AccessChange::UpdateKey { .. }
            | AccessChange::RotateKey { .. }
            | AccessChange::FreezeKey { .. }
            | AccessChange::DeleteKey { .. }
                if key.is_none() =>
            {
                refuse(format!("there is no stored key named `{name}`"))
            }
            AccessChange::PutTeam(_) if !has_team && self.teams.len() >= MAX_STORED_KEYS => {
                refuse(format!("there are already {MAX_STORED_KEYS} stored teams"))
            }
            AccessChange::DeleteTeam { .. } if !has_team => {
                refuse(format!("there is no stored team named `{name}`"))
            }
            _ => Ok(()),
        }
    }
}

impl StoredKey {
    /// The secrets after a rotation: the new one, and earlier ones that still overlap.
    pub(crate) fn rotated(
        &self,
        sha256: &str,
        overlap_until_millis: i64,
        now_millis: i64,
    ) -> Vec<StoredSecret> {
        let end = |secret: &StoredSecret| {
            let own = secret.until_millis.unwrap_or(i64::MAX);
            own.min(overlap_until_millis)
        };
        let kept = self
            .secrets
            .iter()
            .filter(|secret| end(secret) > now_millis);
        let mut secrets: Vec<StoredSecret> = kept
            .map(|secret| StoredSecret {
                until_millis: Some(end(secret)),
                ..secret.clone()
            })
            .collect();
        // The oldest ones are dropped.
        let excess = secrets.len().saturating_sub(MAX_KEY_SECRETS - 1);
        secrets.drain(..excess);
        secrets.push(StoredSecret {
            sha256: sha256.to_owned(),
            until_millis: None,
        });
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secrets: Vec<StoredSecret>) -> StoredKey {
        StoredKey {
            name: "laptop".to_owned(),
            settings: "{}".to_owned(),
            secrets,
            frozen: false,
            created_millis: 0,
        }
    }

    fn secret(sha256: &str, until_millis: Option<i64>) -> StoredSecret {
        StoredSecret {
            sha256: sha256.to_owned(),
            until_millis,
        }
    }

    #[test]
    fn after_a_rotation_the_old_secret_works_until_the_overlap_ends() {
        let rotated = key(vec![secret("a", None)]).rotated("b", 200, 100);
        assert_eq!(rotated, [secret("a", Some(200)), secret("b", None)]);
        // A second rotation never extends an overlap that was promised to end.
        let rotated = key(rotated).rotated("c", 900, 150);
        assert_eq!(
            rotated,
            [
                secret("a", Some(200)),
                secret("b", Some(900)),
                secret("c", None)
            ]
        );
        // Without an overlap, only the new secret remains.
        assert_eq!(key(rotated).rotated("d", 0, 150), [secret("d", None)]);
    }

    #[test]
    fn a_key_keeps_at_most_four_secrets() {
        let mut one = key(vec![secret("0", None)]);
        for number in 1..10 {
            one.secrets = one.rotated(&number.to_string(), 1_000, 0);
        }
        let names: Vec<&str> = one.secrets.iter().map(|it| it.sha256.as_str()).collect();
        assert_eq!(names, ["6", "7", "8", "9"]);
    }
}
