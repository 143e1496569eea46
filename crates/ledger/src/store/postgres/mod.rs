//! PostgreSQL: rows in partitions by day, shared by any number of nodes.
//!
//! `session` connects and enforces deadlines, `migrations` has the tables, `partitions` the
//! days, `insert` writes rows and `rollup` their sums in the same transaction, `reports` runs
//! queries, `maintenance` recovers, erases and checks, `reprice` corrects, `lease` stores
//! budgets, `access` keys and teams. A store blocks: use it outside of async tasks.

mod access;
mod address;
mod insert;
mod lease;
mod maintenance;
mod migrations;
mod names;
mod partitions;
mod reports;
mod reprice;
mod request_uuid;
mod rollup;
mod session;
mod tls;

use std::collections::HashSet;

use tokio_postgres::Client;

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{
    RepriceReport, RequestQuery, StoredRequest, UsageQuery, UsageRow, VerifyReport,
};
use crate::request_id::RequestId;
use crate::rows::LedgerEntry;
use crate::store::{Lease, LeaseDecision, LeaseRequest, RepriceFn, Store, StoreError};

use insert::{Batch, Known};
use session::{MAINTENANCE, REPORT, Session, WRITE};

pub use access::PostgresAccess;
pub use address::{PostgresUrl, PostgresUrlError};
pub(super) use session::inspect;

/// A ledger in a PostgreSQL database, in the schema `majordomo`.
pub struct PostgresStore {
    session: Session,
    known: Known,
    /// The connection to which `known` belongs.
    connection: u64,
}

impl PostgresStore {
    /// Connects, and creates or migrates the tables.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached within a few seconds, refuses, or has tables of
    /// a newer version.
    pub fn open(url: PostgresUrl) -> Result<Self, StoreError> {
        let session = Session::open(url)?;
        Ok(Self {
            connection: session.connections(),
            session,
            known: Known::default(),
        })
    }

    /// The server, without a password.
    pub fn place(&self) -> String {
        self.session.place()
    }

    /// Runs `work` with the cache of the database.
    fn call<T>(
        &mut self,
        deadline: std::time::Duration,
        work: impl AsyncFnOnce(&mut Client, &mut Known) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        self.session.connect()?;
        if self.session.connections() != self.connection {
            self.connection = self.session.connections();
            self.known = Known::default();
        }
        let known = &mut self.known;
        let result = self
            .session
            .call(deadline, async |client| work(client, &mut *known).await);
        if result.is_err() {
            // Names that were rolled back must not be cached.
            self.known = Known::default();
        }
        result
    }
}

impl Store for PostgresStore {
    fn write(&mut self, entries: &[LedgerEntry]) -> Result<(), StoreError> {
        let mut finished = Vec::new();
        let mut opened = Vec::new();
        for entry in entries {
            match entry {
                LedgerEntry::Finished(row) => finished.push(row),
                LedgerEntry::Opened(open) => opened.push(open),
            }
        }
        // An attempt that ended within the batch leaves no open row.
        let ended: HashSet<RequestId> = finished.iter().map(|row| row.request.id).collect();
        opened.retain(|open| !ended.contains(&open.request));
        self.session.connect()?;
        let batch = Batch {
            finished: &finished,
            opened: &opened,
            run: self.session.run(),
        };
        self.call(WRITE, async |client, known| {
            insert::write(client, known, &batch).await.map(|_| ())
        })
    }

    fn recover(&mut self) -> Result<u64, StoreError> {
        self.session.connect()?;
        let own = self.session.run();
        self.call(REPORT, async |client, known| {
            maintenance::recover(client, known, own).await
        })
    }

    fn drop_before(&mut self, before: Day) -> Result<Vec<Day>, StoreError> {
        self.call(REPORT, async |client, known| {
            let mut dropped = Vec::new();
            for day in partitions::days(client).await? {
                if day < before && partitions::remove(client, day).await? {
                    known.forget_day(day);
                    dropped.push(day);
                }
            }
            Ok(dropped)
        })
    }

    fn usage(&mut self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
        self.call(REPORT, async |client, _| {
            reports::usage(client, query).await
        })
    }

    fn requests(&mut self, query: &RequestQuery) -> Result<Vec<StoredRequest>, StoreError> {
        self.call(REPORT, async |client, _| {
            reports::requests(client, query).await
        })
    }

    fn forget_user(&mut self, user: &str) -> Result<u64, StoreError> {
        self.call(MAINTENANCE, async |client, _| {
            maintenance::erase_user(client, user).await
        })
    }

    fn verify(&mut self) -> Result<VerifyReport, StoreError> {
        self.call(MAINTENANCE, async |client, _| {
            maintenance::verify(client).await
        })
    }

    fn reprice(
        &mut self,
        since_millis: i64,
        until_millis: i64,
        made_millis: i64,
        price: &mut RepriceFn<'_>,
    ) -> Result<RepriceReport, StoreError> {
        let range = [since_millis, until_millis];
        self.call(MAINTENANCE, async |client, known| {
            reprice::reprice(client, known, range, made_millis, price).await
        })
    }

    fn grant_lease(&mut self, request: &LeaseRequest) -> Result<LeaseDecision, StoreError> {
        self.session.connect()?;
        let run = self.session.run();
        self.call(WRITE, async |client, _| {
            lease::grant(client, request, run).await
        })
    }

    fn close_lease(&mut self, lease: &Lease, spent: Cost) -> Result<(), StoreError> {
        self.call(WRITE, async |client, _| {
            lease::close(client, lease, spent).await
        })
    }

    fn close_abandoned_leases(&mut self) -> Result<u64, StoreError> {
        self.session.connect()?;
        let own = self.session.run();
        self.call(WRITE, async |client, _| {
            lease::close_abandoned(client, own).await
        })
    }
}

#[cfg(test)]
mod tests;
