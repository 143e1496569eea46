//! The thread that owns the store of keys and teams.
//!
//! It executes requests to the store, and polls for changes by other processes. The published
//! set is complete at any moment; client requests never wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

use majordomo_ledger::{AccessStore, AuditStamp, Day, StoreError, StoredAccess};
use tokio::sync::oneshot;

use super::api::{AccessReply, FileEntries, respond};
use super::cache::{AccessCache, CachedAccess};
use super::place::AccessPlace;
use super::request::AccessRequest;
use super::snapshot::StoredEntries;

/// How often to poll for changes by other processes.
const POLL: Duration = Duration::from_millis(200);
/// A frozen key stops within a second.
const _: () = assert!(POLL.as_millis() <= 250);
/// How long startup waits for a store that does not respond.
const FIRST_READ: Duration = Duration::from_secs(2);
/// Maximum requests that wait for the store.
const QUEUE: usize = 64;

/// The configuration of the worker.
pub(crate) struct AccessOptions {
    /// The location of the keys.
    pub(crate) place: AccessPlace,
    /// How long audit rows are kept; `None` means forever.
    pub(crate) audit_retention: Option<Duration>,
    /// The Unix time in milliseconds.
    pub(crate) now_millis: fn() -> i64,
    /// Announces a change to other nodes.
    pub(crate) announce: Box<dyn Fn() + Send>,
}

/// Receives every new set of keys and teams.
pub(crate) type PublishEntries = Box<dyn Fn(Arc<StoredEntries>) + Send>;

/// A running worker. Dropping it ends the thread.
pub(crate) struct AccessWorker {
    caller: AccessCaller,
    thread: Option<JoinHandle<()>>,
}

/// Sends requests to a worker.
#[derive(Clone)]
pub(crate) struct AccessCaller {
    sender: SyncSender<AccessCall>,
    stopping: Arc<AtomicBool>,
}

/// Work for the thread.
enum AccessCall {
    /// A request to the store, with the channel for its reply.
    Request {
        request: AccessRequest,
        who: String,
        file: Arc<FileEntries>,
        reply: oneshot::Sender<AccessReply>,
    },
    /// A row for the audit log.
    Note {
        action: &'static str,
        subject: String,
        who: String,
    },
    /// Another node announced a change.
    Look,
}

impl AccessWorker {
    /// Starts the thread, and waits until it has published what the store holds, or for
    /// [`FIRST_READ`]: until then, clients need one of the last known keys. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot start a thread.
    pub(crate) fn start(options: AccessOptions, publish: PublishEntries) -> std::io::Result<Self> {
        let mut state = AccessState::new(options, publish);
        let (sender, receiver) = mpsc::sync_channel(QUEUE);
        let (begun, first_read) = mpsc::channel();
        let stopping = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stopping);
        let thread = std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || {
                state.begin();
                // The gateway may have started without it.
                let _ = begun.send(());
                state.run(&receiver, &stopped);
            })?;
        let _ = first_read.recv_timeout(FIRST_READ);
        Ok(Self {
            caller: AccessCaller { sender, stopping },
            thread: Some(thread),
        })
    }

    pub(crate) fn caller(&self) -> AccessCaller {
        self.caller.clone()
    }
}

impl AccessCaller {
    /// Hands a request to the thread and waits for its reply, without blocking.
    pub(crate) async fn call(
        &self,
        request: AccessRequest,
        who: String,
        file: Arc<FileEntries>,
    ) -> AccessReply {
        let (reply, answered) = oneshot::channel();
        let call = AccessCall::Request {
            request,
            who,
            file,
            reply,
        };
        match self.sender.try_send(call) {
            Ok(()) => answered.await.unwrap_or_else(|_| stopping()),
            Err(TrySendError::Full(_)) => {
                AccessReply::error(503, "too many changes of keys wait for the store")
            }
            Err(TrySendError::Disconnected(_)) => stopping(),
        }
    }
}

impl AccessCaller {
    /// Polls for changes now. If the queue is full, its requests trigger a poll anyway.
    pub(crate) fn look(&self) {
        let _ = self.sender.try_send(AccessCall::Look);
    }

    /// Records an operator's action on something other than keys and teams. The record is lost
    /// if the store cannot be written.
    pub(crate) fn note(&self, action: &'static str, subject: String, who: String) {
        let note = AccessCall::Note {
            action,
            subject,
            who,
        };
        if self.sender.try_send(note).is_err() {
            tracing::warn!(action, "the audit log misses an action");
        }
    }
}

fn stopping() -> AccessReply {
    AccessReply::error(503, "the gateway is stopping")
}

impl Drop for AccessWorker {
    fn drop(&mut self) {
        self.caller.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct AccessState {
    options: AccessOptions,
    publish: PublishEntries,
    cache: AccessCache,
    store: Option<Box<dyn AccessStore>>,
    /// The last published set.
    known: StoredAccess,
    available: bool,
    /// The day on which old audit rows were last dropped.
    swept: Option<Day>,
}

impl AccessState {
    fn new(options: AccessOptions, publish: PublishEntries) -> Self {
        Self {
            cache: options.place.cache(),
            options,
            publish,
            store: None,
            known: StoredAccess::default(),
            available: true,
            swept: None,
        }
    }

    /// Publishes the last known set, then the stored one.
    fn begin(&mut self) {
        match self.cache.read() {
            CachedAccess::Absent => {}
            // Clients needed a key before, so they do now, whatever the store contains.
            CachedAccess::Unreadable(reason) => {
                tracing::warn!(reason, "the cached keys cannot be read");
                self.known.had_keys = true;
            }
            CachedAccess::Known(cached) => {
                self.known = cached;
                self.known.had_keys = true;
            }
        }
        // Differs from every revision, so that the store is read.
        self.known.revision = -1;
        let known = StoredEntries::read(&self.known);
        // A store that cannot be read, or not yet, may contain keys.
        (self.publish)(Arc::new(StoredEntries {
            requires_key: true,
            ..known
        }));
        match self.poll() {
            // There is no store yet.
            Ok(()) if self.store.is_none() => {
                (self.publish)(Arc::new(StoredEntries::read(&self.known)));
            }
            Ok(()) => {}
            Err(error) => self.unavailable(&error),
        }
    }

    fn run(mut self, receiver: &Receiver<AccessCall>, stopping: &AtomicBool) {
        while !stopping.load(Ordering::Relaxed) {
            match receiver.recv_timeout(POLL) {
                Ok(call) => self.answer(call),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.refresh();
        }
    }

    /// Runs a request, publishes its effect, and only then replies: once the reply says that a
    /// key is frozen, it is.
    fn answer(&mut self, call: AccessCall) {
        let at_millis = (self.options.now_millis)();
        match call {
            AccessCall::Request {
                request,
                who,
                file,
                reply,
            } => {
                let replied = match self.writable() {
                    Ok(store) => respond(store, &file, request, &who, at_millis),
                    Err(error) => AccessReply::unavailable(&error),
                };
                let before = self.known.revision;
                self.refresh();
                if self.known.revision != before {
                    (self.options.announce)();
                }
                // The caller may have left.
                let _ = reply.send(replied);
            }
            // The thread polls after every request.
            AccessCall::Look => {}
            AccessCall::Note {
                action,
                subject,
                who,
            } => {
                let stamp = AuditStamp { who, at_millis };
                let noted = self
                    .writable()
                    .and_then(|store| store.note(action, &subject, &stamp));
                if let Err(error) = noted {
                    tracing::warn!(action, %error, "the audit log misses an action");
                }
            }
        }
    }

    /// The store, created if nothing was ever stored.
    fn writable(&mut self) -> Result<&mut dyn AccessStore, StoreError> {
        let store = match self.store.take() {
            Some(store) => store,
            None => self.options.place.open(self.known.had_keys)?,
        };
        Ok(&mut **self.store.insert(store))
    }

    /// Notices changes, and a change of availability once.
    fn refresh(&mut self) {
        match self.poll() {
            Ok(()) => {
                if !std::mem::replace(&mut self.available, true) {
                    tracing::info!("stored keys can be read again");
                }
            }
            Err(error) => self.unavailable(&error),
        }
    }

    fn unavailable(&mut self, error: &StoreError) {
        // Reopen the store, because the file may have been replaced.
        self.store = None;
        if std::mem::replace(&mut self.available, false) {
            tracing::warn!(%error, "stored keys cannot be read; the last known ones stay valid");
        }
    }

    fn poll(&mut self) -> Result<(), StoreError> {
        if self.store.is_none() {
            self.store = self.options.place.open_existing(self.known.had_keys)?;
        }
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        if store.revision()? != self.known.revision {
            let mut stored = store.load()?;
            stored.had_keys |= self.known.had_keys;
            self.adopt(stored);
        }
        // The keys are read; old audit rows can wait.
        if let Err(error) = self.sweep() {
            tracing::warn!(%error, "old rows of the audit log cannot be dropped");
        }
        Ok(())
    }

    fn adopt(&mut self, stored: StoredAccess) {
        (self.publish)(Arc::new(StoredEntries::read(&stored)));
        if stored.had_keys
            && let Err(error) = self.cache.write(&stored)
        {
            tracing::warn!(%error, "the stored keys cannot be cached");
        }
        self.known = stored;
    }

    /// Drops old audit rows, once a day.
    fn sweep(&mut self) -> Result<(), StoreError> {
        let now = (self.options.now_millis)();
        let today = Day::of_millis(now);
        if let (Some(kept), Some(store)) = (self.options.audit_retention, &mut self.store)
            && self.swept != Some(today)
        {
            let kept = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
            store.drop_audit_before(now.saturating_sub(kept))?;
            self.swept = Some(today);
        }
        Ok(())
    }
}
