//! Leases in the ledger's store, on a dedicated thread.
//!
//! With its first command, the thread opens the store and closes the leases of dead processes
//! as spent. Then it serves one command after another. A store that fails is reopened; leases
//! that could not be closed are closed later.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use majordomo_cluster::Availability;
use majordomo_ledger::{Cost, Lease, LeaseRequest, Opening, Payer, Store, StoreError, StorePlace};
use majordomo_limits::{
    BudgetOpening, Calendar, ClosedLease, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply,
    LevelKind, Nanodollars,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::days::LocalDays;
use crate::cluster::Cluster;

/// The pause before a store that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

enum Command {
    Grant(LeaseRequest, LeaseReply),
    Close(ClosedLease),
    /// Replies when that was tried.
    Open(oneshot::Sender<()>),
    Stop,
}

/// Leases in a store.
pub(super) struct DurableLeases {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The time zone in which windows begin.
    days: ArcSwap<LocalDays>,
    /// Set if other nodes lease from the same budgets.
    cluster: Option<Cluster>,
}

impl DurableLeases {
    /// Starts the thread.
    pub(super) fn start(
        place: StorePlace,
        days: Arc<LocalDays>,
        cluster: Option<&Cluster>,
    ) -> Option<Self> {
        let (commands, received) = channel();
        let thread = std::thread::Builder::new().name("budgets".to_owned());
        let keeper = LeaseKeeper {
            place,
            store: None,
            recovered: false,
            unclosed: VecDeque::new(),
            available: true,
            health: cluster.map(Cluster::ledger_store),
        };
        match thread.spawn(move || keeper.run(&received)) {
            Ok(thread) => Some(Self {
                commands,
                thread: Mutex::new(Some(thread)),
                days: ArcSwap::new(days),
                cluster: cluster.cloned(),
            }),
            Err(error) => {
                tracing::error!(%error, "budgets are kept in memory: their thread cannot start");
                None
            }
        }
    }

    /// Applies another time zone.
    pub(super) fn set_days(&self, days: Arc<LocalDays>) {
        self.days.store(days);
    }

    /// The usage with which a new budget begins. The usage of end users is not totalled.
    fn opening(&self, opening: BudgetOpening) -> Option<Opening> {
        let payer = match opening.level.kind {
            LevelKind::Global => Payer::Everyone,
            LevelKind::Team => Payer::Team(opening.level.name),
            LevelKind::Key => Payer::Key(opening.level.name),
            _ => return None,
        };
        let since = opening.since_day;
        let since_millis = since.map_or(0, |day| self.days.load().start_of(day));
        Some(Opening {
            payer,
            since_millis,
        })
    }

    /// Opens the store before the first request, which waits only a moment for it. Completes
    /// when that succeeded or failed; it can be dropped.
    pub(super) fn open(&self) -> oneshot::Receiver<()> {
        let (tried, opened) = oneshot::channel();
        let _ = self.commands.send(Command::Open(tried));
        opened
    }

    /// Writes closed leases and ends the thread. Blocks.
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
        let request = LeaseRequest {
            budget: ask.budget,
            window: ask.window,
            limit: cost(ask.limit),
            amount: cost(ask.amount),
            least: cost(ask.least),
            opening: ask.opening.and_then(|opening| self.opening(opening)),
        };
        // Without the thread, the reply is dropped, which reports the failure.
        let _ = self.commands.send(Command::Grant(request, reply));
    }

    fn close(&self, lease: ClosedLease) {
        let _ = self.commands.send(Command::Close(lease));
    }

    fn nodes(&self) -> u64 {
        self.cluster.as_ref().map_or(1, Cluster::nodes)
    }
}

/// The thread's state.
struct LeaseKeeper {
    place: StorePlace,
    store: Option<Box<dyn Store>>,
    /// Whether the leases of dead processes have been closed.
    recovered: bool,
    unclosed: VecDeque<ClosedLease>,
    available: bool,
    /// The store's state machine, if nodes share the store.
    health: Option<Arc<Availability>>,
}

impl LeaseKeeper {
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let command = match self.unclosed.is_empty() {
                true => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => commands.recv_timeout(RETRY),
            };
            match command {
                Ok(Command::Grant(request, reply)) => {
                    if let Some(grant) = self.grant(&request) {
                        reply.granted(grant);
                    }
                }
                Ok(Command::Close(lease)) => {
                    self.unclosed.push_back(lease);
                    self.close_all();
                }
                Ok(Command::Open(tried)) => {
                    let _ = self.attempt(|_| Ok(()));
                    // Often, no caller waits for it.
                    let _ = tried.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.close_all(),
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    // A lease that was granted just before is closed after the stop.
                    let waiting = commands.try_iter().filter_map(|command| match command {
                        Command::Close(lease) => Some(lease),
                        _ => None,
                    });
                    self.unclosed.extend(waiting);
                    self.close_all();
                    return;
                }
            }
        }
    }

    fn grant(&mut self, request: &LeaseRequest) -> Option<LeaseGrant> {
        // In order, so that amounts closed earlier are released earlier.
        self.close_all();
        let decision = self.attempt(|store| store.grant_lease(request))?;
        let lease = decision.lease;
        Some(LeaseGrant {
            id: lease.as_ref().map_or(0, |lease| lease.id),
            amount: lease.map_or(Nanodollars::ZERO, |lease| nanodollars(lease.amount)),
            taken: nanodollars(decision.taken),
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
        if let Some(health) = &self.health {
            health.called(Instant::now());
        }
        let result = self.open().and_then(operation);
        let available = result.is_ok();
        if let Some(health) = &self.health {
            match &result {
                Ok(_) => health.succeeded(Instant::now()),
                Err(error) => drop(health.failed(Instant::now(), &error.to_string())),
            }
        } else if available != self.available {
            match &result {
                Ok(_) => tracing::info!("budgets can be stored again"),
                Err(error) => tracing::warn!(%error, "budgets cannot be stored; leases are spent"),
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
            store.close_abandoned_leases()?;
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
