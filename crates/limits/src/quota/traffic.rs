//! Rates and seats that several nodes share: requests of nodes, and their grants.
//!
//! A node holds units of a limit (requests, tokens, seats) and uses them without asking.
//! Wherever the units are kept, used + held ≤ capacity is true at every moment over all
//! nodes: a unit that is used counts until it has leaked (a rate) or its request has ended
//! (a seat). While the store is away, each node enforces its share of the limit: of a rate at
//! once, of seats after every node has stopped to use what was leased.

use std::sync::Arc;
use std::time::Duration;

use super::level::Level;

/// The limits of a level that nodes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrafficKind {
    /// Requests per minute.
    Requests,
    /// Tokens per minute.
    Tokens,
    /// Concurrent requests.
    Seats,
}

impl TrafficKind {
    /// The last part of a limit's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::Seats => "seats",
        }
    }
}

/// A node's report about a limit, and its demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficAsk {
    /// The limit, such as `key/laptop/requests`.
    pub limit: Arc<str>,
    /// Units that all nodes may hold or have used at one moment: a burst, or seats.
    pub capacity: u64,
    /// Units that leak per minute; `None` for seats, which end with their requests.
    pub per_minute: Option<u64>,
    /// Units used since the last exchange.
    pub spent: u64,
    /// Units that were charged but not used.
    pub refund: u64,
    /// The period in which these were charged.
    pub refund_period: u64,
    /// Seats in use, which are held whatever the store replies.
    pub in_use: u64,
    /// The units that this node may use until the reply. They stay with the node until the
    /// next exchange, and count if the store has lost its own data.
    pub claim: u64,
    /// The units that it wants to hold.
    pub want: u64,
    /// The minimum without which requests cannot proceed.
    pub least: u64,
    /// Seats that this node will use at most when it has lost the store for long: they stay
    /// its own for a while after its lease. 0 for a rate.
    pub share: u64,
}

/// A store's reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficGrant {
    /// The units that count as held by the node until its next exchange.
    pub held: u64,
    /// The part that may be used from now on, which is less if other nodes wait for it.
    pub usable: u64,
    /// How long the grant is valid, counted from the moment of asking.
    pub lasts: Duration,
    /// The units that no node holds or has used.
    pub free: u64,
    /// How long until the least is likely to be free.
    pub wait: Duration,
    /// Increases whenever the bucket was found empty, which means that older charges have
    /// leaked.
    pub period: u64,
    /// Whether another node wants more than it got.
    pub contended: bool,
}

/// Keeps the rates and seats of many nodes.
pub trait TrafficBackend: Send + Sync {
    /// Performs an exchange, now or later. Must not block. Exchanges about one limit are
    /// applied in order: the next one begins after the reply.
    fn exchange(&self, ask: TrafficAsk, reply: TrafficReply);

    /// Whether the store responds.
    fn is_up(&self) -> bool;

    /// For how long the store has not responded; zero while it does.
    fn away_for(&self) -> Duration;

    /// How many nodes share the limits, as far as this one knows.
    fn nodes(&self) -> u64;
}

/// The store, as one decision sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreView {
    pub(super) up: bool,
    pub(super) nodes: u64,
    pub(super) away_for: Duration,
}

impl StoreView {
    pub(super) fn of(backend: &dyn TrafficBackend) -> Self {
        Self {
            up: backend.is_up(),
            nodes: backend.nodes().max(1),
            away_for: backend.away_for(),
        }
    }
}

/// Receives a grant. Dropping it reports that the store did not respond.
pub struct TrafficReply {
    level: Option<Arc<Level>>,
    kind: TrafficKind,
}

impl TrafficReply {
    pub(super) fn to(level: Arc<Level>, kind: TrafficKind) -> Self {
        let level = Some(level);
        Self { level, kind }
    }

    /// Delivers what was granted.
    pub fn granted(mut self, grant: TrafficGrant) {
        if let Some(level) = self.level.take() {
            level.replied(self.kind, Some(grant));
        }
    }
}

impl Drop for TrafficReply {
    fn drop(&mut self) {
        if let Some(level) = self.level.take() {
            level.replied(self.kind, None);
        }
    }
}
