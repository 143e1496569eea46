//! Where keys and teams are stored.

use std::collections::BTreeMap;
use std::path::PathBuf;

use majordomo_ledger::{AccessStore, SqliteAccess, StoreError, StorePlace};

use super::cache::{AccessCache, CachedAccess, is_absent};
use crate::config::LedgerSettings;
use crate::keys::hash_of;

/// A place for keys and teams.
#[derive(Clone, Debug)]
pub(crate) struct AccessPlace {
    store: StorePlace,
    /// The copy on this machine, if it has a folder for state.
    cache: Option<PathBuf>,
}

impl AccessPlace {
    /// The place of a configuration, beside its ledger; `None` if nothing is stored.
    pub(crate) fn of(
        settings: &LedgerSettings,
        environment: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let store = settings.place(environment)?;
        let cache = settings.folder(environment).map(|folder| match &store {
            StorePlace::Folder(_) => folder.with_extension("keys.json"),
            // Each database has its own copy, so keys of one database are not accepted with
            // another.
            place => {
                let name = hash_of(&place.to_string());
                folder.with_extension(format!("{}.keys.json", &name[..16]))
            }
        });
        Some(Self { store, cache })
    }

    /// Opens the store; `None` if nothing was ever stored there.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be used, or if it is missing although it `had_keys`: its
    /// disk may not be mounted.
    pub(super) fn open_existing(
        &self,
        had_keys: bool,
    ) -> Result<Option<Box<dyn AccessStore>>, StoreError> {
        let StorePlace::Folder(folder) = &self.store else {
            return self.store.open_access().map(Some);
        };
        let path = SqliteAccess::path(folder);
        match std::fs::metadata(&path) {
            Ok(_) => self.store.open_access().map(Some),
            Err(error) if is_absent(&error) && !had_keys => Ok(None),
            Err(error) if is_absent(&error) => Err(StoreError::Refused(format!(
                "{} is missing, but keys were stored in it: restore it, or remove {} to begin anew",
                path.display(),
                self.cache.as_deref().unwrap_or(folder).display()
            ))),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Opens the store, and creates it if nothing was ever stored.
    ///
    /// # Errors
    ///
    /// Like [`open_existing`](Self::open_existing).
    pub(super) fn open(&self, had_keys: bool) -> Result<Box<dyn AccessStore>, StoreError> {
        match self.open_existing(had_keys)? {
            Some(store) => Ok(store),
            None => self.store.open_access(),
        }
    }

    /// Whether this machine knows, without the store, that keys were stored.
    pub(super) fn had_keys(&self) -> bool {
        !matches!(self.cache().read(), CachedAccess::Absent)
    }

    pub(super) fn cache(&self) -> AccessCache {
        AccessCache::new(self.cache.clone())
    }
}
