//! The ledger: the usage and cost of every attempt.
//!
//! - [`PriceBook`] knows the price of a target; [`PriceCard::cost`] prices
//!   [`Quantities`]. Money is integers: [`Rate`] in picodollars, [`Cost`] in
//!   nanodollars, rounded half-up once per row.
//! - A [`Store`] keeps rows, rollups and leases: [`SqliteStore`] in a folder,
//!   [`PostgresStore`] in a database that several nodes share.
//! - [`Ledger`] owns the thread that writes; a [`LedgerSender`] never waits.
//!
//! ```
//! use majordomo_ledger::{PriceBook, PriceQuery, Quantities, Vendor};
//!
//! let book = PriceBook::default();
//! let card = book.price(PriceQuery {
//!     vendor: &Vendor::of("anthropic", Some("api.anthropic.com")),
//!     target: "anthropic/claude-sonnet-4-5",
//!     service_tier: None,
//!     at_millis: 1_794_924_000_000,
//! });
//! let used = Quantities { input: 1_000, output: 100, ..Quantities::default() };
//! let cost = card.unwrap().cost(&used).unwrap();
//! assert_eq!(cost.to_string(), "0.0045");
//! ```

mod civil;
mod money;
mod prices;
mod quantities;
mod report;
mod request_id;
mod rows;
mod store;
mod writer;

pub use civil::{Day, DayError};
pub use money::{Cost, MoneyError, Rate};
pub use prices::{
    PriceBook, PriceCard, PriceId, PriceOverride, PriceQuery, Rates, TableError, TierOverride,
    Vendor,
};
pub use quantities::Quantities;
pub use report::{
    GroupBy, RepriceReport, RepriceSubject, RequestQuery, StoredRequest, UsageQuery, UsageRow,
    UsageSums, VerifyReport, parse_since, usage_csv,
};
pub use request_id::{RequestId, RequestIdError};
pub use rows::{
    AttemptKind, AttemptRow, FinishedRow, LedgerEntry, OpenAttempt, PriceRef, RequestRow,
    SettleClass,
};
pub use store::{
    AccessChange, AccessStore, AuditQuery, AuditRow, AuditStamp, MAX_KEY_SECRETS, MAX_STORED_KEYS,
    PostgresAccess, SqliteAccess, StoredAccess, StoredKey, StoredSecret, StoredTeam,
};
pub use store::{
    Lease, LeaseDecision, LeaseRequest, Opening, Payer, PostgresStore, PostgresUrl,
    PostgresUrlError, RepriceFn, SqliteStore, Store, StoreError, StorePlace, StoreSchema,
};
pub use writer::{
    Ledger, LedgerSender, LedgerStatus, OpenStore, Pseudonyms, StatusSnapshot, WriterOptions,
};
