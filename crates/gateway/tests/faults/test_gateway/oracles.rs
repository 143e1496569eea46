//! Invariants that are checked after every case: a plain request is served, nothing
//! panicked, descriptors and tasks are back to their number before the case, no key is in
//! any response, log line (down to trace), metric or page, no prompt is in anything but
//! responses, and every request has one log line with an outcome and no more attempts
//! than its chain allows. Memory is checked by `crates/cli/tests`, in a separate process.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::fixtures::PROMPT;
use super::{TEST_TIMEOUT, record};

/// Possible outcomes of a request.
const ENDS: [&str; 4] = ["complete", "failed", "interrupted", "client_gone"];

/// Resources in use before the case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OpenResources {
    descriptors: usize,
    tasks: usize,
}

impl OpenResources {
    pub(super) fn now() -> Self {
        Self {
            descriptors: descriptors(),
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    /// Waits until descriptors and tasks are back. Closing takes a moment; a leak never
    /// ends.
    pub(super) async fn is_back(self) {
        let back = async {
            loop {
                let now = Self::now();
                if now.descriptors <= self.descriptors && now.tasks <= self.tasks {
                    return;
                }
                sleep(Duration::from_millis(2)).await;
            }
        };
        if timeout(TEST_TIMEOUT, back).await.is_err() {
            panic!("leaked: {self:?} before and {:?} after", Self::now());
        }
    }
}

pub(super) fn nothing_panicked(but_for: usize) {
    assert_eq!(record::panics(), but_for, "unexpected panics");
}

pub(super) fn nothing_leaked(pages: &str) {
    let (log, received) = (record::logged(), record::all_received());
    let keys = [("log", &*log), ("response", &*received), ("page", pages)];
    for (place, text) in keys {
        let line = text.lines().find(|line| line.contains("CANARY"));
        assert_eq!(line, None, "a key in a {place}");
    }
    for (place, text) in [("log", &*log), ("page", pages)] {
        let line = text.lines().find(|line| line.contains(PROMPT));
        assert_eq!(line, None, "a prompt in a {place}");
    }
}

pub(super) fn each_request_has_its_line() {
    let log = record::logged();
    let mut logged = BTreeSet::new();
    for line in log.lines().filter(|line| line.contains(" outcome=")) {
        let id = field(line, "request").expect("a line has an id");
        assert!(logged.insert(id), "two lines for {id}");
        let outcome = field(line, "outcome").unwrap_or_default();
        assert!(ENDS.contains(&outcome), "no outcome in {line}");
        let model = field(line, "model").unwrap_or_default();
        // One retry per target.
        let most = 2 * (1 + model.matches(',').count());
        let attempts = field(line, "attempts").map_or(0, |n| n.parse().expect("a number"));
        assert!(attempts <= most, "more than {most} attempts in {line}");
    }
    let received = record::all_received();
    let ids = received
        .lines()
        .filter_map(|line| line.strip_prefix("x-majordomo-request-id: "));
    for id in ids {
        assert!(logged.contains(id.trim()), "no line for {id}");
    }
}

/// The value of `name=value` or `name="value"` in a line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}="))?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split(' ').next(),
    }
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    open.count()
}

/// Not counted on other systems.
#[cfg(not(target_os = "linux"))]
fn descriptors() -> usize {
    0
}
