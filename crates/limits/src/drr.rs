//! Deficit round robin over per-flow queues (Shreedhar and Varghese, "Efficient Fair
//! Queuing using Deficit Round Robin", 1996).
//!
//! Each turn adds a quantum to the flow's deficit. Waiters are served while the deficit
//! covers their cost; the remainder carries over to the next turn. A flow with an empty
//! queue leaves the round and loses its deficit. This module handles costs and order
//! only, not permits or wakers.

use std::collections::{BTreeMap, HashMap};

use crate::flow::{ByFlow, Flow};

/// Identifies a waiter; increases in order of arrival.
pub(crate) type Ticket = u64;

#[derive(Default)]
pub(crate) struct Drr {
    quantum: u64,
    queues: HashMap<Flow, FlowQueue, ByFlow>,
    /// The flows by turn.
    round: BTreeMap<u64, Flow>,
    last_turn: u64,
    waiting: usize,
}

#[derive(Default)]
struct FlowQueue {
    /// Costs, oldest ticket first.
    costs: BTreeMap<Ticket, u64>,
    deficit: u64,
    turn: u64,
    /// The quantum of this turn has been added.
    begun: bool,
}

impl Drr {
    pub(crate) fn new(quantum: u64) -> Self {
        Self {
            quantum,
            ..Self::default()
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(crate) fn waiting_of(&self, flow: Flow) -> usize {
        self.queues.get(&flow).map_or(0, |queue| queue.costs.len())
    }

    /// Returns the number of waiting flows.
    pub(crate) fn flows(&self) -> usize {
        self.round.len()
    }

    /// Returns the newest waiter of the longest queue, and the queue's length.
    pub(crate) fn newest_of_longest(&self) -> Option<(Flow, Ticket, usize)> {
        let (flow, queue) = self.queues.iter().max_by_key(|(_, q)| q.costs.len())?;
        let (ticket, _) = queue.costs.last_key_value()?;
        Some((*flow, *ticket, queue.costs.len()))
    }

    pub(crate) fn push(&mut self, flow: Flow, ticket: Ticket, cost: u64) {
        let queue = self.queues.entry(flow).or_default();
        if queue.costs.is_empty() {
            self.last_turn += 1;
            queue.turn = self.last_turn;
            self.round.insert(queue.turn, flow);
        }
        queue.costs.insert(ticket, cost);
        self.waiting += 1;
    }

    /// Removes a waiter that was not served. The deficit accumulated for it does not
    /// benefit the waiters behind it.
    pub(crate) fn cancel(&mut self, flow: Flow, ticket: Ticket) {
        if let Some(queue) = self.queues.get_mut(&flow)
            && queue.costs.first_key_value().map(|(first, _)| *first) == Some(ticket)
        {
            queue.deficit = queue.deficit.min(self.quantum);
        }
        self.remove(flow, ticket);
    }

    fn remove(&mut self, flow: Flow, ticket: Ticket) {
        let Some(queue) = self.queues.get_mut(&flow) else {
            return;
        };
        if queue.costs.remove(&ticket).is_none() {
            return;
        }
        self.waiting -= 1;
        if queue.costs.is_empty() {
            self.round.remove(&queue.turn);
            self.queues.remove(&flow);
        }
        if self.queues.is_empty() {
            // Free the memory allocated during a burst.
            self.queues = HashMap::default();
        }
    }

    /// Removes the next waiter, if `free` covers its cost. The turn waits for the units it
    /// needs, so that small requests cannot starve a large one. Flows rejected by `may`
    /// are skipped.
    pub(crate) fn next(&mut self, free: u64, may: impl Fn(Flow, u64) -> bool) -> Option<Ticket> {
        // After a round without a served waiter, skip the rounds that the closest
        // waiter still needs.
        let mut passed = 0;
        loop {
            let (_, &flow) = self.round.first_key_value()?;
            let quantum = self.quantum;
            let queue = self.queues.get_mut(&flow)?;
            let (&ticket, &cost) = queue.costs.first_key_value()?;
            let eligible = may(flow, cost);
            if eligible && !queue.begun {
                queue.deficit += quantum;
                queue.begun = true;
            }
            if eligible && cost <= queue.deficit {
                if cost > free {
                    return None;
                }
                queue.deficit -= cost;
                self.remove(flow, ticket);
                return Some(ticket);
            }
            self.rotate(flow);
            passed += 1;
            if passed >= self.round.len() {
                passed = 0;
                self.skip_rounds(&may)?;
            }
        }
    }

    fn rotate(&mut self, flow: Flow) {
        let Some(queue) = self.queues.get_mut(&flow) else {
            return;
        };
        self.round.remove(&queue.turn);
        self.last_turn += 1;
        queue.turn = self.last_turn;
        queue.begun = false;
        self.round.insert(queue.turn, flow);
    }

    /// Adds the quanta of all rounds in which no waiter could be served, except the last,
    /// to every eligible flow. Returns `None` if no flow is eligible.
    fn skip_rounds(&mut self, may: &impl Fn(Flow, u64) -> bool) -> Option<()> {
        let quantum = self.quantum;
        let rounds_needed = |(flow, queue): (&Flow, &FlowQueue)| {
            let (_, &cost) = queue.costs.first_key_value()?;
            let missing = cost.saturating_sub(queue.deficit);
            may(*flow, cost).then(|| missing.div_ceil(quantum))
        };
        let rounds = self.queues.iter().filter_map(rounds_needed).min()?;
        let skipped = rounds.saturating_sub(1);
        if skipped > 0 {
            for (flow, queue) in &mut self.queues {
                let cost = queue.costs.first_key_value().map_or(0, |(_, cost)| *cost);
                if may(*flow, cost) {
                    queue.deficit += skipped * quantum;
                }
            }
        }
        Some(())
    }
}
