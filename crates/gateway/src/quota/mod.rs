//! Limits of callers: rates, seats and budgets, and the consequences of exceeding them.
//!
//! The engine is `majordomo_limits`. This module gives it clocks, time zones, prices and a
//! store, and turns its refusals into errors of the client's dialect. [`Quotas`] belongs to
//! the process and outlives configurations. May use `clock`, `cluster`, `config`, `fronts`,
//! `identity`, `keys` and `pricing`.

mod alerts;
mod attempt;
mod budget_states;
mod caller;
mod days;
mod durable;
mod headers;
mod refusals;
mod remaining;
mod store_wait;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use majordomo_ledger::{Cost, Pseudonyms, StorePlace};
use majordomo_limits::{LimitRegistry, MemoryLeases};
use tokio::time::{Instant, MissedTickBehavior, interval};

use alerts::AlertQueue;
pub(crate) use attempt::{AttemptHold, AttemptLimits, HoldOutcome};
pub(crate) use budget_states::{BudgetState, budget_states};
pub(crate) use caller::{CallerLimits, LimitTerms};
pub(crate) use days::LocalDays;
use durable::DurableLeases;
pub(crate) use headers::add_limit_headers;
pub(crate) use refusals::refusal_error;
pub(crate) use remaining::remaining;
use store_wait::WaitCounter;
pub(crate) use webhook::Webhook;

use crate::cluster::Cluster;

/// How often unused leases are returned.
const SWEEP: Duration = Duration::from_secs(10);
/// How often limits that nodes share are maintained.
const EXCHANGE: Duration = Duration::from_millis(50);

/// The limits of a process, and their use.
pub(crate) struct Quotas {
    registry: LimitRegistry,
    started: Instant,
    alerts: Arc<AlertQueue>,
    durable: Option<Arc<DurableLeases>>,
    /// Replaces the names of end users wherever their budgets are stored.
    pseudonyms: Option<Pseudonyms>,
    waits: Arc<WaitCounter>,
    /// How long a request waits for the stores of its limits.
    longest_wait: Duration,
}

/// The backend that stores budgets.
pub(crate) struct BudgetPlace {
    pub(crate) store: StorePlace,
    /// Set if the names of end users must not be stored.
    pub(crate) pseudonyms: Option<Pseudonyms>,
    /// The days of the configured time zone.
    pub(crate) days: Arc<LocalDays>,
}

impl Quotas {
    /// Budgets are kept in the store, or start over with the process if there is none. Rates
    /// and seats are shared with the other nodes of a cluster.
    pub(crate) fn new(place: Option<BudgetPlace>, cluster: Option<&Cluster>) -> Arc<Self> {
        let alerts = Arc::<AlertQueue>::default();
        let longest_wait = match place.as_ref().map(|place| &place.store) {
            Some(StorePlace::Folder(_)) if cluster.is_none() => store_wait::LOCAL,
            _ => store_wait::SHARED,
        };
        let (durable, pseudonyms) = match place {
            None => (None, None),
            Some(place) => (
                DurableLeases::start(place.store, place.days, cluster).map(Arc::new),
                place.pseudonyms,
            ),
        };
        let sink = Arc::clone(&alerts) as _;
        let registry = match &durable {
            Some(durable) => LimitRegistry::new(Arc::clone(durable) as _, sink),
            None => LimitRegistry::new(Arc::<MemoryLeases>::default(), sink),
        };
        let registry = match cluster {
            Some(cluster) => registry.sharing(cluster.traffic()),
            None => registry,
        };
        Arc::new(Self {
            registry,
            started: Instant::now(),
            alerts,
            durable,
            pseudonyms,
            waits: Arc::default(),
            longest_wait,
        })
    }

    /// The name under which the limits of an end user are kept and reported.
    fn name_of(&self, user: &Arc<str>) -> Arc<str> {
        match &self.pseudonyms {
            Some(pseudonyms) => pseudonyms.of(user).into(),
            None => Arc::clone(user),
        }
    }

    /// Applies the time zone of another configuration.
    pub(crate) fn set_days(&self, days: &Arc<LocalDays>) {
        if let Some(durable) = &self.durable {
            durable.set_days(Arc::clone(days));
        }
    }

    /// Opens the store of budgets before it is needed.
    pub(crate) fn open_store(&self) {
        if let Some(durable) = &self.durable {
            drop(durable.open());
        }
    }

    /// Opens the store of budgets, and waits until it is open or cannot be opened.
    pub(crate) async fn store_opened(&self) {
        if let Some(durable) = &self.durable {
            // The thread ends only with the process.
            let _ = durable.open().await;
        }
    }

    /// The number and sum of reservations that are not settled. Without traffic both are
    /// zero.
    pub(crate) fn open_reservations(&self) -> (u64, Cost) {
        let (count, sum) = self.registry.open_reservations();
        (count, alerts::usd(sum))
    }

    /// The number of waits of requests for a store, their sum and the longest, in seconds.
    pub(crate) fn store_waits(&self) -> (u64, f64, f64) {
        self.waits.totals()
    }

    /// Sends alerts and returns unused leases, until it is dropped.
    pub(crate) async fn run(&self, webhook: &Webhook) {
        let sweeping = async {
            let mut ticks = interval(SWEEP);
            loop {
                ticks.tick().await;
                self.registry.sweep(self.started.elapsed());
            }
        };
        let exchanging = async {
            let mut ticks = interval(EXCHANGE);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                self.registry.exchange(self.started.elapsed());
            }
        };
        tokio::join!(self.alerts.deliver(webhook), sweeping, exchanging);
    }

    /// Returns this node's leases of limits that nodes share.
    pub(crate) fn release(&self) {
        self.registry.release(self.started.elapsed());
    }

    /// Returns all leases and waits until that is written.
    pub(crate) async fn stop(&self) {
        self.registry.retire();
        if let Some(durable) = &self.durable {
            let durable = Arc::clone(durable);
            let _ = tokio::task::spawn_blocking(move || durable.stop()).await;
        }
    }
}
