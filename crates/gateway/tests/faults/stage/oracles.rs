//! What must hold after every case, whatever it did.
//!
//! | oracle | what is looked at |
//! |---|---|
//! | G1 | a plain request is served |
//! | G2 | nothing panicked |
//! | G3 | file descriptors are back where they were before the case |
//! | G4 | so are the tasks of the runtime |
//! | G5 | memory: `crates/cli/tests/process/memory.rs`, in a process of its own |
//! | G6 | no key in any answer, log line down to trace, metric or page; no prompt in any but answers |
//! | G7 | one log line for each request, with an end |
//! | G8 | no request was tried more often than its chain allows |

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::words::PROMPT;
use super::{FOREVER, record};

/// How a request may end.
const ENDS: [&str; 4] = ["complete", "failed", "interrupted", "client_gone"];

/// What the gateway held before the case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    descriptors: usize,
    tasks: usize,
}

impl Held {
    pub(super) fn now() -> Self {
        Self {
            descriptors: descriptors(),
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    /// G3 and G4. Closing takes a moment; a leak takes for ever.
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
        if timeout(FOREVER, back).await.is_err() {
            panic!("G3, G4: {self:?} before and {:?} after", Self::now());
        }
    }
}

/// G2.
pub(super) fn nothing_panicked(but_for: usize) {
    assert_eq!(record::panics(), but_for, "G2: something panicked");
}

/// G6.
pub(super) fn nothing_leaked(pages: &str) {
    let (log, heard) = (record::logged(), record::all_heard());
    let keys = [("log", &*log), ("answer", &*heard), ("page", pages)];
    for (place, text) in keys {
        let line = text.lines().find(|line| line.contains("CANARY"));
        assert_eq!(line, None, "G6: a key in a {place}");
    }
    for (place, text) in [("log", &*log), ("page", pages)] {
        let line = text.lines().find(|line| line.contains(PROMPT));
        assert_eq!(line, None, "G6: a prompt in a {place}");
    }
}

/// G7 and G8.
pub(super) fn each_request_has_its_line() {
    let log = record::logged();
    let mut logged = BTreeSet::new();
    for line in log
        .lines()
        .filter(|line| line.contains(": served request="))
    {
        let id = field(line, "request").expect("a line has an id");
        assert!(logged.insert(id), "G7: two lines for {id}");
        let outcome = field(line, "outcome").unwrap_or_default();
        assert!(ENDS.contains(&outcome), "G7: no end in {line}");
        let model = field(line, "model").unwrap_or_default();
        // One retry for each target.
        let most = 2 * (1 + model.matches(',').count());
        let attempts = field(line, "attempts").map_or(0, |n| n.parse().expect("a number"));
        assert!(attempts <= most, "G8: more than {most} attempts in {line}");
    }
    let heard = record::all_heard();
    let ids = heard
        .lines()
        .filter_map(|line| line.strip_prefix("x-majordomo-request-id: "));
    for id in ids {
        assert!(logged.contains(id.trim()), "G7: no line for {id}");
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
    let open = std::fs::read_dir("/proc/self/fd").expect("a process sees itself");
    open.count()
}

/// Elsewhere they cannot be counted this way.
#[cfg(not(target_os = "linux"))]
fn descriptors() -> usize {
    0
}
