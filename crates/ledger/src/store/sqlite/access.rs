//! Keys, teams and the audit log in `keys.db`, beside the ledger's own files.
//!
//! In a separate file, so that a key can be frozen while the ledger writes or copies a day.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::store::StoreError;
use crate::store::access::{
    AccessChange, AccessStore, AuditQuery, AuditRow, AuditStamp, StoredAccess, StoredKey,
    StoredSecret, StoredTeam,
};

use super::connection::{at, open};
use super::make_private;

/// The file of keys, teams and the audit log.
pub(super) const KEYS: &str = "keys.db";

/// Its tables, as steps of a schema version. A step is never changed; a new one is added.
pub(super) const SCHEMA: &[&str] = &[
    // 1
    "CREATE TABLE state (revision INTEGER NOT NULL, had_keys INTEGER NOT NULL);
     INSERT INTO state VALUES (0, 0);
     CREATE TABLE key (
         name TEXT PRIMARY KEY, settings TEXT NOT NULL, frozen INTEGER NOT NULL,
         created INTEGER NOT NULL) WITHOUT ROWID;
     CREATE TABLE secret (
         id INTEGER PRIMARY KEY, key TEXT NOT NULL REFERENCES key (name) ON DELETE CASCADE,
         sha256 TEXT NOT NULL UNIQUE, until INTEGER);
     CREATE INDEX secret_by_key ON secret (key);
     CREATE TABLE team (name TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;
     CREATE TABLE audit (
         id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT NOT NULL,
         action TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL);
     CREATE INDEX audit_by_time ON audit (at);",
];

/// Keys and teams in the folder of a ledger.
pub struct SqliteAccess {
    db: Connection,
    path: PathBuf,
}

impl SqliteAccess {
    /// Opens `keys.db` in a folder, and creates both if they are missing.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be used, or if a newer version wrote the file.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        make_private(folder)?;
        let path = Self::path(folder);
        let db = open(&path, SCHEMA)?;
        db.pragma_update(None, "foreign_keys", true)
            .map_err(at(&path))?;
        Ok(Self { db, path })
    }

    /// The file in a ledger's folder.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(KEYS)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.db
    }

    /// Runs `work` in a transaction that excludes other writers.
    fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, AccessError>,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let run = || {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.db.transaction_with_behavior(behavior)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|error| match error {
            AccessError::Sqlite(error) => at(&path)(error),
            AccessError::Refused(error) => error,
        })
    }
}

/// Why a transaction failed.
enum AccessError {
    Sqlite(rusqlite::Error),
    Refused(StoreError),
}

impl From<rusqlite::Error> for AccessError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl AccessStore for SqliteAccess {
    fn revision(&mut self) -> Result<i64, StoreError> {
        let mut select = self
            .db
            .prepare_cached("SELECT revision FROM state")
            .map_err(at(&self.path))?;
        select
            .query_row([], |row| row.get(0))
            .map_err(at(&self.path))
    }

    fn load(&mut self) -> Result<StoredAccess, StoreError> {
        let path = self.path.clone();
        let mut read = || {
            let transaction = self.db.transaction()?;
            load(&transaction)
        };
        read().map_err(at(&path))
    }

    fn apply(&mut self, change: &AccessChange, stamp: &AuditStamp) -> Result<(), StoreError> {
        self.in_transaction(|db| {
            let stored = load(db)?;
            stored.check(change).map_err(AccessError::Refused)?;
            write(db, &stored, change, stamp.at_millis)?;
            let makes_key = matches!(change, AccessChange::CreateKey(_));
            db.execute(
                "UPDATE state SET revision = revision + 1, had_keys = had_keys OR ?1",
                [makes_key],
            )?;
            note(
                db,
                change.action(),
                change.subject(),
                change.detail(),
                stamp,
            )?;
            Ok(())
        })
    }

    fn note(&mut self, action: &str, subject: &str, stamp: &AuditStamp) -> Result<(), StoreError> {
        self.in_transaction(|db| Ok(note(db, action, subject, "", stamp)?))
    }

    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let before = query.before.unwrap_or(i64::MAX);
        let read = || {
            let mut select = self.db.prepare_cached(
                "SELECT id, at, who, action, subject, detail FROM audit
                 WHERE at >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
            )?;
            let rows = select.query_map(params![query.since_millis, before, limit], |row| {
                Ok(AuditRow {
                    id: row.get(0)?,
                    at_millis: row.get(1)?,
                    who: row.get(2)?,
                    action: row.get(3)?,
                    subject: row.get(4)?,
                    detail: row.get(5)?,
                })
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        read().map_err(at(&self.path))
    }

    fn drop_audit_before(&mut self, millis: i64) -> Result<u64, StoreError> {
        let dropped = self.db.execute("DELETE FROM audit WHERE at < ?1", [millis]);
        dropped.map(|rows| rows as u64).map_err(at(&self.path))
    }
}

fn load(db: &Connection) -> rusqlite::Result<StoredAccess> {
    let state = "SELECT revision, had_keys FROM state";
    let (revision, had_keys) = db.query_row(state, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut select =
        db.prepare_cached("SELECT sha256, until FROM secret WHERE key = ?1 ORDER BY id")?;
    let mut secrets = |key: &str| -> rusqlite::Result<Vec<StoredSecret>> {
        let rows = select.query_map([key], |row| {
            Ok(StoredSecret {
                sha256: row.get(0)?,
                until_millis: row.get(1)?,
            })
        })?;
        rows.collect()
    };
    let mut keys =
        db.prepare_cached("SELECT name, settings, frozen, created FROM key ORDER BY name")?;
    let keys = keys.query_map([], |row| {
        let name: String = row.get(0)?;
        Ok(StoredKey {
            secrets: secrets(&name)?,
            name,
            settings: row.get(1)?,
            frozen: row.get(2)?,
            created_millis: row.get(3)?,
        })
    })?;
    let keys = keys.collect::<rusqlite::Result<_>>()?;
    let mut teams = db.prepare_cached("SELECT name, settings FROM team ORDER BY name")?;
    let teams = teams.query_map([], |row| {
        Ok(StoredTeam {
            name: row.get(0)?,
            settings: row.get(1)?,
        })
    })?;
    Ok(StoredAccess {
        revision,
        had_keys,
        keys,
        teams: teams.collect::<rusqlite::Result<_>>()?,
    })
}

fn write(
    db: &Connection,
    stored: &StoredAccess,
    change: &AccessChange,
    now_millis: i64,
) -> rusqlite::Result<()> {
    match change {
        AccessChange::CreateKey(key) => {
            db.execute(
                "INSERT INTO key (name, settings, frozen, created) VALUES (?1, ?2, ?3, ?4)",
                params![key.name, key.settings, key.frozen, key.created_millis],
            )?;
            replace_secrets(db, &key.name, &key.secrets)
        }
        AccessChange::UpdateKey { name, settings } => db
            .execute(
                "UPDATE key SET settings = ?2 WHERE name = ?1",
                params![name, settings],
            )
            .map(drop),
        AccessChange::RotateKey {
            name,
            sha256,
            overlap_until_millis,
        } => {
            let key = stored.keys.iter().find(|key| key.name == *name);
            let secrets = key.map(|key| key.rotated(sha256, *overlap_until_millis, now_millis));
            replace_secrets(db, name, &secrets.unwrap_or_default())
        }
        AccessChange::FreezeKey { name, frozen } => db
            .execute(
                "UPDATE key SET frozen = ?2 WHERE name = ?1",
                params![name, frozen],
            )
            .map(drop),
        AccessChange::DeleteKey { name } => db
            .execute("DELETE FROM key WHERE name = ?1", [name])
            .map(drop),
        AccessChange::PutTeam(team) => db
            .execute(
                "INSERT INTO team (name, settings) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET settings = excluded.settings",
                params![team.name, team.settings],
            )
            .map(drop),
        AccessChange::DeleteTeam { name } => db
            .execute("DELETE FROM team WHERE name = ?1", [name])
            .map(drop),
    }
}

fn replace_secrets(db: &Connection, key: &str, secrets: &[StoredSecret]) -> rusqlite::Result<()> {
    db.execute("DELETE FROM secret WHERE key = ?1", [key])?;
    let mut insert =
        db.prepare_cached("INSERT INTO secret (key, sha256, until) VALUES (?1, ?2, ?3)")?;
    for secret in secrets {
        insert.execute(params![key, secret.sha256, secret.until_millis])?;
    }
    Ok(())
}

fn note(
    db: &Connection,
    action: &str,
    subject: &str,
    detail: &str,
    stamp: &AuditStamp,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO audit (at, who, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![stamp.at_millis, stamp.who, action, subject, detail],
    )
    .map(drop)
}
