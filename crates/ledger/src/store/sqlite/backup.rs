//! Copies of a ledger, made while it is in use.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use crate::store::StoreError;

use super::connection::{at, make_private as private_file, open};
use super::{DAYS, MAIN, SqliteAccess, SqliteStore, make_private, schema};

/// Pages copied per step; a writer gets its turn between two steps.
const PAGES: i32 = 1_000;

impl SqliteStore {
    /// Copies the ledger into an empty or new folder, and returns the number of days. Rows
    /// that are written during the copy may be missing from it.
    ///
    /// # Errors
    ///
    /// Fails if the folder has files, or cannot be written.
    pub fn backup(&mut self, to: &Path) -> Result<usize, StoreError> {
        make_private(to)?;
        let io = |source| StoreError::Io {
            path: to.to_owned(),
            source,
        };
        if std::fs::read_dir(to).map_err(io)?.next().is_some() {
            let text = format!(
                "{} is not empty; name a new folder for the copy",
                to.display()
            );
            return Err(StoreError::Refused(text));
        }
        make_private(&to.join(DAYS))?;
        // Rollups first: if the copied days are ahead, the rollups catch up; otherwise a day
        // would have to be summed again.
        copy(&self.main, &to.join(MAIN))?;
        let keys = SqliteAccess::path(&self.folder);
        if keys.is_file() {
            let keys = SqliteAccess::open(&self.folder)?;
            copy(keys.connection(), &SqliteAccess::path(to))?;
        }
        let days = self.stored_days()?;
        for day in &days {
            let file = self.day(*day)?;
            copy(&file.db, &to.join(DAYS).join(format!("{day}.db")))?;
        }
        Ok(days.len())
    }

    /// Restores a copy into an empty or new folder.
    ///
    /// # Errors
    ///
    /// Fails if `from` has no ledger, a newer version wrote it, or `to` has files.
    pub fn restore(from: &Path, to: &Path) -> Result<usize, StoreError> {
        let main = from.join(MAIN);
        if !main.is_file() {
            let text = format!("{} has no {MAIN}; it is not a ledger", from.display());
            return Err(StoreError::Refused(text));
        }
        // Checks the version before anything is written.
        drop(open(&main, schema::MAIN)?);
        Self::open(from)?.backup(to)
    }
}

fn copy(from: &Connection, path: &Path) -> Result<(), StoreError> {
    private_file(path)?;
    let mut to = Connection::open(path).map_err(at(path))?;
    let backup = Backup::new(from, &mut to).map_err(at(path))?;
    backup
        .run_to_completion(PAGES, Duration::ZERO, None)
        .map_err(at(path))
}
