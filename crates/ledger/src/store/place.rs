//! The location of a ledger.

use std::fmt;
use std::path::PathBuf;

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

impl StorePlace {
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
