//! Keys, teams and the audit log at run time.
//!
//! No request is checked here: `trust::authenticate` uses a snapshot in memory, of the
//! file's keys and the stored ones. `worker` owns the store and publishes every change; `snapshot` is what it publishes, `cache` its
//! copy on disk. `request` and `api` are the operations, over HTTP or directly; `settings`
//! reads what an entry may do, `view` and `policy_view` show it, `place` opens the store, and `client` is
//! what commands use.
//!
//! Fails closed: once a key was stored, clients need a key, whether or not the store can be
//! read. May use `clock`, `config`, `keys` and `ledger_sink`.

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
