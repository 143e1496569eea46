//! Held units.

use std::future::poll_fn;

use crate::flow::Flow;
use crate::shared::SharedCore;

/// Units of a [`FairSemaphore`](crate::FairSemaphore), released on drop.
#[must_use = "the units are released as soon as the permit is dropped"]
#[derive(Debug)]
pub struct Permit {
    shared: SharedCore,
    flow: Flow,
    units: u64,
}

impl Permit {
    pub(crate) fn new(shared: SharedCore, flow: Flow, units: u64) -> Self {
        Self {
            shared,
            flow,
            units,
        }
    }

    pub(crate) fn shared(&self) -> &SharedCore {
        &self.shared
    }

    /// Returns the flow that holds the units.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// Returns the number of units.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Creates an empty permit of the same flow, for units with another lifetime.
    pub fn child(&self) -> Self {
        Self::new(self.shared.clone(), self.flow, 0)
    }

    /// Acquires more units if they are available.
    ///
    /// It never waits: two permits that each wait for more could deadlock. While other
    /// flows wait, it succeeds only up to an equal share per flow.
    #[must_use = "`false` means that nothing was acquired"]
    pub fn try_grow(&mut self, more: u64) -> bool {
        let grown = more == 0 || self.shared.lock().try_grow(self.flow, self.units, more);
        if grown {
            self.units += more;
        }
        grown
    }

    /// Waits until [`try_grow`](Self::try_grow) succeeds.
    ///
    /// It is not queued, so it delays no waiter and may starve: apply a timeout.
    pub async fn grow(&mut self, more: u64) {
        let (shared, flow, has) = (&self.shared, self.flow, self.units);
        poll_fn(|cx| shared.lock().poll_grow(flow, has, more, cx.waker())).await;
        self.units += more;
    }

    /// Releases all units beyond `units`.
    pub fn shrink_to(&mut self, units: u64) {
        let surplus = self.units.saturating_sub(units);
        if surplus > 0 {
            self.units -= surplus;
            self.shared.release(self.flow, surplus);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.units > 0 {
            self.shared.release(self.flow, self.units);
        }
    }
}
