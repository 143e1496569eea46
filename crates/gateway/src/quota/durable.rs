//! Leases in the ledger's store, on a thread of their own.
//!
//! With its first command, the thread opens the store and closes what an earlier process left
//! open, as spent. Then it serves one command after another. A store that fails is opened
//! anew; what could not be closed is closed later.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use majordomo_ledger::{Cost, Lease, LeaseRequest, Store, StoreError, StorePlace};
use majordomo_limits::{ClosedLease, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply, Nanodollars};

/// The pause before a store that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

enum Command {
    Grant(LeaseAsk, LeaseReply),
    Close(ClosedLease),
    Open,
    Stop,
}

/// Leases in a store.
pub(super) struct DurableLeases {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DurableLeases {
    /// Starts the thread.
    pub(super) fn start(place: StorePlace, node: Arc<str>) -> Option<Self> {
        let (commands, received) = channel();
        let thread = std::thread::Builder::new().name("budgets".to_owned());
        let keeper = LeaseKeeper {
            place,
            node,
            store: None,
            recovered: false,
            unclosed: VecDeque::new(),
            available: true,
        };
        match thread.spawn(move || keeper.run(&received)) {
            Ok(thread) => Some(Self {
                commands,
                thread: Mutex::new(Some(thread)),
            }),
            Err(error) => {
                tracing::error!(%error, "budgets are kept in memory: their thread cannot start");
                None
            }
        }
    }

    /// Opens the store before the first request, which waits for it a few milliseconds only.
    pub(super) fn open(&self) {
        let _ = self.commands.send(Command::Open);
    }

    /// Writes what was closed and ends the thread. Blocks.
    pub(super) fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
        let thread = self.thread.lock();
        let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
        // A panic was reported by the thread itself.
        let _ = thread.map(JoinHandle::join);
    }
}

impl LeaseBackend for DurableLeases {
    fn grant(&self, ask: LeaseAsk, reply: LeaseReply) {
        // Without the thread the reply is dropped, which says so.
        let _ = self.commands.send(Command::Grant(ask, reply));
    }

    fn close(&self, lease: ClosedLease) {
        let _ = self.commands.send(Command::Close(lease));
    }
}

/// The thread's state.
struct LeaseKeeper {
    place: StorePlace,
    node: Arc<str>,
    store: Option<Box<dyn Store>>,
    /// Whether the leases of an earlier process are closed.
    recovered: bool,
    unclosed: VecDeque<ClosedLease>,
    available: bool,
}

impl LeaseKeeper {
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let command = match self.unclosed.is_empty() {
                true => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => commands.recv_timeout(RETRY),
            };
            match command {
                Ok(Command::Grant(ask, reply)) => {
                    if let Some(grant) = self.grant(&ask) {
                        reply.granted(grant);
                    }
                }
                Ok(Command::Close(lease)) => {
                    self.unclosed.push_back(lease);
                    self.close_all();
                }
                Ok(Command::Open) => {
                    let _ = self.attempt(|_| Ok(()));
                }
                Err(RecvTimeoutError::Timeout) => self.close_all(),
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.close_all();
                    return;
                }
            }
        }
    }

    fn grant(&mut self, ask: &LeaseAsk) -> Option<LeaseGrant> {
        // In order: what was closed before is free before.
        self.close_all();
        let request = LeaseRequest {
            budget: Arc::clone(&ask.budget),
            window: ask.window,
            node: Arc::clone(&self.node),
            limit: cost(ask.limit),
            amount: cost(ask.amount),
        };
        let (lease, taken) = self.attempt(|store| {
            let taken = store.budget_taken(&request.budget, request.window)?;
            Ok((store.grant_lease(&request)?, taken))
        })?;
        Some(LeaseGrant {
            id: lease.as_ref().map_or(0, |lease| lease.id),
            amount: lease.map_or(Nanodollars::ZERO, |lease| nanodollars(lease.amount)),
            taken: nanodollars(taken),
        })
    }

    fn close_all(&mut self) {
        while let Some(closed) = self.unclosed.pop_front() {
            let lease = Lease {
                id: closed.id,
                budget: Arc::clone(&closed.budget),
                window: closed.window,
                amount: cost(closed.amount),
            };
            let spent = cost(closed.spent);
            if self
                .attempt(|store| store.close_lease(&lease, spent))
                .is_none()
            {
                self.unclosed.push_front(closed);
                return;
            }
        }
    }

    /// Runs an operation on the store, opening it first if necessary.
    fn attempt<T>(
        &mut self,
        operation: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let result = self.open().and_then(operation);
        let available = result.is_ok();
        if available != self.available {
            match &result {
                Ok(_) => tracing::info!("budgets can be kept again"),
                Err(error) => tracing::warn!(%error, "budgets cannot be kept; leases are spent"),
            }
            self.available = available;
        }
        if !available {
            self.store = None;
        }
        result.ok()
    }

    fn open(&mut self) -> Result<&mut dyn Store, StoreError> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => self.place.open()?,
        };
        if !self.recovered {
            for lease in store.open_leases(&self.node)? {
                store.close_lease(&lease, lease.amount)?;
            }
            self.recovered = true;
        }
        Ok(&mut **self.store.insert(store))
    }
}

fn cost(amount: Nanodollars) -> Cost {
    Cost::from_nanodollars(i64::try_from(amount.0).unwrap_or(i64::MAX))
}

fn nanodollars(cost: Cost) -> Nanodollars {
    Nanodollars(u64::try_from(cost.nanodollars()).unwrap_or(0))
}
