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
/// How long the share of a node that is silent is kept back.
pub const RESERVED: Duration = Duration::from_secs(60);
/// A holder stops this much earlier by its own clock.
const MARGIN: Duration = Duration::from_millis(500);

const MINUTE_MICROS: f64 = 60_000_000.0;

/// All limits of a cluster.
#[derive(Debug, Default)]
pub struct LeaseTable {
    limits: BTreeMap<Arc<str>, SharedLimit>,
    /// When the store began to remember.
    born: Option<f64>,
    /// The last sign of life of any node.
    life: Option<f64>,
    /// When signs of life came again after there was none.
    resumed: Option<f64>,
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
    state: HolderState,
    /// What is kept back for it when it does not renew.
    share: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HolderState {
    Content,
    /// It needs more.
    Short,
    /// It did not renew, and its requests may run.
    Lapsed,
    /// It did not renew for long, and may use its share.
    Silent,
}

impl HolderState {
    fn is_silent(self) -> bool {
        matches!(self, Self::Lapsed | Self::Silent)
    }
}

/// A grant, and whether the store is too young to grant more than claims.
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
        let mut born = *born;
        let mut young = now - born < lasts;
        let resumed = self.resumed.filter(|resumed| *resumed <= now);
        if let (None, Some(resumed)) = (ask.per_minute, resumed) {
            young |= now - resumed < lasts;
            born = born.max(resumed);
        }
        let limit = self.limits.entry(Arc::clone(&ask.limit)).or_default();
        let unit = ask.per_minute.map(|rate| MINUTE_MICROS / rate as f64);

        limit.follow(now);
        limit.expire(now, unit);
        limit.replace(node);
        let known = limit.holders.remove(node);
        limit.account(now, unit, ask);
        let level = unit.map_or(0.0, |unit| ((limit.tat - now) / unit).max(0.0));
        let others: u64 = limit.holders.values().map(|other| other.held).sum();
        let contended = limit
            .holders
            .values()
            .any(|other| other.state == HolderState::Short);
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
            let active = holders
                .filter(|o| o.state == HolderState::Short || (o.held > 0 && !o.state.is_silent()));
            let active = 1 + active.count();
            let fair = ask.capacity.div_ceil(active as u64);
            if contended {
                allowed = allowed.min(fair);
            }
            let usable = allowed.min(room);
            let short = usable < ask.least;
            (usable.max(ask.in_use).max(kept), usable, short)
        };
        if held > 0 || short {
            let holder = Holder {
                held,
                until: now + lasts,
                state: match short {
                    true => HolderState::Short,
                    false => HolderState::Content,
                },
                share: ask.share,
            };
            limit.holders.insert(node.to_owned(), holder);
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

    /// A node shows that it lives.
    pub fn sign_of_life(&mut self, now: Duration) {
        let now = now.as_micros() as f64;
        let lasts = LEASE.as_micros() as f64;
        if self.life.is_some_and(|last| now - last > lasts) {
            self.resumed = Some(now);
        }
        self.life = Some(now);
    }

    /// What all nodes hold, but for silent ones, and what is in the bucket of a rate: for
    /// invariants.
    pub fn taken(&self, now: Duration, limit: &str, per_minute: Option<u64>) -> f64 {
        let now = now.as_micros() as f64;
        let Some(limit) = self.limits.get(limit) else {
            return 0.0;
        };
        let holders = limit.holders.values();
        let holders = holders.filter(|holder| !holder.state.is_silent());
        let held: u64 = holders.map(|holder| holder.held).sum();
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
            while holder.until <= now {
                if let Some(unit) = unit {
                    *tat = tat.max(holder.until) + holder.held as f64 * unit;
                    return false;
                }
                match holder.state {
                    HolderState::Content | HolderState::Short => {
                        holder.state = HolderState::Lapsed;
                        holder.held = holder.held.max(holder.share);
                        holder.until += LEASE.as_micros() as f64;
                    }
                    HolderState::Lapsed => {
                        holder.state = HolderState::Silent;
                        holder.held = holder.share;
                        holder.until += RESERVED.as_micros() as f64;
                    }
                    HolderState::Silent => return false,
                }
            }
            true
        });
    }

    /// Nothing is kept back for a process whose place another one took.
    fn replace(&mut self, node: &str) {
        let name = |node: &str| node.rsplit_once('#').map(|(name, _)| name.to_owned());
        let Some(own) = name(node) else {
            return;
        };
        self.holders.retain(|other, holder| {
            !holder.state.is_silent() || other == node || name(other).as_ref() != Some(&own)
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
