//! Units behind a short lock, which is never held across a wake or an await.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::acquire::Acquire;
use crate::bounds::Bounds;
use crate::core::{Core, Wake};
use crate::flow::Flow;
use crate::permit::Permit;

/// A semaphore whose waiters are served fairly between flows. Clones share it.
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
    core: Arc<Mutex<Core>>,
}

impl FairSemaphore {
    /// A semaphore with all its units free.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            core: Arc::new(Mutex::new(Core::new(bounds))),
        }
    }

    /// Takes units if they are free and nobody waits.
    pub fn try_acquire(&self, flow: Flow, cost: u64) -> Option<Permit> {
        let taken = self.lock().try_take(flow, cost);
        taken.then(|| Permit::new(self.clone(), flow, cost))
    }

    /// Takes units, or waits for them in the flow's queue. Dropping the future
    /// leaves the queue and hands its turn on.
    pub fn acquire(&self, flow: Flow, cost: u64) -> Acquire {
        Acquire::new(self.clone(), flow, cost)
    }

    /// All units, held or not.
    pub fn total(&self) -> u64 {
        self.lock().total()
    }

    /// Units that nobody holds.
    pub fn available(&self) -> u64 {
        self.lock().free()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// Units that one flow holds.
    pub fn held_by(&self, flow: Flow) -> u64 {
        self.lock().held(flow)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        // A waker's clone may panic; no step leaves the state half changed.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn release(&self, flow: Flow, units: u64) {
        let wake = self.lock().release(flow, units);
        wake_all(wake);
    }
}

/// To be called without the lock: a waker may run anything.
pub(crate) fn wake_all(wake: Wake) {
    for waker in wake {
        waker.wake();
    }
}

impl fmt::Debug for FairSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.lock();
        f.debug_struct("FairSemaphore")
            .field("available", &core.free())
            .field("waiting", &core.waiting())
            .finish()
    }
}
