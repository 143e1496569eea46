//! How many units there are and how many may wait for them.

/// The shape of a [`FairSemaphore`](crate::FairSemaphore).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(crate) units: u64,
    pub(crate) quantum: u64,
    pub(crate) waiters: usize,
    pub(crate) waiters_per_flow: usize,
    pub(crate) held_per_flow: u64,
}

impl Bounds {
    /// So many units, granted one at a turn, and no bound on those who wait.
    pub fn new(units: u64) -> Self {
        Self {
            units,
            quantum: 1,
            waiters: usize::MAX,
            waiters_per_flow: usize::MAX,
            held_per_flow: units,
        }
    }

    /// Units that a flow may take in one turn. Choose what a usual request costs:
    /// a larger one saves up over several turns.
    #[must_use]
    pub fn quantum(self, units: u64) -> Self {
        let quantum = units.max(1);
        Self { quantum, ..self }
    }

    /// How many may wait at a time. When the queue is full, a flow with a shorter
    /// queue takes the place of the longest queue's newest waiter.
    #[must_use]
    pub fn waiters(self, waiters: usize) -> Self {
        Self { waiters, ..self }
    }

    /// How many of one flow may wait at a time.
    #[must_use]
    pub fn waiters_per_flow(self, waiters_per_flow: usize) -> Self {
        Self {
            waiters_per_flow,
            ..self
        }
    }

    /// Units that one flow may hold at a time; the rest is headroom for the
    /// others. A flow's only permit may exceed this.
    #[must_use]
    pub fn held_per_flow(self, units: u64) -> Self {
        let held_per_flow = units.min(self.units);
        Self {
            held_per_flow,
            ..self
        }
    }
}
