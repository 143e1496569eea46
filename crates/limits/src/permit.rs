//! Units that somebody holds.

use std::future::poll_fn;

use crate::flow::Flow;
use crate::semaphore::FairSemaphore;

/// Units of a [`FairSemaphore`], given back on drop.
#[must_use = "the units are given back as soon as this is dropped"]
#[derive(Debug)]
pub struct Permit {
    semaphore: FairSemaphore,
    flow: Flow,
    units: u64,
}

impl Permit {
    pub(crate) fn new(semaphore: FairSemaphore, flow: Flow, units: u64) -> Self {
        Self {
            semaphore,
            flow,
            units,
        }
    }

    pub(crate) fn semaphore(&self) -> &FairSemaphore {
        &self.semaphore
    }

    /// Whose it is.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// How many units it holds.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// An empty permit of the same flow, for something that is held for another
    /// time than this. It may grow as this may.
    pub fn child(&self) -> Self {
        Self::new(self.semaphore.clone(), self.flow, 0)
    }

    /// Takes more units if they are free. It never waits: two that hold a part and
    /// wait for the rest could wait for each other. While other flows wait it
    /// succeeds only as long as its flow holds no more than an equal share.
    #[must_use = "false means that nothing was taken"]
    pub fn try_grow(&mut self, more: u64) -> bool {
        let grown = more == 0 || self.semaphore.lock().try_grow(self.flow, self.units, more);
        if grown {
            self.units += more;
        }
        grown
    }

    /// Takes more units once they are free, as far as [`try_grow`](Self::try_grow) may.
    /// It has no place in the queue, so it delays nobody and may never succeed: bound
    /// its time.
    pub async fn grow(&mut self, more: u64) {
        let (semaphore, flow, has) = (&self.semaphore, self.flow, self.units);
        poll_fn(|cx| semaphore.lock().poll_grow(flow, has, more, cx.waker())).await;
        self.units += more;
    }

    /// Gives back what it holds beyond `units`.
    pub fn shrink_to(&mut self, units: u64) {
        let surplus = self.units.saturating_sub(units);
        if surplus > 0 {
            self.units -= surplus;
            self.semaphore.release(self.flow, surplus);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.units > 0 {
            self.semaphore.release(self.flow, self.units);
        }
    }
}
