//! Who is next: deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing
//! using Deficit Round Robin", 1996) over the queues of flows.
//!
//! Each turn adds a quantum to its flow's deficit; waiters are served while the
//! deficit covers their cost, and what is left is kept for the next turn. A flow
//! whose queue is empty leaves the round and forgets its deficit, so it costs
//! nothing. This knows costs and order only, no permits and no wakers.

use std::collections::{BTreeMap, HashMap};

use crate::flow::{ByFlow, Flow};

/// Tickets are given out in order of arrival.
pub(crate) type Ticket = u64;

#[derive(Default)]
pub(crate) struct Drr {
    quantum: u64,
    queues: HashMap<Flow, Queue, ByFlow>,
    /// The flows in the order of their turns.
    round: BTreeMap<u64, Flow>,
    last_turn: u64,
    waiting: usize,
}

#[derive(Default)]
struct Queue {
    /// Costs, oldest ticket first.
    costs: BTreeMap<Ticket, u64>,
    deficit: u64,
    turn: u64,
    /// Whether the quantum of this turn is added already.
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

    /// Flows that wait.
    pub(crate) fn flows(&self) -> usize {
        self.round.len()
    }

    /// The newest waiter of the longest queue, and how long that queue is.
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

    /// A waiter leaves without being served. What its flow has saved up for it is
    /// not for those behind it.
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
            // What a rush has allocated is given back.
            self.queues = HashMap::default();
        }
    }

    /// Takes out the waiter whose turn it is, if `free` covers its cost. The turn
    /// waits for the units that it needs, lest small requests starve a large one;
    /// a flow for which `may` says no is passed over.
    pub(crate) fn next(&mut self, free: u64, may: impl Fn(Flow, u64) -> bool) -> Option<Ticket> {
        // After a whole round without a waiter to serve, as many rounds as the
        // closest one still needs are played at once.
        let mut passed = 0;
        loop {
            let (_, &flow) = self.round.first_key_value()?;
            let quantum = self.quantum;
            let queue = self.queues.get_mut(&flow)?;
            let (&ticket, &cost) = queue.costs.first_key_value()?;
            let open = may(flow, cost);
            if open && !queue.begun {
                queue.deficit += quantum;
                queue.begun = true;
            }
            if open && cost <= queue.deficit {
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
                self.play_rounds(&may)?;
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

    /// Adds to every open flow the quanta of all rounds but the last in which
    /// nobody could be served. None if no flow is open.
    fn play_rounds(&mut self, may: &impl Fn(Flow, u64) -> bool) -> Option<()> {
        let quantum = self.quantum;
        let open = |(flow, queue): (&Flow, &Queue)| {
            let (_, &cost) = queue.costs.first_key_value()?;
            let missing = cost.saturating_sub(queue.deficit);
            may(*flow, cost).then(|| missing.div_ceil(quantum))
        };
        let rounds = self.queues.iter().filter_map(open).min()?;
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
