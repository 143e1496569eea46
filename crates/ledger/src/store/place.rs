//! The location of a ledger.

use std::fmt;
use std::path::PathBuf;

use super::postgres;
use super::sqlite;
use super::{
    AccessStore, PostgresAccess, PostgresStore, PostgresUrl, SqliteAccess, SqliteStore, Store,
    StoreError,
};

/// The location of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorePlace {
    /// SQLite in a folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Postgres(PostgresUrl),
}

/// The schema of a store, compared with that of this version. A newer one is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreSchema {
    /// The store does not exist yet.
    Missing,
    /// Opening the store would migrate it.
    Older,
    /// Nothing to do.
    Current,
}

impl StoreSchema {
    /// Compares a version, 0 if there is none.
    pub(super) fn of(place: impl fmt::Display, found: i64, known: i64) -> Result<Self, StoreError> {
        if found > known {
            let place = place.to_string();
            return Err(StoreError::Newer {
                place,
                found,
                known,
            });
        }
        Ok(match found {
            0 => Self::Missing,
            found if found < known => Self::Older,
            _ => Self::Current,
        })
    }
}

impl StorePlace {
    /// The store's schema, read without creating, migrating or locking anything. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or if a newer version wrote it.
    pub fn schema(&self) -> Result<StoreSchema, StoreError> {
        match self {
            Self::Folder(folder) => sqlite::inspect(folder),
            Self::Postgres(url) => postgres::inspect(url),
        }
    }

    /// Opens the store, and creates it if it is missing. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be used, or if a newer version wrote it.
    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Folder(folder) => Box::new(SqliteStore::open(folder)?),
            Self::Postgres(url) => Box::new(PostgresStore::open(url.clone())?),
        })
    }
}

impl StorePlace {
    /// Opens the store of keys and teams, and creates it if it is missing. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be used, or if a newer version wrote it.
    pub fn open_access(&self) -> Result<Box<dyn AccessStore>, StoreError> {
        Ok(match self {
            Self::Folder(folder) => Box::new(SqliteAccess::open(folder)?),
            Self::Postgres(url) => Box::new(PostgresAccess::open(url.clone())?),
        })
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}
