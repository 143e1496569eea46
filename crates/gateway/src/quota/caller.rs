//! The limits of one caller.

use std::sync::Arc;

use majordomo_limits::{
    Calendar, Flow, LevelId, LevelKind, LevelPolicy, LimitPolicy, LimitStack, Moment,
};

use super::Quotas;
use super::days::LocalDays;
use super::store_wait::StoreWait;
use crate::clock::wall_clock;
use crate::config::LimitSettings;
use crate::identity::CallerIdentity;
use crate::keys::ClientKey;

/// The limits in a configuration.
pub(crate) struct LimitTerms {
    /// Grows with every configuration.
    version: u64,
    everyone: Arc<LimitPolicy>,
    end_users: Arc<LimitPolicy>,
    reserve_output: u64,
    days: Arc<LocalDays>,
}

impl LimitTerms {
    pub(crate) fn new(settings: &LimitSettings, earlier: Option<&Self>) -> Self {
        Self {
            version: earlier.map_or(1, |earlier| earlier.version + 1),
            everyone: Arc::clone(&settings.everyone),
            end_users: Arc::clone(&settings.end_users),
            reserve_output: settings.reserve_output,
            days: Arc::new(LocalDays::new(settings.time_zone.clone())),
        }
    }

    /// The days of the configured time zone.
    pub(crate) fn days(&self) -> &Arc<LocalDays> {
        &self.days
    }
}

/// The limits that apply to a caller.
pub(crate) struct CallerLimits {
    pub(super) stack: LimitStack,
    pub(super) quotas: Arc<Quotas>,
    pub(super) days: Arc<LocalDays>,
    pub(super) reserve_output: u64,
    /// The request's wait for stores.
    pub(crate) wait: StoreWait,
}

impl CallerLimits {
    /// The limits of a caller, or `None` if there are none.
    pub(crate) fn of(
        quotas: &Arc<Quotas>,
        terms: &LimitTerms,
        key: Option<&ClientKey>,
        caller: &CallerIdentity,
        tenant: Flow,
    ) -> Option<Arc<Self>> {
        let mut levels = Vec::with_capacity(4);
        let mut add = |kind, name: &Arc<str>, policy: &Arc<LimitPolicy>| {
            levels.push(LevelPolicy {
                id: LevelId::new(kind, Arc::clone(name)),
                policy: Arc::clone(policy),
            });
        };
        add(LevelKind::Global, &Arc::default(), &terms.everyone);
        if let (Some(key), Some(team)) = (key, &caller.team) {
            add(LevelKind::Team, team, key.team_limits());
        }
        if let (Some(key), Some(name)) = (key, &caller.key) {
            add(LevelKind::Key, name, key.limits());
        }
        if let Some(user) = &caller.user {
            add(LevelKind::EndUser, &quotas.name_of(user), &terms.end_users);
        }
        let stack = quotas.registry.stack(terms.version, &levels, tenant);
        if stack.is_empty() {
            return None;
        }
        Some(Arc::new(Self {
            stack,
            quotas: Arc::clone(quotas),
            days: Arc::clone(&terms.days),
            reserve_output: terms.reserve_output,
            wait: StoreWait::new(quotas.longest_wait, &quotas.waits),
        }))
    }

    /// The levels.
    pub(crate) fn stack(&self) -> &LimitStack {
        &self.stack
    }

    /// Now, by both clocks.
    pub(crate) fn now(&self) -> Moment {
        let unix_millis = crate::clock::unix_millis(wall_clock());
        Moment::new(self.quotas.started.elapsed(), unix_millis, &*self.days)
    }

    /// When a local day starts, in milliseconds of Unix time.
    pub(crate) fn start_of(&self, day: i64) -> i64 {
        self.days.start_of(day)
    }
}
