//! Records log lines, responses and panics of the running case. Cases are serialized,
//! so everything belongs to that case.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static HEARD: Mutex<String> = Mutex::new(String::new());
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Clears the record.
pub(super) fn begin() {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(listen);
    lock(&LOG).clear();
    lock(&HEARD).clear();
    PANICS.store(0, Ordering::Relaxed);
}

fn listen() {
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(|| Sink);
    // Trace level, except for HTTP/2 frames.
    let levels = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target("h2", LevelFilter::INFO);
    let subscriber = tracing_subscriber::registry().with(lines).with(levels);
    tracing::subscriber::set_global_default(subscriber).expect("no other subscriber is installed");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(panic);
    }));
}

/// The whole log.
pub(crate) fn logged() -> String {
    String::from_utf8_lossy(&lock(&LOG)).into_owned()
}

/// Log lines of one request.
pub(crate) fn lines_of(id: &str) -> Vec<String> {
    let all = logged();
    let about = all.lines().filter(|line| line.contains(id));
    about.map(str::to_owned).collect()
}

/// Records bytes that a client received.
pub(crate) fn heard(text: &str) {
    let mut all = lock(&HEARD);
    all.push_str(text);
    all.push('\n');
}

/// Everything that clients received.
pub(super) fn all_received() -> String {
    lock(&HEARD).clone()
}

/// Number of panics.
pub(super) fn panics() -> usize {
    PANICS.load(Ordering::Relaxed)
}

fn lock<T>(recorded: &Mutex<T>) -> MutexGuard<'_, T> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        lock(&LOG).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
