//! All levels of a process, by name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::alert::AlertSink;
use super::lease::LeaseBackend;
use super::level::Level;
use super::level_id::{LevelId, LevelKind};
use super::stack::LimitStack;
use super::traffic::TrafficBackend;
use crate::flow::Flow;
use crate::policy::{LimitPolicy, Nanodollars};

const SHARDS: usize = 16;
/// Levels that were not used for this long return their leases.
const IDLE: Duration = Duration::from_secs(30);

type Shard = RwLock<HashMap<LevelId, Arc<Level>>>;

/// The levels of a process. They outlive configurations, so usage is kept.
pub struct LimitRegistry {
    backend: Arc<dyn LeaseBackend>,
    alerts: Arc<dyn AlertSink>,
    traffic: Option<Arc<dyn TrafficBackend>>,
    shards: [Shard; SHARDS],
    hasher: RandomState,
}

/// A level and its policy.
#[derive(Clone, Debug)]
pub struct LevelPolicy {
    /// The level.
    pub id: LevelId,
    /// Its limits.
    pub policy: Arc<LimitPolicy>,
}

impl LimitRegistry {
    /// A registry over a backend.
    pub fn new(backend: Arc<dyn LeaseBackend>, alerts: Arc<dyn AlertSink>) -> Self {
        Self {
            backend,
            alerts,
            traffic: None,
            shards: Default::default(),
            hasher: RandomState::new(),
        }
    }

    /// Shares rates and seats with other nodes. Call [`exchange`](Self::exchange) often.
    #[must_use]
    pub fn sharing(mut self, traffic: Arc<dyn TrafficBackend>) -> Self {
        self.traffic = Some(traffic);
        self
    }

    /// Renews what this node holds of shared rates and seats: several times per second.
    pub fn exchange(&self, now: Duration) {
        self.each_shared(|level| level.exchange(now));
    }

    /// Returns this node's units of shared rates and seats that are not in use.
    pub fn release(&self, now: Duration) {
        self.each_shared(|level| level.release(now));
    }

    fn each_shared(&self, action: impl Fn(&Arc<Level>)) {
        if self.traffic.is_none() {
            return;
        }
        for shard in &self.shards {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            // A reply may come at once and create a stack.
            let levels: Vec<_> = shard.values().cloned().collect();
            drop(shard);
            levels.iter().for_each(&action);
        }
    }

    /// The stack of a caller, whose flow distinguishes it from other callers at a level.
    /// Levels without limits are omitted. Each configuration has a larger version; a level
    /// ignores policies of older versions.
    pub fn stack(&self, version: u64, levels: &[LevelPolicy], tenant: Flow) -> LimitStack {
        let limited = levels.iter().filter_map(|LevelPolicy { id, policy }| {
            if policy.is_unlimited() {
                // Apply the removal of a limit, too.
                if let Some(level) = self.find(id) {
                    level.configure(version, policy);
                }
                return None;
            }
            let level = self.find(id).unwrap_or_else(|| self.create(id));
            level.configure(version, policy);
            Some(level)
        });
        let limited = limited.collect();
        let user = levels
            .iter()
            .find(|level| level.id.kind == LevelKind::EndUser);
        let user = user.map(|user| Flow::named(&user.id.name));
        LimitStack::new(limited, tenant, user)
    }

    /// An existing level.
    pub fn find(&self, id: &LevelId) -> Option<Arc<Level>> {
        let shard = self.shard(id).read();
        shard
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }

    fn create(&self, id: &LevelId) -> Arc<Level> {
        let mut shard = self
            .shard(id)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let level = shard.entry(id.clone()).or_insert_with(|| {
            let (backend, alerts) = (Arc::clone(&self.backend), Arc::clone(&self.alerts));
            let traffic = self.traffic.clone();
            Arc::new(Level::new(id.clone(), backend, alerts, traffic))
        });
        Arc::clone(level)
    }

    fn shard(&self, id: &LevelId) -> &Shard {
        let hash = self.hasher.hash_one(id);
        &self.shards[(hash % SHARDS as u64) as usize]
    }

    /// Returns unused leases and forgets idle end users. Call it periodically.
    pub fn sweep(&self, now: Duration) {
        let since = now.saturating_sub(IDLE);
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|id, level| {
                let idle = level.sweep(now, since);
                // A stack may still hold it, so only an unshared level can go.
                !(idle && id.kind == LevelKind::EndUser && Arc::strong_count(level) == 1)
            });
        }
    }

    /// Returns all leases; those in use follow when their reservations end.
    pub fn retire(&self) {
        self.each(|level| level.retire());
    }

    /// The live reservations of all levels: their number and their sum.
    pub fn open_reservations(&self) -> (u64, Nanodollars) {
        let mut sum = (0, Nanodollars::ZERO);
        self.each(|level| {
            let (count, amount) = level.open_reservations();
            sum = (sum.0 + count, sum.1.plus(amount));
        });
        sum
    }

    fn each(&self, mut action: impl FnMut(&Level)) {
        for shard in &self.shards {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            shard.values().for_each(|level| action(level));
        }
    }
}
