//! The writer's loop: gather entries, write them, and keep those that cannot be written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::civil::Day;
use crate::rows::LedgerEntry;
use crate::store::{Store, StoreError};

use super::queue::EntryQueue;
use super::spool::Spool;
use super::status::LedgerStatus;
use super::{OpenStore, WriterOptions};

/// Entries kept in memory while the store cannot be written, before they go to the file.
const IN_MEMORY: usize = 8_192;
/// How long to sleep when there is nothing to do; retention is checked at least this often.
const IDLE: Duration = Duration::from_secs(3_600);

/// The state of the loop.
pub(super) struct WriterThread {
    open: OpenStore,
    options: WriterOptions,
    queue: Arc<EntryQueue>,
    status: Arc<LedgerStatus>,
    store: Option<Box<dyn Store>>,
    spool: Option<Spool>,
    /// Entries that are not written yet, oldest first.
    pending: VecDeque<LedgerEntry>,
    /// Whether open attempts of earlier processes have been recovered.
    recovered: bool,
    /// The day on which old days were last dropped.
    swept: Option<Day>,
}

impl WriterThread {
    pub(super) fn new(
        open: OpenStore,
        options: WriterOptions,
        queue: Arc<EntryQueue>,
        status: Arc<LedgerStatus>,
    ) -> Self {
        let path = options.spool.clone();
        let spool = path.map(|path| Spool::new(path, options.spool_bytes));
        Self {
            open,
            options,
            queue,
            status,
            store: None,
            spool,
            pending: VecDeque::new(),
            recovered: false,
            swept: None,
        }
    }

    pub(super) fn run(mut self) {
        // Recovery and retention do not wait for a first request.
        self.deliver();
        loop {
            let idle = if self.has_work() {
                self.options.retry
            } else {
                IDLE
            };
            let gathered = self.queue.gather(idle, self.options.commit);
            let count = gathered.entries.len();
            self.accept(gathered.entries);
            self.deliver();
            self.make_room(if gathered.closed { 0 } else { IN_MEMORY });
            self.status.set_waiting(self.pending.len());
            self.queue.mark_handled(count);
            if gathered.closed {
                return;
            }
        }
    }

    fn has_work(&self) -> bool {
        let spooled = self.spool.as_ref().is_some_and(|spool| !spool.is_empty());
        self.store.is_none() || spooled || !self.pending.is_empty()
    }

    fn accept(&mut self, mut entries: VecDeque<LedgerEntry>) {
        if let Some(pseudonyms) = &self.options.pseudonyms {
            for entry in &mut entries {
                if let LedgerEntry::Finished(row) = entry {
                    let user = row.request.user.as_deref();
                    row.request.user = user.map(|user| pseudonyms.of(user).into());
                }
            }
        }
        if self.pending.is_empty() {
            self.pending = entries;
        } else {
            self.pending.extend(entries);
        }
    }

    /// Writes the waiting entries, and logs a change of availability once.
    fn deliver(&mut self) {
        match self.try_deliver() {
            Ok(()) => {
                if self.status.set_available(true) {
                    tracing::info!("the ledger can be written again");
                }
            }
            Err(error) => {
                // A store that failed is reopened, because its file may have been replaced.
                if self.status.set_available(false) {
                    tracing::warn!(%error, "the ledger cannot be written; entries wait");
                }
            }
        }
    }

    fn try_deliver(&mut self) -> Result<(), StoreError> {
        let idle = self.store.is_some();
        let result = self.open_and_write();
        // A connection may have been cut while nothing was written.
        if idle && result.is_err() {
            return self.open_and_write();
        }
        result
    }

    fn open_and_write(&mut self) -> Result<(), StoreError> {
        if self.store.is_none() {
            self.store = Some((self.open)()?);
        }
        let result = self.write_all();
        if result.is_err() {
            self.store = None;
        }
        result
    }

    fn write_all(&mut self) -> Result<(), StoreError> {
        let Some(store) = self.store.as_mut() else {
            return Ok(());
        };
        while let Some(spool) = self.spool.as_mut().filter(|spool| !spool.is_empty()) {
            let read = spool.next_chunk();
            let Ok((entries, position)) = read else {
                // A spool that cannot be read must not block later entries.
                break;
            };
            store.write(&entries)?;
            self.status.add_written(entries.len());
            if spool.mark_delivered(position).is_err() {
                break;
            }
        }
        // After the spool, which may have the rows of seemingly lost attempts; and only once,
        // because a reopened store would take this process's own attempts for lost.
        if !self.recovered {
            let lost = store.recover()?;
            self.recovered = true;
            self.status.add_lost(lost);
            if lost > 0 {
                tracing::warn!(lost, "attempts were open when an earlier process ended");
            }
        }
        if !self.pending.is_empty() {
            store.write(self.pending.make_contiguous())?;
            self.status.add_written(self.pending.len());
            self.pending.clear();
        }
        let today = Day::of_millis((self.options.now_millis)());
        if let Some(days) = self.options.retention_days
            && self.swept != Some(today)
        {
            let dropped = store.drop_before(today.minus(i64::from(days)))?;
            if !dropped.is_empty() {
                tracing::info!(days = dropped.len(), "dropped old days of the ledger");
            }
            self.swept = Some(today);
        }
        Ok(())
    }

    /// Moves entries that do not fit into memory to the file, and drops those that fit
    /// nowhere.
    fn make_room(&mut self, kept: usize) {
        if self.pending.len() <= kept {
            return;
        }
        if let Some(spool) = &mut self.spool {
            // To keep the order, all waiting entries go to the file.
            if let Ok(spooled) = spool.append(self.pending.iter()) {
                self.status.add_spooled(spooled);
                let finished = |entry: &&LedgerEntry| matches!(entry, LedgerEntry::Finished(_));
                let finished = self.pending.iter().filter(finished).count();
                self.status.add_dropped((finished - spooled) as u64);
                self.pending.clear();
                return;
            }
        }
        // Without a file, memory holds as many entries as the queue; at the end, none.
        let kept = if kept == 0 { 0 } else { self.options.capacity };
        let excess = self.pending.len().saturating_sub(kept);
        if excess > 0 {
            self.pending.drain(..excess);
            self.status.add_dropped(excess as u64);
        }
    }
}
