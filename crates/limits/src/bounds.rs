//! Configuration of a semaphore.

/// The capacity and limits of a [`FairSemaphore`](crate::FairSemaphore).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(crate) units: u64,
    pub(crate) quantum: u64,
    pub(crate) waiters: usize,
    pub(crate) waiters_per_flow: usize,
    pub(crate) held_per_flow: u64,
}

impl Bounds {
    /// Creates bounds with a quantum of one and no limit on waiters.
    pub fn new(units: u64) -> Self {
        Self {
            units,
            quantum: 1,
            waiters: usize::MAX,
            waiters_per_flow: usize::MAX,
            held_per_flow: units,
        }
    }

    /// Sets the units granted to a flow per turn. Use the cost of a typical request; a
    /// more expensive one accumulates its cost over several turns.
    #[must_use]
    pub fn quantum(self, units: u64) -> Self {
        let quantum = units.max(1);
        Self { quantum, ..self }
    }

    /// Sets the maximum number of waiters. When it is reached, a flow with a shorter
    /// queue evicts the newest waiter of the longest queue.
    #[must_use]
    pub fn waiters(self, waiters: usize) -> Self {
        Self { waiters, ..self }
    }

    /// Sets the maximum number of waiters per flow.
    #[must_use]
    pub fn waiters_per_flow(self, waiters_per_flow: usize) -> Self {
        Self {
            waiters_per_flow,
            ..self
        }
    }

    /// Sets the maximum units held per flow; the rest is headroom for other flows. A
    /// flow's only permit may exceed it.
    #[must_use]
    pub fn held_per_flow(self, units: u64) -> Self {
        let held_per_flow = units.min(self.units);
        Self {
            held_per_flow,
            ..self
        }
    }
}
