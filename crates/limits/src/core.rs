//! The semaphore's state machine: units, holders and waiters.
//!
//! It does no I/O. The caller holds the lock, and wakes the returned wakers after
//! releasing it.

use std::collections::{BTreeMap, HashMap};
use std::task::{Poll, Waker};

use crate::bounds::Bounds;
use crate::drr::{Drr, Ticket};
use crate::error::AcquireError;
use crate::flow::{ByFlow, Flow};

pub(crate) struct Core {
    bounds: Bounds,
    free: u64,
    /// Units held beyond a total that was lowered.
    excess: u64,
    /// Costs up to this one may wait, even if the total is lower for the time being.
    largest: u64,
    /// Contains only flows that hold units.
    held: HashMap<Flow, u64, ByFlow>,
    queue: Drr,
    waiters: BTreeMap<Ticket, Waiter>,
    last_ticket: Ticket,
    /// Permits waiting to grow; woken on every release.
    growing: Vec<Waker>,
}

struct Waiter {
    flow: Flow,
    cost: u64,
    state: WaiterState,
    waker: Option<Waker>,
}

#[derive(Clone, Copy)]
pub(crate) enum WaiterState {
    Waiting,
    Granted,
    Evicted,
}

/// The wakers to invoke once the lock is released.
pub(crate) type Wake = Vec<Waker>;

impl Core {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            free: bounds.units,
            excess: 0,
            largest: 0,
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

    /// Sets another total, and grants any new units.
    pub(crate) fn resize(&mut self, units: u64) -> Wake {
        let old = self.bounds.units;
        if units >= old {
            let more = units - old;
            let owed = more.min(self.excess);
            self.excess -= owed;
            self.free += more - owed;
        } else {
            let less = old - units;
            let taken = less.min(self.free);
            self.free -= taken;
            self.excess += less - taken;
        }
        if self.bounds.held_per_flow == old {
            self.bounds.held_per_flow = units;
        }
        self.bounds.units = units;
        self.grant()
    }

    /// Allows costs up to this one to wait, whatever the current total.
    pub(crate) fn accept_up_to(&mut self, largest: u64) {
        self.largest = largest;
    }

    /// Units that are held.
    pub(crate) fn in_use(&self) -> u64 {
        self.bounds.units - self.free + self.excess
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

    /// Takes units if they are free and no flow is waiting.
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

    /// Takes more units for an existing permit. It overtakes waiters of its own flow
    /// freely, and those of other flows up to an equal share.
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

    /// Takes more units, or registers a waker for the next release.
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
        // A flow that both holds and waits counts twice, which makes the share smaller.
        let flows = self.held.len() + self.queue.flows();
        self.bounds.units / flows.max(1) as u64
    }

    fn take(&mut self, flow: Flow, cost: u64) {
        if cost > 0 {
            self.free -= cost;
            *self.held.entry(flow).or_default() += cost;
        }
    }

    /// Releases units and grants them to the next waiters.
    pub(crate) fn release(&mut self, flow: Flow, units: u64) -> Wake {
        if units > 0 {
            let swallowed = units.min(self.excess);
            self.excess -= swallowed;
            self.free += units - swallowed;
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

    /// Adds a waiter, evicting another one if the queue is full.
    pub(crate) fn enqueue(
        &mut self,
        flow: Flow,
        cost: u64,
    ) -> Result<(Ticket, Wake), AcquireError> {
        if cost > self.bounds.units.max(self.largest) {
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
                    wake.extend(self.decide(newest, WaiterState::Evicted));
                }
                _ => return Err(AcquireError::QueueFull),
            }
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let waiter = Waiter {
            flow,
            cost,
            state: WaiterState::Waiting,
            waker: None,
        };
        self.waiters.insert(ticket, waiter);
        self.queue.push(flow, ticket, cost);
        // This flow may be eligible while all others are at their limit.
        wake.extend(self.grant());
        Ok((ticket, wake))
    }

    /// Polls a waiter. Once it is granted or evicted, its ticket is removed.
    pub(crate) fn poll(&mut self, ticket: Ticket, waker: &Waker) -> WaiterState {
        let Some(waiter) = self.waiters.get_mut(&ticket) else {
            return WaiterState::Evicted;
        };
        let state = waiter.state;
        if matches!(state, WaiterState::Waiting) {
            match &mut waiter.waker {
                Some(old) => old.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        } else {
            self.waiters.remove(&ticket);
        }
        state
    }

    /// Removes a waiter and passes on its turn, or the units it was granted.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Wake {
        let Some(waiter) = self.waiters.remove(&ticket) else {
            return Wake::new();
        };
        match waiter.state {
            WaiterState::Waiting => {
                self.queue.cancel(waiter.flow, ticket);
                self.release(waiter.flow, 0)
            }
            WaiterState::Granted => self.release(waiter.flow, waiter.cost),
            WaiterState::Evicted => Wake::new(),
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
            wake.extend(self.decide(ticket, WaiterState::Granted));
        }
    }

    fn decide(&mut self, ticket: Ticket, state: WaiterState) -> Option<Waker> {
        let waiter = self.waiters.get_mut(&ticket)?;
        waiter.state = state;
        waiter.waker.take()
    }
}

/// Returns `true` if a flow may hold `cost` more units. A flow that holds nothing always
/// may, or it could wait forever.
fn may_hold(bounds: &Bounds, held: &HashMap<Flow, u64, ByFlow>, flow: Flow, cost: u64) -> bool {
    if bounds.held_per_flow >= bounds.units {
        return true;
    }
    let has = held.get(&flow).copied().unwrap_or(0);
    has == 0 || has.saturating_add(cost) <= bounds.held_per_flow
}
