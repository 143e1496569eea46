//! The stored keys and teams as authentication uses them.

use majordomo_ledger::{StoredAccess, StoredKey};

use super::settings::{parse_settings, read_key, read_team};
use crate::config::{KeyEntry, TeamEntry};
use crate::keys::{StoredGrant, unhex};

/// Stored keys and teams, parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredEntries {
    /// Whether clients need a key, even if none is known.
    pub(crate) requires_key: bool,
    pub(crate) keys: Vec<StoredGrant>,
    pub(crate) teams: Vec<TeamEntry>,
}

impl StoredEntries {
    /// The set to use if a store that may have keys cannot be read.
    pub(crate) fn closed() -> Self {
        Self {
            requires_key: true,
            ..Self::default()
        }
    }

    /// Whether money is limited anywhere.
    pub(crate) fn have_budgets(&self) -> bool {
        let keys = self.keys.iter().map(|grant| &grant.entry.limits);
        let mut all = keys.chain(self.teams.iter().map(|team| &team.limits));
        all.any(|policy| !policy.budget.is_empty())
    }

    /// Parses the stored entries. An entry that this version does not understand is omitted,
    /// so that its key is not accepted.
    pub(crate) fn read(stored: &StoredAccess) -> Self {
        let teams = stored.teams.iter().filter_map(|team| {
            let read = parse_settings(&team.settings);
            let read = read.and_then(|settings| read_team(&team.name, &settings));
            usable("team", &team.name, read)
        });
        let keys = stored.keys.iter().filter_map(|key| {
            let entry = usable("key", &key.name, entry(key))?;
            Some(StoredGrant {
                secrets: secrets(key),
                frozen: key.frozen,
                entry,
            })
        });
        Self {
            requires_key: stored.had_keys,
            teams: teams.collect(),
            keys: keys.collect(),
        }
    }
}

fn entry(key: &StoredKey) -> Result<KeyEntry, String> {
    read_key(&key.name, &parse_settings(&key.settings)?)
}

fn secrets(key: &StoredKey) -> Vec<([u8; 32], Option<i64>)> {
    let secrets = key.secrets.iter();
    secrets
        .filter_map(|secret| Some((unhex(&secret.sha256)?, secret.until_millis)))
        .collect()
}

fn usable<T>(kind: &str, name: &str, read: Result<T, String>) -> Option<T> {
    read.inspect_err(|reason| {
        tracing::error!(kind, name, reason, "a stored entry is unusable and refused");
    })
    .ok()
}
