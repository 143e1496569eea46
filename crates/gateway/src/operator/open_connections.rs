//! The operator listener's connections: at the limit, a new connection evicts the
//! oldest idle one.
//!
//! Slots are few and are taken before any key is checked, so silent connections must
//! not keep the operator out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::AbortHandle;

/// The open connections, oldest first.
#[derive(Default)]
pub(super) struct OpenConnections(VecDeque<(InFlight, AbortHandle)>);

impl OpenConnections {
    /// Frees a slot; `false` if every connection serves a request.
    pub(super) fn make_room(&mut self, most: usize) -> bool {
        self.0.retain(|(_, task)| !task.is_finished());
        if self.0.len() < most {
            return true;
        }
        let idle = self.0.iter().position(|(busy, _)| busy.is_idle());
        let evicted = idle.and_then(|at| self.0.remove(at));
        evicted.inspect(|(_, task)| task.abort()).is_some()
    }

    pub(super) fn push(&mut self, busy: InFlight, task: AbortHandle) {
        self.0.push_back((busy, task));
    }
}

/// Counts the requests in flight on a connection.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    /// Counts a request until the guard is dropped.
    pub(super) fn begin(&self) -> Serving {
        self.0.fetch_add(1, Ordering::Relaxed);
        Serving(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// One request in flight.
pub(super) struct Serving(InFlight);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> (InFlight, tokio::task::JoinHandle<()>) {
        (InFlight::default(), tokio::spawn(std::future::pending()))
    }

    #[tokio::test]
    async fn the_oldest_idle_connection_is_evicted_and_a_busy_one_stays() {
        let mut open = OpenConnections::default();
        let (busy, first) = connection();
        let (idle, second) = connection();
        let serving = busy.begin();
        open.push(busy, first.abort_handle());
        open.push(idle, second.abort_handle());
        assert!(open.make_room(2));
        assert!(second.await.unwrap_err().is_cancelled());
        let (idle, third) = connection();
        let both = [idle.begin(), idle.begin()];
        open.push(idle, third.abort_handle());
        assert!(!open.make_room(2), "every connection is busy");
        drop(serving);
        assert!(open.make_room(2));
        assert!(first.await.unwrap_err().is_cancelled());
        drop(both);
    }
}
