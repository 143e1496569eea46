//! The part of an exchange that rates and seats share: the units held and their expiry,
//! whether a reply is pending, and whether the store is paused.

use std::time::Duration;

use super::traffic::{StoreView, TrafficGrant};

/// For this long after a store did not respond, there are no exchanges about a limit.
const AWAY: Duration = Duration::from_secs(1);
/// After this time without a reply, the store counts as unresponsive.
const LATE: Duration = Duration::from_millis(40);
/// A limit that was not used for this long is returned, and one that is used less often is not
/// kept.
const WARM: Duration = Duration::from_secs(10);

/// A node's hold on one limit.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    held: u64,
    /// The units that the store counts as held by this node.
    stored: u64,
    /// When the lease ends by this node's monotonic clock, which is earlier than by the
    /// store's.
    until: Duration,
    pub(super) asked: Option<PendingExchange>,
    pub(super) replies: u64,
    away_until: Duration,
    /// Whether this node's share is in effect.
    pub(super) alone: bool,
    last_used: Duration,
    /// Whether it was used twice within [`WARM`].
    repeated: bool,
    /// When the last exchange began.
    pub(super) last: Duration,
}

/// Whether an exchange awaits its reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingExchange {
    pub(super) at: Duration,
    pub(super) least: u64,
}

impl Exchange {
    /// Whether this node enforces its share.
    pub(super) fn is_alone(&self, now: Duration, store: StoreView) -> bool {
        !store.up || now < self.away_until
    }

    /// The units held now.
    pub(super) fn held(&self, now: Duration) -> u64 {
        match now < self.until {
            true => self.held,
            false => 0,
        }
    }

    /// Whether the lease lasts.
    pub(super) fn lasts(&self, now: Duration) -> bool {
        now < self.until
    }

    /// What was held last, whether or not it still is.
    pub(super) fn last_held(&self) -> u64 {
        self.held
    }

    /// Whether the store counts anything as held by this node.
    pub(super) fn is_known(&self, now: Duration) -> bool {
        now < self.until && self.stored.max(self.held) > 0
    }

    /// Holds that much until the reply of the exchange that begins now.
    pub(super) fn hold(&mut self, held: u64, now: Duration) {
        self.held = held;
        self.until = self.until.max(now + LATE);
    }

    /// Uses or gives back some of it.
    pub(super) fn set_held(&mut self, held: u64) {
        self.held = held;
    }

    pub(super) fn began(&mut self, now: Duration, least: u64) {
        self.asked = Some(PendingExchange { at: now, least });
        self.last = now;
    }

    /// Ends the exchange with its reply. Returns its start and its grant.
    pub(super) fn ended(
        &mut self,
        grant: Option<TrafficGrant>,
    ) -> Option<(PendingExchange, TrafficGrant)> {
        let asked = self.asked.take()?;
        self.replies += 1;
        match grant {
            None => {
                self.away_until = asked.at + AWAY;
                None
            }
            Some(grant) => {
                self.held = grant.usable;
                self.stored = grant.held;
                self.until = asked.at + grant.lasts;
                Some((asked, grant))
            }
        }
    }

    /// A request has waited long enough: use the share if the store is at fault.
    pub(super) fn expire(&mut self, now: Duration) {
        let late = self.asked.is_some_and(|asked| now >= asked.at + LATE);
        if late {
            self.away_until = now + AWAY;
        }
    }

    /// The store no longer holds any units for this node.
    pub(super) fn forget(&mut self) {
        self.held = 0;
        self.stored = 0;
        self.until = Duration::ZERO;
    }

    /// A request came.
    pub(super) fn used(&mut self, now: Duration) {
        let first = self.last_used == Duration::ZERO;
        self.repeated = !first && now.saturating_sub(self.last_used) < WARM;
        self.last_used = now;
    }

    /// No further request will come, so no units are kept.
    pub(super) fn cool(&mut self) {
        self.repeated = false;
    }

    /// Whether holding more than needed pays off: a rarely used limit costs less if each use
    /// asks.
    pub(super) fn is_warm(&self, now: Duration) -> bool {
        self.repeated && now.saturating_sub(self.last_used) < WARM
    }

    /// Whether the next exchange is due.
    pub(super) fn is_due(&self, now: Duration, interval: Duration) -> bool {
        self.asked.is_none() && now.saturating_sub(self.last) >= interval
    }
}
