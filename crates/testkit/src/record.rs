//! What an upstream has seen.

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
    /// What was asked on it.
    pub requests: Vec<Request>,
    /// When the peer was seen to close or reset it.
    pub peer_closed: Option<Instant>,
    /// How much the upstream has sent.
    pub bytes_sent: usize,
}

/// One request as the upstream saw it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request line and headers, as they came.
    pub head: String,
    /// The body, without its framing; empty if the script did not read it.
    pub body: Bytes,
    /// When the head was complete.
    pub arrived: Instant,
}

impl Request {
    /// A header's value; names are compared without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// How often every task has a turn before something counts as late.
const TURNS: usize = 16;

/// The record that connections write and tests read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    connections: Vec<Connection>,
    problems: Vec<String>,
}

impl Record {
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

    /// The request that a connection is busy with.
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

    /// Waits until the record shows what is asked for.
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
        // On a busy machine nobody here may have run for that long: what had
        // come in time is seen before it is called late.
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
            if let Some(found) = found(&self.state().connections) {
                return found;
            }
        }
        panic!("the upstream did not see {what} within {within:?}");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
