//! The side of an exchange that rates and seats have in common: what is held and until
//! when, whether a reply is awaited, and whether the store is left alone.

use std::time::Duration;

use super::traffic::{StoreView, TrafficGrant};

/// After a store did not respond, a limit is not asked about for this long.
const AWAY: Duration = Duration::from_secs(1);
/// An exchange that takes this long is taken for a store that does not respond.
const LATE: Duration = Duration::from_millis(40);
/// What was not used for this long is given back, and what is used less often is not kept.
const WARM: Duration = Duration::from_secs(10);

/// A node's hold on one limit.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    held: u64,
    /// What the store counts as held by this node.
    stored: u64,
    /// By this node's monotonic clock, which ends before the store's does.
    until: Duration,
    pub(super) asked: Option<PendingExchange>,
    pub(super) replies: u64,
    away_until: Duration,
    /// The share of this node is in effect.
    pub(super) alone: bool,
    last_used: Duration,
    /// It was used twice within [`WARM`].
    repeated: bool,
    /// When the last exchange began.
    pub(super) last: Duration,
}

/// An exchange without a reply yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingExchange {
    pub(super) at: Duration,
    pub(super) least: u64,
}

impl Exchange {
    /// Whether this node decides by its share.
    pub(super) fn is_alone(&self, now: Duration, store: StoreView) -> bool {
        !store.up || now < self.away_until
    }

    /// What is held now.
    pub(super) fn held(&self, now: Duration) -> u64 {
        match now < self.until {
            true => self.held,
            false => 0,
        }
    }

    /// Whether the store counts anything as held by this node.
    pub(super) fn is_known(&self, now: Duration) -> bool {
        now < self.until && self.stored.max(self.held) > 0
    }

    /// Uses or gives back some of it.
    pub(super) fn set_held(&mut self, held: u64) {
        self.held = held;
    }

    pub(super) fn began(&mut self, now: Duration, least: u64) {
        self.asked = Some(PendingExchange { at: now, least });
        self.last = now;
    }

    /// Ends the exchange with its reply. Returns when it began and what it granted.
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

    /// A request waited long enough: decide alone if that is the store's fault.
    pub(super) fn expire(&mut self, now: Duration) {
        let late = self.asked.is_some_and(|asked| now >= asked.at + LATE);
        if late {
            self.away_until = now + AWAY;
        }
    }

    /// Nothing that the store has still belongs to this node.
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

    /// No request will come: nothing is worth holding.
    pub(super) fn cool(&mut self) {
        self.repeated = false;
    }

    /// Whether it is worth holding more than is needed: what is used once in a while costs
    /// less if it is asked for.
    pub(super) fn is_warm(&self, now: Duration) -> bool {
        self.repeated && now.saturating_sub(self.last_used) < WARM
    }

    /// Whether the next exchange is due.
    pub(super) fn is_due(&self, now: Duration, interval: Duration) -> bool {
        self.asked.is_none() && now.saturating_sub(self.last) >= interval
    }
}
