//! The ledger as a sink of finished requests.
//!
//! Turns records into rows and queues them; a thread of `majordomo_ledger` writes. May use
//! `clock`, `config`, `pricing` and `record`.

mod command;
mod rows;

pub use command::LedgerTools;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use majordomo::BoxFuture;
use majordomo_ledger::{
    Ledger, LedgerEntry, LedgerSender, Pseudonyms, StatusSnapshot, Store, StoreError, StorePlace,
    WriterOptions,
};

use crate::clock::wall_clock;
use crate::config::LedgerSettings;
use crate::record::{FinishedRequest, RequestSink, StartedCall, unix_millis};

/// Records every request that named a model.
pub(crate) struct LedgerSink {
    sender: LedgerSender,
    place: StorePlace,
    /// Taken when the server stops.
    ledger: Mutex<Option<Ledger>>,
}

impl LedgerSink {
    /// Starts the ledger of a configuration. `None` if it is off, or if there is no folder
    /// for it.
    pub(crate) fn start(
        settings: &LedgerSettings,
        environment: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let place = settings.place(environment)?;
        // A database has no folder here, and rows that wait for it may have none either.
        let folder = settings.folder(environment);
        let mut options = WriterOptions::new(now_millis);
        options.retention_days = settings.retention.map(|time| {
            let days = time.as_secs().div_ceil(86_400);
            u32::try_from(days).unwrap_or(u32::MAX)
        });
        options.spool = folder.as_ref().map(|folder| folder.with_extension("spool"));
        if settings.hash_end_users {
            match pseudonyms(folder.as_deref()) {
                Ok(pseudonyms) => options.pseudonyms = Some(pseudonyms),
                Err(error) => {
                    // Names must not be written by accident.
                    tracing::error!(%error, "the ledger is off: the key for end users cannot be used");
                    return None;
                }
            }
        }
        let opened = place.clone();
        match Ledger::start(Box::new(move || opened.open()), options) {
            Ok(ledger) => Some(Self {
                sender: ledger.sender(),
                place,
                ledger: Mutex::new(Some(ledger)),
            }),
            Err(error) => {
                tracing::error!(%error, "the ledger is off: its thread cannot start");
                None
            }
        }
    }

    /// The state of the rows: waiting, written, dropped.
    pub(crate) fn status(&self) -> StatusSnapshot {
        self.sender.status()
    }

    /// Opens the store to read. Blocks.
    pub(crate) fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        self.place.open()
    }

    /// Waits until everything recorded so far can be read. Blocks.
    pub(crate) fn flush(&self) {
        self.sender.flush(std::time::Duration::from_secs(1));
    }
}

/// The key that replaces names of end users, beside the ledger.
pub(crate) fn pseudonyms(folder: Option<&Path>) -> std::io::Result<Pseudonyms> {
    let missing = || std::io::Error::other("there is no state folder for it");
    let folder = folder.ok_or_else(missing)?;
    std::fs::create_dir_all(folder)?;
    Pseudonyms::load(&folder.join("end-users.key"), || {
        let mut key = [0; 32];
        // If the system has no randomness, keys cannot be generated either.
        getrandom::fill(&mut key).unwrap_or_default();
        key
    })
}

/// The Unix time in milliseconds.
pub(crate) fn now_millis() -> i64 {
    unix_millis(wall_clock())
}

impl RequestSink for LedgerSink {
    fn calling(&self, call: &StartedCall<'_>) {
        self.sender.send(LedgerEntry::Opened(rows::opened(call)));
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        if !record.model.is_empty() {
            let row = rows::finished(record);
            self.sender.send(LedgerEntry::Finished(row));
        }
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        let ledger = self.ledger.lock();
        let ledger = ledger.unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            // Writes what is queued and ends the thread.
            let _ = tokio::task::spawn_blocking(move || drop(ledger)).await;
        })
    }
}
