//! The public semaphore.

use std::fmt;

use crate::acquire::Acquire;
use crate::bounds::Bounds;
use crate::flow::Flow;
use crate::permit::Permit;
use crate::shared::{SharedCore, wake_all};

/// A semaphore that serves waiters fairly across flows. Clones share it.
///
/// ```
/// # use majordomo_limits::{Bounds, FairSemaphore, Flow};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let bytes = FairSemaphore::new(Bounds::new(1024).quantum(64).waiters(100));
/// let mut permit = bytes.acquire(Flow::named("alice"), 64).await?;
/// assert!(permit.try_grow(960));
/// assert_eq!(bytes.available(), 0);
/// # Ok::<(), majordomo_limits::AcquireError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct FairSemaphore {
    shared: SharedCore,
}

impl FairSemaphore {
    /// Creates a semaphore with all units available.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            shared: SharedCore::new(bounds),
        }
    }

    /// Acquires units if they are available and no flow is waiting.
    pub fn try_acquire(&self, flow: Flow, cost: u64) -> Option<Permit> {
        let taken = self.shared.lock().try_take(flow, cost);
        taken.then(|| Permit::new(self.shared.clone(), flow, cost))
    }

    /// Acquires units, waiting in the flow's queue if necessary.
    ///
    /// Dropping the future leaves the queue and passes the turn on.
    pub fn acquire(&self, flow: Flow, cost: u64) -> Acquire {
        Acquire::new(self.shared.clone(), flow, cost)
    }

    /// Changes the number of units. Held units beyond the new number are not granted again
    /// after their release.
    pub fn resize(&self, units: u64) {
        let wake = self.shared.lock().resize(units);
        wake_all(wake);
    }

    /// Allows costs up to this one to wait, even while there are fewer units.
    pub(crate) fn accept_up_to(&self, largest: u64) {
        self.shared.lock().accept_up_to(largest);
    }

    /// Returns the number of held units, including those beyond a lowered total.
    pub fn in_use(&self) -> u64 {
        self.shared.lock().in_use()
    }

    /// Returns the number of units, available or held.
    pub fn total(&self) -> u64 {
        self.shared.lock().total()
    }

    /// Returns the number of available units.
    pub fn available(&self) -> u64 {
        self.shared.lock().free()
    }

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.shared.lock().waiting()
    }

    /// Returns the number of units held by a flow.
    pub fn held_by(&self, flow: Flow) -> u64 {
        self.shared.lock().held(flow)
    }
}

impl fmt::Debug for FairSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
