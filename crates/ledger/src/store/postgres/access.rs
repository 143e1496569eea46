//! Keys, teams and the audit log, shared by all nodes.

use tokio_postgres::{Client, Error, GenericClient};

use crate::store::StoreError;
use crate::store::access::{
    AccessChange, AccessStore, AuditQuery, AuditRow, AuditStamp, StoredAccess, StoredKey,
    StoredSecret, StoredTeam,
};

use super::PostgresUrl;
use super::session::{Session, WRITE};

/// Keys and teams in a PostgreSQL database.
pub struct PostgresAccess {
    session: Session,
}

impl PostgresAccess {
    /// Connects, and creates or migrates the tables.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached within a few seconds, refuses, or has tables of
    /// a newer version.
    pub fn open(url: PostgresUrl) -> Result<Self, StoreError> {
        let session = Session::open(url)?;
        Ok(Self { session })
    }
}

impl AccessStore for PostgresAccess {
    fn revision(&mut self) -> Result<i64, StoreError> {
        self.session.call(WRITE, async |client| {
            let row = client
                .query_one("SELECT revision FROM access_state", &[])
                .await?;
            row.try_get(0)
        })
    }

    fn load(&mut self) -> Result<StoredAccess, StoreError> {
        self.session.call(WRITE, async |client| {
            // Read all tables at one moment.
            let transaction = client
                .build_transaction()
                .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await?;
            let stored = load(&transaction).await?;
            transaction.commit().await?;
            Ok(stored)
        })
    }

    fn apply(&mut self, change: &AccessChange, stamp: &AuditStamp) -> Result<(), StoreError> {
        self.session
            .call(WRITE, async |client| apply(client, change, stamp).await)?
    }

    fn note(&mut self, action: &str, subject: &str, stamp: &AuditStamp) -> Result<(), StoreError> {
        self.session.call(WRITE, async |client| {
            note(&*client, action, subject, "", stamp).await
        })
    }

    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let before = query.before.unwrap_or(i64::MAX);
        self.session.call(WRITE, async |client| {
            let rows = client
                .query(
                    "SELECT id, at, who, action, subject, detail FROM audit
                     WHERE at >= $1 AND id < $2 ORDER BY id DESC LIMIT $3",
                    &[&query.since_millis, &before, &limit],
                )
                .await?;
            let rows = rows.iter().map(|row| {
                Ok(AuditRow {
                    id: row.try_get(0)?,
                    at_millis: row.try_get(1)?,
                    who: row.try_get(2)?,
                    action: row.try_get(3)?,
                    subject: row.try_get(4)?,
                    detail: row.try_get(5)?,
                })
            });
            rows.collect()
        })
    }

    fn drop_audit_before(&mut self, millis: i64) -> Result<u64, StoreError> {
        self.session.call(WRITE, async |client| {
            client
                .execute("DELETE FROM audit WHERE at < $1", &[&millis])
                .await
        })
    }
}

/// Applies a change if it does not conflict with the stored state. Changes by all nodes are
/// serialized.
async fn apply(
    client: &mut Client,
    change: &AccessChange,
    stamp: &AuditStamp,
) -> Result<Result<(), StoreError>, Error> {
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT 1 FROM access_state FOR UPDATE", &[])
        .await?;
    let stored = load(&transaction).await?;
    if let Err(refusal) = stored.check(change) {
        return Ok(Err(refusal));
    }
    write(&transaction, &stored, change, stamp.at_millis).await?;
    let makes_key = matches!(change, AccessChange::CreateKey(_));
    transaction
        .execute(
            "UPDATE access_state SET revision = revision + 1, had_keys = had_keys OR $1",
            &[&makes_key],
        )
        .await?;
    let (action, subject) = (change.action(), change.subject());
    note(&transaction, action, subject, change.detail(), stamp).await?;
    transaction.commit().await?;
    Ok(Ok(()))
}

async fn load(client: &impl GenericClient) -> Result<StoredAccess, Error> {
    let state = client
        .query_one("SELECT revision, had_keys FROM access_state", &[])
        .await?;
    let keys = "SELECT name, settings, frozen, created FROM access_key ORDER BY name";
    let mut stored = StoredAccess {
        revision: state.try_get(0)?,
        had_keys: state.try_get(1)?,
        ..StoredAccess::default()
    };
    for row in client.query(keys, &[]).await? {
        stored.keys.push(StoredKey {
            name: row.try_get(0)?,
            settings: row.try_get(1)?,
            frozen: row.try_get(2)?,
            created_millis: row.try_get(3)?,
            secrets: Vec::new(),
        });
    }
    let secrets = "SELECT key, sha256, until FROM access_secret ORDER BY key, id";
    for row in client.query(secrets, &[]).await? {
        let name: String = row.try_get(0)?;
        if let Some(key) = stored.keys.iter_mut().find(|key| key.name == name) {
            key.secrets.push(StoredSecret {
                sha256: row.try_get(1)?,
                until_millis: row.try_get(2)?,
            });
        }
    }
    let teams = "SELECT name, settings FROM access_team ORDER BY name";
    for row in client.query(teams, &[]).await? {
        stored.teams.push(StoredTeam {
            name: row.try_get(0)?,
            settings: row.try_get(1)?,
        });
    }
    Ok(stored)
}

async fn write(
    client: &impl GenericClient,
    stored: &StoredAccess,
    change: &AccessChange,
    now_millis: i64,
) -> Result<(), Error> {
    match change {
        AccessChange::CreateKey(key) => {
            let insert = "INSERT INTO access_key (name, settings, frozen, created)
                          VALUES ($1, $2, $3, $4)";
            client
                .execute(
                    insert,
                    &[&key.name, &key.settings, &key.frozen, &key.created_millis],
                )
                .await?;
            replace_secrets(client, &key.name, &key.secrets).await?;
        }
        AccessChange::UpdateKey { name, settings } => {
            let update = "UPDATE access_key SET settings = $2 WHERE name = $1";
            client.execute(update, &[name, settings]).await?;
        }
        AccessChange::RotateKey {
            name,
            sha256,
            overlap_until_millis,
        } => {
            let key = stored.keys.iter().find(|key| key.name == *name);
            let secrets = key.map(|key| key.rotated(sha256, *overlap_until_millis, now_millis));
            replace_secrets(client, name, &secrets.unwrap_or_default()).await?;
        }
        AccessChange::FreezeKey { name, frozen } => {
            let update = "UPDATE access_key SET frozen = $2 WHERE name = $1";
            client.execute(update, &[name, frozen]).await?;
        }
        AccessChange::DeleteKey { name } => {
            let delete = "DELETE FROM access_key WHERE name = $1";
            client.execute(delete, &[name]).await?;
        }
        AccessChange::PutTeam(team) => {
            let insert = "INSERT INTO access_team (name, settings) VALUES ($1, $2)
                          ON CONFLICT (name) DO UPDATE SET settings = excluded.settings";
            client
                .execute(insert, &[&team.name, &team.settings])
                .await?;
        }
        AccessChange::DeleteTeam { name } => {
            let delete = "DELETE FROM access_team WHERE name = $1";
            client.execute(delete, &[name]).await?;
        }
    }
    Ok(())
}

async fn replace_secrets(
    client: &impl GenericClient,
    key: &str,
    secrets: &[StoredSecret],
) -> Result<(), Error> {
    let delete = "DELETE FROM access_secret WHERE key = $1";
    client.execute(delete, &[&key]).await?;
    for secret in secrets {
        let insert = "INSERT INTO access_secret (key, sha256, until) VALUES ($1, $2, $3)";
        client
            .execute(insert, &[&key, &secret.sha256, &secret.until_millis])
            .await?;
    }
    Ok(())
}

async fn note(
    client: &impl GenericClient,
    action: &str,
    subject: &str,
    detail: &str,
    stamp: &AuditStamp,
) -> Result<(), Error> {
    let insert = "INSERT INTO audit (at, who, action, subject, detail)
                  VALUES ($1, $2, $3, $4, $5)";
    client
        .execute(
            insert,
            &[&stamp.at_millis, &stamp.who, &action, &subject, &detail],
        )
        .await?;
    Ok(())
}
