//! The writer: entries go into a bounded queue, a thread writes them to a store.
//!
//! Nothing on a request's path waits: [`LedgerSender::send`] locks, pushes and returns. The
//! thread belongs to [`Ledger`] and ends with it. `queue` connects the two, `thread` is the
//! loop, `spool` keeps entries while the store cannot be written, `status` counts.

mod pseudonyms;
mod queue;
mod spool;
mod status;
mod thread;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::rows::LedgerEntry;
use crate::store::{Store, StoreError};

use queue::EntryQueue;
use thread::WriterThread;

pub use pseudonyms::Pseudonyms;
pub use status::{LedgerStatus, StatusSnapshot};

/// Opens the store; called until it succeeds.
pub type OpenStore = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// The configuration of a ledger's writer.
#[non_exhaustive]
pub struct WriterOptions {
    /// Maximum entries that wait in memory. Further ones are spooled, or dropped and counted.
    pub capacity: usize,
    /// How long entries are gathered before they are committed together.
    pub commit: Duration,
    /// How long to wait before retrying a store that failed.
    pub retry: Duration,
    /// A file for entries that do not fit into memory, and for those left at the end.
    pub spool: Option<PathBuf>,
    /// Maximum size of that file.
    pub spool_bytes: u64,
    /// How many days rows are kept; `None` means forever.
    pub retention_days: Option<u32>,
    /// Replaces names of end users.
    pub pseudonyms: Option<Pseudonyms>,
    /// The Unix time in milliseconds.
    pub now_millis: fn() -> i64,
}

impl WriterOptions {
    /// The defaults, with a clock.
    pub fn new(now_millis: fn() -> i64) -> Self {
        Self {
            capacity: 65_536,
            commit: Duration::from_millis(40),
            retry: Duration::from_secs(1),
            spool: None,
            spool_bytes: 64 << 20,
            retention_days: None,
            pseudonyms: None,
            now_millis,
        }
    }
}

/// A running writer. Dropping it writes the queued entries and ends the thread.
pub struct Ledger {
    sender: LedgerSender,
    thread: Option<JoinHandle<()>>,
}

/// Sends entries to a [`Ledger`].
#[derive(Clone)]
pub struct LedgerSender {
    queue: Arc<EntryQueue>,
    status: Arc<LedgerStatus>,
}

impl Ledger {
    /// Starts the thread, which opens the store.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot start a thread.
    pub fn start(open: OpenStore, options: WriterOptions) -> io::Result<Self> {
        let queue = Arc::new(EntryQueue::new(options.capacity));
        let status = Arc::<LedgerStatus>::default();
        let writer = WriterThread::new(open, options, Arc::clone(&queue), Arc::clone(&status));
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self {
            sender: LedgerSender { queue, status },
            thread: Some(thread),
        })
    }

    /// A sender.
    pub fn sender(&self) -> LedgerSender {
        self.sender.clone()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.sender.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl LedgerSender {
    /// Queues an entry. If the queue is full the entry is dropped and counted.
    pub fn send(&self, entry: LedgerEntry) {
        if !self.queue.push(entry) {
            self.status.add_dropped(1);
        }
    }

    /// The state of the entries.
    pub fn status(&self) -> StatusSnapshot {
        self.status.snapshot()
    }

    /// Waits up to `timeout` until all earlier entries are written or spooled. Returns whether
    /// they are.
    pub fn flush(&self, timeout: Duration) -> bool {
        self.queue.flush(timeout)
    }
}
