//! The semaphore's state behind a short lock.
//!
//! The lock is never held across a wake or an await.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bounds::Bounds;
use crate::core::{Core, Wake};
use crate::flow::Flow;

/// A handle to the semaphore's state. Clones share it.
#[derive(Clone)]
pub(crate) struct SharedCore(Arc<Mutex<Core>>);

impl SharedCore {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self(Arc::new(Mutex::new(Core::new(bounds))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        // Cloning a waker may panic, but no method leaves the state inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn release(&self, flow: Flow, units: u64) {
        let wake = self.lock().release(flow, units);
        wake_all(wake);
    }
}

/// Wakes the tasks. Must be called without the lock: a waker may run arbitrary code.
pub(crate) fn wake_all(wake: Wake) {
    for waker in wake {
        waker.wake();
    }
}

impl fmt::Debug for SharedCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.lock();
        f.debug_struct("FairSemaphore")
            .field("available", &core.free())
            .field("waiting", &core.waiting())
            .finish()
    }
}
