//! The semaphore's state: units, what each flow holds, and who waits. Every method
//! is one step without I/O; the caller holds the lock and wakes whom a step names.

use std::collections::{BTreeMap, HashMap};
use std::task::{Poll, Waker};

use crate::bounds::Bounds;
use crate::drr::{Drr, Ticket};
use crate::error::AcquireError;
use crate::flow::{ByFlow, Flow};

pub(crate) struct Core {
    bounds: Bounds,
    free: u64,
    /// Only flows that hold something have an entry.
    held: HashMap<Flow, u64, ByFlow>,
    queue: Drr,
    waiters: BTreeMap<Ticket, Waiter>,
    last_ticket: Ticket,
    /// Permits that would grow; they try again whenever something changes.
    growing: Vec<Waker>,
}

struct Waiter {
    flow: Flow,
    cost: u64,
    fate: Fate,
    waker: Option<Waker>,
}

enum Fate {
    Waiting,
    Granted,
    Evicted,
}

/// What a poll of a waiter finds.
pub(crate) enum Progress {
    Waiting,
    Granted,
    Evicted,
}

/// Whom to wake once the lock is released.
pub(crate) type Wake = Vec<Waker>;

impl Core {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            free: bounds.units,
            queue: Drr::new(bounds.quantum),
            bounds,
            held: HashMap::default(),
            waiters: BTreeMap::new(),
            last_ticket: 0,
            growing: Vec::new(),
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.bounds.units
    }

    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    pub(crate) fn held(&self, flow: Flow) -> u64 {
        self.held.get(&flow).copied().unwrap_or(0)
    }

    /// Takes units now, if nobody waits for them.
    pub(crate) fn try_take(&mut self, flow: Flow, cost: u64) -> bool {
        if cost == 0 {
            return true;
        }
        let idle = self.queue.waiting() == 0;
        if !idle || cost > self.free || !may_hold(&self.bounds, &self.held, flow, cost) {
            return false;
        }
        self.take(flow, cost);
        true
    }

    /// Takes more units for a permit that holds some. It passes waiters of its own
    /// flow. It passes others only as far as an equal share goes.
    pub(crate) fn try_grow(&mut self, flow: Flow, has: u64, more: u64) -> bool {
        let held = self.held(flow);
        let alone = held == has;
        let bounded = alone || held.saturating_add(more) <= self.bounds.held_per_flow;
        if more > self.free || !bounded {
            return false;
        }
        let others_wait = self.queue.waiting() > self.queue.waiting_of(flow);
        if others_wait && held.saturating_add(more) > self.equal_share() {
            return false;
        }
        self.take(flow, more);
        true
    }

    /// Takes more units, or leaves a waker for the next chance.
    pub(crate) fn poll_grow(&mut self, flow: Flow, has: u64, more: u64, waker: &Waker) -> Poll<()> {
        if more == 0 || self.try_grow(flow, has, more) {
            return Poll::Ready(());
        }
        if !self.growing.iter().any(|other| other.will_wake(waker)) {
            self.growing.push(waker.clone());
        }
        Poll::Pending
    }

    fn equal_share(&self) -> u64 {
        // A flow that holds and waits is counted twice: the share errs to be small.
        let flows = self.held.len() + self.queue.flows();
        self.bounds.units / flows.max(1) as u64
    }

    fn take(&mut self, flow: Flow, cost: u64) {
        if cost > 0 {
            self.free -= cost;
            *self.held.entry(flow).or_default() += cost;
        }
    }

    /// Gives units back and grants them to those whose turn it is.
    pub(crate) fn release(&mut self, flow: Flow, units: u64) -> Wake {
        if units > 0 {
            self.free += units;
            if let Some(held) = self.held.get_mut(&flow) {
                *held -= units;
                if *held == 0 {
                    self.held.remove(&flow);
                }
            }
        }
        let mut wake = self.grant();
        wake.append(&mut self.growing);
        wake
    }

    /// A place in the queue; whoever must make room for it is woken.
    pub(crate) fn enqueue(
        &mut self,
        flow: Flow,
        cost: u64,
    ) -> Result<(Ticket, Wake), AcquireError> {
        if cost > self.bounds.units {
            return Err(AcquireError::TooLarge);
        }
        let own = self.queue.waiting_of(flow);
        if own >= self.bounds.waiters_per_flow {
            return Err(AcquireError::QueueFull);
        }
        let mut wake = Wake::new();
        if self.queue.waiting() >= self.bounds.waiters {
            match self.queue.newest_of_longest() {
                Some((longest, newest, length)) if own + 1 < length => {
                    self.queue.cancel(longest, newest);
                    wake.extend(self.decide(newest, Fate::Evicted));
                }
                _ => return Err(AcquireError::QueueFull),
            }
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let waiter = Waiter {
            flow,
            cost,
            fate: Fate::Waiting,
            waker: None,
        };
        self.waiters.insert(ticket, waiter);
        self.queue.push(flow, ticket, cost);
        // Its flow may be open where all others are held back.
        wake.extend(self.grant());
        Ok((ticket, wake))
    }

    /// What became of a waiter. Once it is decided, the ticket is spent.
    pub(crate) fn poll(&mut self, ticket: Ticket, waker: &Waker) -> Progress {
        let Some(waiter) = self.waiters.get_mut(&ticket) else {
            return Progress::Evicted;
        };
        let progress = match waiter.fate {
            Fate::Granted => Progress::Granted,
            Fate::Evicted => Progress::Evicted,
            Fate::Waiting => {
                match &mut waiter.waker {
                    Some(old) => old.clone_from(waker),
                    none => *none = Some(waker.clone()),
                }
                return Progress::Waiting;
            }
        };
        self.waiters.remove(&ticket);
        progress
    }

    /// A waiter goes away: its turn, or what it was granted, goes to the next.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Wake {
        let Some(waiter) = self.waiters.remove(&ticket) else {
            return Wake::new();
        };
        match waiter.fate {
            Fate::Waiting => {
                self.queue.cancel(waiter.flow, ticket);
                self.release(waiter.flow, 0)
            }
            Fate::Granted => self.release(waiter.flow, waiter.cost),
            Fate::Evicted => Wake::new(),
        }
    }

    fn grant(&mut self) -> Wake {
        let mut wake = Wake::new();
        loop {
            let (bounds, held) = (&self.bounds, &self.held);
            let may = |flow, cost| may_hold(bounds, held, flow, cost);
            let Some(ticket) = self.queue.next(self.free, may) else {
                return wake;
            };
            if let Some(waiter) = self.waiters.get(&ticket) {
                self.take(waiter.flow, waiter.cost);
            }
            wake.extend(self.decide(ticket, Fate::Granted));
        }
    }

    fn decide(&mut self, ticket: Ticket, fate: Fate) -> Option<Waker> {
        let waiter = self.waiters.get_mut(&ticket)?;
        waiter.fate = fate;
        waiter.waker.take()
    }
}

/// Whether a flow's bound lets it hold so much more. What a flow asks for while it
/// holds nothing is always granted, or it could wait forever.
fn may_hold(bounds: &Bounds, held: &HashMap<Flow, u64, ByFlow>, flow: Flow, cost: u64) -> bool {
    if bounds.held_per_flow >= bounds.units {
        return true;
    }
    let has = held.get(&flow).copied().unwrap_or(0);
    has == 0 || has.saturating_add(cost) <= bounds.held_per_flow
}
