//! Keys, teams and the audit log at run time.
//!
//! No request is checked here: `trust::authenticate` uses an in-memory snapshot of the file's
//! keys and the stored ones. `worker` owns the store and publishes a new `snapshot` with every
//! change; `cache` is its copy on disk. `request` and `api` are the operations, over HTTP or
//! directly; `settings` reads the settings of an entry, `view` and `policy_view` show them,
//! `place` opens the store, and commands use `client`.
//!
//! Fails closed: once a key has been stored, clients need a key, whether or not the store can
//! be read. May use `clock`, `config`, `keys` and `ledger_sink`.

mod api;
mod cache;
mod client;
mod place;
mod policy_view;
mod request;
mod settings;
mod snapshot;
mod view;
mod worker;

pub(crate) use api::{AccessReply, FileEntries};
pub use client::{AccessFailure, AccessTools};
pub(crate) use place::AccessPlace;
pub(crate) use policy_view::add_policy;
pub use request::{AccessRequest, parse_overlap};
pub(crate) use snapshot::StoredEntries;
pub(crate) use view::timestamp;
pub(crate) use worker::{AccessCaller, AccessOptions, AccessWorker};
