//! Opens a SQLite file, with settings and an up-to-date schema.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::store::{StoreError, StoreSchema};

/// How long a statement waits for another process's lock. The writer retries, so this need not
/// be long.
const BUSY: Duration = Duration::from_secs(1);

/// Adds the file to an error of SQLite.
pub(super) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
    |source| StoreError::Sqlite {
        path: path.to_owned(),
        source,
    }
}

/// Opens a file and migrates it to the newest of `steps`.
pub(super) fn open(path: &Path, steps: &[&str]) -> Result<Connection, StoreError> {
    make_private(path)?;
    let mut db = Connection::open(path).map_err(at(path))?;
    settings(&db).map_err(at(path))?;
    let found = version(&db).map_err(at(path))?;
    if StoreSchema::of(path.display(), found, steps.len() as i64)? != StoreSchema::Current {
        migrate(&mut db, steps).map_err(at(path))?;
    }
    Ok(db)
}

/// Reads the schema of a file without changing it.
pub(super) fn inspect(path: &Path, steps: &[&str]) -> Result<StoreSchema, StoreError> {
    if !path.exists() {
        return Ok(StoreSchema::Missing);
    }
    let db = open_to_read(path).map_err(at(path))?;
    let found = version(&db).map_err(at(path))?;
    StoreSchema::of(path.display(), found, steps.len() as i64)
}

/// Opens a file without changing it. If no process has the file open, even a reader creates its
/// journals and leaves them behind, unless the file is declared immutable.
fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    match path.to_str().filter(|_| cfg!(unix)) {
        Some(name) if !Path::new(&journal).exists() => {
            let name = name.replace('%', "%25");
            let name = name.replace('?', "%3f").replace('#', "%23");
            let uri = format!("file:{name}?immutable=1");
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => {
            let db = Connection::open_with_flags(path, flags)?;
            db.busy_timeout(BUSY)?;
            Ok(db)
        }
    }
}

/// Creates the file if it is missing, and lets only its owner read it. SQLite gives its
/// journals the same permissions.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let io = |source| StoreError::Io {
        path: path.to_owned(),
        source,
    };
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // SQLite reports a file that is read-only.
    let Ok(_file) = options.open(path) else {
        return Ok(());
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = _file.metadata().map_err(io)?.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(0o600);
            _file.set_permissions(permissions).map_err(io)?;
        }
    }
    Ok(())
}

/// When a commit reaches the disk. In either case it survives the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// It survives a power cut.
    Now,
    /// A power cut may undo it. Rollups that are then ahead of their rows are detected and
    /// summed again.
    Later,
}

/// Sets when the next commits reach the disk.
pub(super) fn set_sync(db: &Connection, sync: SyncMode) -> rusqlite::Result<()> {
    let mode = match sync {
        SyncMode::Now => "FULL",
        SyncMode::Later => "NORMAL",
    };
    db.pragma_update(None, "synchronous", mode)
}

fn settings(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    set_sync(db, SyncMode::Now)?;
    db.pragma_update(None, "journal_size_limit", 4 << 20)?;
    // KiB, if negative.
    db.pragma_update(None, "cache_size", -512)
}

/// The problems that SQLite finds in a file.
pub(super) fn damage(db: &Connection) -> Option<String> {
    let result = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    let result: String = result.unwrap_or_else(|error| error.to_string());
    (result != "ok").then_some(result)
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Runs the missing steps in one transaction. A second process waits for it and finds nothing
/// to do.
fn migrate(db: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    for step in steps
        .iter()
        .skip(usize::try_from(found).unwrap_or_default())
    {
        transaction.execute_batch(step)?;
    }
    if found < steps.len() as i64 {
        transaction.pragma_update(None, "user_version", steps.len() as i64)?;
    }
    transaction.commit()
}

/// Creates a file as an older version would have, for tests of the migration.
#[cfg(test)]
pub(super) fn open_older(path: &Path, steps: &[&str]) {
    let mut db = Connection::open(path).unwrap();
    migrate(&mut db, steps).unwrap();
}
