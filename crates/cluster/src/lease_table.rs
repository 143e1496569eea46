//! The lease protocol in memory: the specification of `lease.lua`, step by step.
//!
//! A limit has a bucket (the time `tat` at which it is empty, as in GCRA), and what each
//! node holds. level + Σ held ≤ capacity, except for seats in use that the store has
//! forgotten and for one charge above the burst on an empty bucket. A node that does not
//! renew loses what it holds: of a rate it counts as used; seats stay its own for the length
//! of another lease, in which requests end that began before, and its share of them for a
//! while longer, because it may have lost the store and use that much. A process of the same
//! name that takes its place ends both.
//!
//! A store that lost its memory has a new birth. For the length of a lease it grants only
//! what nodes say they held, so that nothing is granted twice. The same is true of seats
//! after no node was heard for that long: each of them may be using its share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo_limits::{TrafficAsk, TrafficGrant};

/// How long a lease lasts by the store's clock.
pub const LEASE: Duration = Duration::from_secs(4);
/// A holder stops this much earlier by its own clock.
const MARGIN: Duration = Duration::from_millis(500);

const MINUTE_MICROS: f64 = 60_000_000.0;

/// All limits of a cluster.
#[derive(Debug, Default)]
pub struct LeaseTable {
    limits: BTreeMap<Arc<str>, SharedLimit>,
    /// When the store began to remember.
    born: Option<f64>,
}

#[derive(Debug, Default)]
struct SharedLimit {
    tat: f64,
    period: u64,
    /// The last exchange, by the store's clock.
    at: f64,
    holders: BTreeMap<String, Holder>,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    held: u64,
    until: f64,
    short: bool,
}

/// A grant, and whether the store is too young to grant more than was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableReply {
    /// The units that the node holds.
    pub grant: TrafficGrant,
    /// Whether only claims are granted.
    pub young: bool,
}

impl LeaseTable {
    /// One exchange, at a time of the store's clock.
    pub fn exchange(&mut self, now: Duration, node: &str, ask: &TrafficAsk) -> TableReply {
        let now = now.as_micros() as f64;
        let lasts = LEASE.as_micros() as f64;
        let born = self.born.get_or_insert(now);
        *born = born.min(now);
        let born = *born;
        let young = now - born < lasts;
        let limit = self.limits.entry(Arc::clone(&ask.limit)).or_default();
        let unit = ask.per_minute.map(|rate| MINUTE_MICROS / rate as f64);

        limit.follow(now);
        limit.expire(now, unit);
        let known = limit.holders.remove(node);
        limit.account(now, unit, ask);
        let level = unit.map_or(0.0, |unit| ((limit.tat - now) / unit).max(0.0));
        let others: u64 = limit.holders.values().map(|other| other.held).sum();
        let contended = limit.holders.values().any(|other| other.short);
        let capacity = ask.capacity as f64;
        let room = (capacity - level - others as f64).floor().max(0.0) as u64;
        let before = match known {
            Some(holder) => holder.held.saturating_sub(ask.spent),
            None if young => ask.claim,
            None => 0,
        };
        let mut allowed = if young {
            ask.want.min(before)
        } else {
            ask.want
        };

        // Units that the node may be using while this reply is on its way stay with the node
        // until it reports that it has stopped.
        let kept = ask.claim.min(before);
        let (held, usable, short) = if unit.is_some() {
            // A renewal leaves spare units to nodes that need them now.
            if contended && ask.least == 0 {
                allowed = 0;
            }
            let mut usable = allowed.min(room);
            let large = ask.least > ask.capacity && level <= 0.0 && others == 0 && !young;
            if large {
                usable = ask.least;
            } else if usable < ask.least {
                usable = usable.min(before);
            }
            (usable.max(kept), usable, usable < ask.least)
        } else {
            let holders = limit.holders.values();
            let active = 1 + holders.filter(|o| o.held > 0 || o.short).count();
            let fair = ask.capacity.div_ceil(active as u64);
            if contended {
                allowed = allowed.min(fair);
            }
            let usable = allowed.min(room);
            let short = usable < ask.least;
            (usable.max(ask.in_use).max(kept), usable, short)
        };
        if held > 0 || short {
            let until = now + lasts;
            limit
                .holders
                .insert(node.to_owned(), Holder { held, until, short });
        }

        let taken = level + (others + held) as f64;
        let mut wait = 0.0;
        if usable < ask.least {
            let missing = level + (others + ask.least.min(ask.capacity)) as f64 - capacity;
            wait = (missing * unit.unwrap_or(0.0)).max(1_000.0);
            if young {
                wait = wait.max(born + lasts - now);
            }
        }
        TableReply {
            grant: TrafficGrant {
                held,
                usable,
                lasts: LEASE - MARGIN,
                free: (capacity - taken).floor().max(0.0) as u64,
                wait: Duration::from_micros(wait.ceil() as u64),
                period: limit.period,
                contended,
            },
            young,
        }
    }

    /// What all nodes hold, and what is in the bucket of a rate: for invariants.
    pub fn taken(&self, now: Duration, limit: &str, per_minute: Option<u64>) -> f64 {
        let now = now.as_micros() as f64;
        let Some(limit) = self.limits.get(limit) else {
            return 0.0;
        };
        let held: u64 = limit.holders.values().map(|holder| holder.held).sum();
        let unit = per_minute.map(|rate| MINUTE_MICROS / rate as f64);
        let level = unit.map_or(0.0, |unit| ((limit.tat - now) / unit).max(0.0));
        level + held as f64
    }

    /// Forgets everything, like a store that restarts without its data.
    pub fn restart_empty(&mut self) {
        *self = Self::default();
    }
}

impl SharedLimit {
    /// If the clock was set back, all times are moved with it.
    fn follow(&mut self, now: f64) {
        let back = self.at - now;
        if back > 0.0 {
            self.tat -= back;
            self.holders
                .values_mut()
                .for_each(|holder| holder.until -= back);
        }
        self.at = now;
    }

    /// Ends leases that were not renewed.
    fn expire(&mut self, now: f64, unit: Option<f64>) {
        let Self { holders, tat, .. } = self;
        holders.retain(|_, holder| {
            let expired = holder.until <= now;
            if let (true, Some(unit)) = (expired, unit) {
                *tat = tat.max(holder.until) + holder.held as f64 * unit;
            }
            !expired
        });
    }

    /// Charges used units and refunds unused ones.
    fn account(&mut self, now: f64, unit: Option<f64>, ask: &TrafficAsk) {
        let Some(unit) = unit else {
            return;
        };
        if ask.refund > 0 && ask.refund_period == self.period && self.tat > now {
            self.tat = (self.tat - ask.refund as f64 * unit).max(now);
        }
        if ask.spent > 0 {
            if self.tat <= now {
                self.tat = now;
                self.period += 1;
            }
            self.tat += ask.spent as f64 * unit;
        }
    }
}

/// The grant of a script's reply.
pub(crate) fn grant_of(reply: [u64; 7]) -> TableReply {
    let [held, usable, free, wait, period, contended, young] = reply;
    TableReply {
        grant: TrafficGrant {
            held,
            usable,
            lasts: LEASE - MARGIN,
            free,
            wait: Duration::from_micros(wait),
            period,
            contended: contended == 1,
        },
        young: young == 1,
    }
}
