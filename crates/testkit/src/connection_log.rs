//! Records what an upstream receives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One connection as the upstream saw it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// When it was accepted.
    pub opened: Instant,
    /// The requests received on it.
    pub requests: Vec<Request>,
    /// When the peer closed or reset it.
    pub peer_closed: Option<Instant>,
    /// Bytes sent by the upstream.
    pub bytes_sent: usize,
}

/// One request as the upstream saw it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request line and headers, verbatim.
    pub head: String,
    /// The body without its framing; empty if the script did not read it.
    pub body: Bytes,
    /// When the header was complete.
    pub arrived: Instant,
}

impl Request {
    /// The value of a header, whose name is case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// How many times every task may run before an event counts as late.
const GRACE_YIELDS: usize = 16;

/// The log that connections write and tests read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionLog {
    state: Arc<Mutex<ConnectionLogState>>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct ConnectionLogState {
    connections: Vec<Connection>,
    problems: Vec<String>,
}

impl ConnectionLog {
    pub(crate) fn open(&self) -> usize {
        let mut state = self.state();
        state.connections.push(Connection {
            opened: Instant::now(),
            requests: Vec::new(),
            peer_closed: None,
            bytes_sent: 0,
        });
        let index = state.connections.len() - 1;
        drop(state);
        self.changed.notify_waiters();
        index
    }

    pub(crate) fn update(&self, index: usize, change: impl FnOnce(&mut Connection)) {
        change(&mut self.state().connections[index]);
        self.changed.notify_waiters();
    }

    /// The request that a connection is handling.
    pub(crate) fn last_request(&self, index: usize) -> Option<Request> {
        self.state().connections[index].requests.last().cloned()
    }

    pub(crate) fn problem(&self, text: String) {
        self.state().problems.push(text);
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    pub(crate) fn connections(&self) -> Vec<Connection> {
        self.state().connections.clone()
    }

    /// Waits until `found` finds something.
    pub(crate) async fn wait<T>(
        &self,
        what: &str,
        within: Duration,
        found: impl Fn(&[Connection]) -> Option<T>,
    ) -> T {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if let Some(found) = found(&self.state().connections) {
                    return found;
                }
                changed.await;
            }
        };
        if let Ok(found) = tokio::time::timeout(within, waiting).await {
            return found;
        }
        // On a busy machine, tasks may not have run for that long, so an event that arrived in
        // time must be noticed before it counts as late.
        for _ in 0..GRACE_YIELDS {
            tokio::task::yield_now().await;
            if let Some(found) = found(&self.state().connections) {
                return found;
            }
        }
        panic!("the upstream did not see {what} within {within:?}");
    }

    fn state(&self) -> MutexGuard<'_, ConnectionLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
