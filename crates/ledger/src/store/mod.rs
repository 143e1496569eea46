//! Durable stores behind one trait.
//!
//! A store is synchronous and owned by one thread: the writer's, or that of a command. Every
//! operation is idempotent, so one that failed half-way is simply repeated.

mod access;
mod error;
mod lease;
mod place;
mod postgres;
mod sqlite;
mod usage_report;

use std::sync::Arc;

use crate::civil::Day;
use crate::prices::PriceCard;
use crate::report::{
    RepriceReport, RepriceSubject, RequestQuery, StoredRequest, UsageQuery, UsageRow, VerifyReport,
};
use crate::rows::LedgerEntry;

pub use access::{
    AccessChange, AccessStore, AuditQuery, AuditRow, AuditStamp, MAX_KEY_SECRETS, MAX_STORED_KEYS,
    StoredAccess, StoredKey, StoredSecret, StoredTeam,
};
pub use error::StoreError;
pub use lease::{Lease, LeaseDecision, LeaseRequest, Opening, Payer};
pub use place::{StorePlace, StoreSchema};
pub use postgres::{PostgresAccess, PostgresStore, PostgresUrl, PostgresUrlError};
pub use sqlite::{SqliteAccess, SqliteStore};

/// Looks up the price of a past attempt.
pub type RepriceFn<'a> = dyn FnMut(&RepriceSubject) -> Option<Arc<PriceCard>> + 'a;

/// Keeps the ledger's rows, rollups and leases.
pub trait Store: Send {
    /// Writes entries. Existing rows do not change, so an entry that is delivered twice is
    /// written once.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written; the entries can be delivered again.
    fn write(&mut self, entries: &[LedgerEntry]) -> Result<(), StoreError>;

    /// Turns open attempts of processes that died into rows with the settle class `lost`,
    /// and returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or written.
    fn recover(&mut self) -> Result<u64, StoreError>;

    /// Removes the rows of all days before this one. Rollups are kept.
    ///
    /// # Errors
    ///
    /// Fails if a day cannot be removed.
    fn drop_before(&mut self, day: Day) -> Result<Vec<Day>, StoreError>;

    /// Sums usage from rollups, ordered by time, then most expensive first, then by name.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    fn usage(&mut self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError>;

    /// Lists requests with their attempts, newest first.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    fn requests(&mut self, query: &RequestQuery) -> Result<Vec<StoredRequest>, StoreError>;

    /// Erases an end user from all rows, and returns the number of requests.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn forget_user(&mut self, user: &str) -> Result<u64, StoreError>;

    /// Checks the store's files, and its rollups against its rows.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read at all.
    fn verify(&mut self) -> Result<VerifyReport, StoreError>;

    /// Reprices past attempts. Rows do not change; a difference becomes a compensating row,
    /// dated `made_millis`.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn reprice(
        &mut self,
        since_millis: i64,
        until_millis: i64,
        made_millis: i64,
        price: &mut RepriceFn<'_>,
    ) -> Result<RepriceReport, StoreError>;

    /// Grants this run a lease of the remaining budget: settled + leased ≤ limit at every
    /// moment, over all processes.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written, and then grants nothing.
    fn grant_lease(&mut self, request: &LeaseRequest) -> Result<LeaseDecision, StoreError>;

    /// Ends a lease: the spent amount is settled and the remainder released. Ending it again
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written; the lease then still counts as spent.
    fn close_lease(&mut self, lease: &Lease, spent: crate::Cost) -> Result<(), StoreError>;

    /// Closes the leases of processes that died, as spent, and returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    fn close_abandoned_leases(&mut self) -> Result<u64, StoreError>;
}
