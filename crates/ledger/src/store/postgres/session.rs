//! One connection, used from one thread, with a deadline for every call.
//!
//! The driver is asynchronous and the store is not: each call runs on the session's own
//! runtime until it ends or its deadline passes. A connection that failed or timed out is
//! closed, and the next call opens a new one.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use crate::store::{StoreError, StoreSchema};

use super::PostgresUrl;
use super::migrations::{self, SchemaVersion, USABLE_FROM};
use super::tls::RustlsConnect;

/// How long a new connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a migration may take, which may read all rows.
const MIGRATION: Duration = Duration::from_secs(600);
/// How long the ordinary work of a writer may take.
pub(super) const WRITE: Duration = Duration::from_secs(5);
/// How long a report may take.
pub(super) const REPORT: Duration = Duration::from_secs(60);
/// How long a command that reads or rewrites everything may take.
pub(super) const MAINTENANCE: Duration = Duration::from_secs(3_600);

/// A connection to a migrated database.
pub(super) struct Session {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    url: PostgresUrl,
    client: Option<Client>,
    /// The number of this run, locked by the connection.
    run: i64,
    /// Increases with each connection, because the cache of the previous one may be wrong.
    connections: u64,
}

impl Session {
    pub(super) fn open(url: PostgresUrl) -> Result<Self, StoreError> {
        let runtime = runtime(&url)?;
        let mut session = Self {
            runtime: Some(runtime),
            url,
            client: None,
            run: 0,
            connections: 0,
        };
        session.connect()?;
        Ok(session)
    }

    /// The number that marks open attempts of this connection.
    pub(super) fn run(&self) -> i64 {
        self.run
    }

    /// The number of this connection, from 1.
    pub(super) fn connections(&self) -> u64 {
        self.connections
    }

    /// The server, without a password.
    pub(super) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Connects unless there is a connection, and brings the schema up to date.
    pub(super) fn connect(&mut self) -> Result<(), StoreError> {
        if self
            .client
            .as_ref()
            .is_some_and(|client| !client.is_closed())
        {
            return Ok(());
        }
        self.client = None;
        let runtime = self.runtime.as_ref().expect("taken by drop only");
        // Random, so that no two runs share it.
        let run = fastrand::i64(1..);
        let url = &self.url;
        let connecting = async {
            let client = connect(url).await?;
            let locked = client.execute("SELECT pg_advisory_lock($1)", &[&run]).await;
            locked.map_err(|error| failed(url, Box::new(error)))?;
            let found = migrations::version(&client).await;
            let found = found.map_err(|error| failed(url, Box::new(error)))?;
            Ok((client, found))
        };
        let connected = runtime.block_on(async { timeout(CONNECT, connecting).await });
        let (mut client, found) = connected.unwrap_or_else(|_| Err(late(url, CONNECT)))?;
        if schema(url, found)? != StoreSchema::Current {
            let migrating = async {
                migrations::migrate(&mut client, migrations::STEPS, USABLE_FROM).await?;
                migrations::version(&client).await
            };
            let migrated = runtime.block_on(async { timeout(MIGRATION, migrating).await });
            let found = migrated.map_err(|_| late(url, MIGRATION))?;
            let found = found.map_err(|error| failed(url, Box::new(error)))?;
            // A newer program may have come first.
            schema(url, found)?;
        }
        self.client = Some(client);
        self.run = run;
        self.connections += 1;
        Ok(())
    }

    /// Runs `work` until it ends, at most for `deadline`.
    pub(super) fn call<T>(
        &mut self,
        deadline: Duration,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        self.connect()?;
        let runtime = self.runtime.as_ref().expect("taken by drop only");
        let mut client = self.client.take().expect("just connected");
        let ended = runtime.block_on(async { timeout(deadline, work(&mut client)).await });
        match ended {
            Ok(Ok(value)) => {
                self.client = Some(client);
                Ok(value)
            }
            // The next call must not find leftovers of this one, such as a transaction.
            Ok(Err(error)) => Err(failed(&self.url, Box::new(error))),
            Err(_) => Err(late(&self.url, deadline)),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.client = None;
        if let Some(runtime) = self.runtime.take() {
            // Waiting for its threads would block the thread that drops the session.
            runtime.shutdown_background();
        }
    }
}

/// Reads the schema of a database without changing it.
pub(in crate::store) fn inspect(url: &PostgresUrl) -> Result<StoreSchema, StoreError> {
    let reading = async {
        let client = connect(url).await?;
        let found = migrations::version(&client).await;
        found.map_err(|error| failed(url, Box::new(error)))
    };
    let found = runtime(url)?.block_on(async { timeout(CONNECT, reading).await });
    let found = found.unwrap_or_else(|_| Err(late(url, CONNECT)))?;
    schema(url, found)
}

/// Compares a schema with this version's. A newer one that this version can use needs nothing.
fn schema(url: &PostgresUrl, found: SchemaVersion) -> Result<StoreSchema, StoreError> {
    let known = migrations::STEPS.len() as i64;
    match found.serves(known) {
        true => Ok(StoreSchema::Current),
        false => StoreSchema::of(url, found.number, known),
    }
}

fn runtime(url: &PostgresUrl) -> Result<Runtime, StoreError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let built = builder.enable_all().build();
    built.map_err(|source| failed(url, Box::new(source)))
}

/// A connection with our settings.
async fn connect(url: &PostgresUrl) -> Result<Client, StoreError> {
    let tls = url.config().get_ssl_mode() != tokio_postgres::config::SslMode::Disable;
    let client = if tls {
        let root = url.root().cloned();
        // Reads files.
        let connector = tokio::task::spawn_blocking(move || RustlsConnect::new(root.as_deref()));
        let connector = connector
            .await
            .map_err(|error| failed(url, Box::new(error)))?;
        let connector = connector.map_err(|error| failed(url, Box::new(error)))?;
        url.config()
            .connect(connector)
            .await
            .map(|(client, connection)| {
                tokio::spawn(connection);
                client
            })
    } else {
        url.config()
            .connect(NoTls)
            .await
            .map(|(client, connection)| {
                tokio::spawn(connection);
                client
            })
    };
    let client = client.map_err(|error| failed(url, Box::new(error)))?;
    // If the server loses the connection, it releases our locks within a minute instead of
    // hours.
    let settings = "SET search_path TO majordomo, pg_catalog;
        SET synchronous_commit TO on;
        SET tcp_keepalives_idle TO 30; SET tcp_keepalives_interval TO 10;
        SET tcp_keepalives_count TO 3;
        SET idle_in_transaction_session_timeout TO '60s'";
    let set = client.batch_execute(settings).await;
    set.map_err(|error| failed(url, Box::new(error)))?;
    Ok(client)
}

fn late(url: &PostgresUrl, deadline: Duration) -> StoreError {
    StoreError::Late {
        place: url.to_string(),
        seconds: deadline.as_secs(),
    }
}

fn failed(url: &PostgresUrl, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Postgres {
        place: url.to_string(),
        reason: chain(&*source),
        source,
    }
}

/// An error and its causes. The driver's own text is "db error".
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    if texts.len() > 1 && texts[0] == "db error" {
        texts.remove(0);
    }
    texts.join(": ")
}
