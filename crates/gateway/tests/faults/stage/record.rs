//! What was logged, heard and panicked during one case. Cases run one after the
//! other, so all of it belongs to the case that runs.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static HEARD: Mutex<String> = Mutex::new(String::new());
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Begins with nothing recorded.
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
    // Everything down to the finest, but for every frame of HTTP/2.
    let levels = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target("h2", LevelFilter::INFO);
    let subscriber = tracing_subscriber::registry().with(lines).with(levels);
    tracing::subscriber::set_global_default(subscriber).expect("nobody else listens");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(panic);
    }));
}

/// Everything that was logged.
pub(crate) fn logged() -> String {
    String::from_utf8_lossy(&lock(&LOG)).into_owned()
}

/// The lines about one request.
pub(crate) fn lines_of(id: &str) -> Vec<String> {
    let all = logged();
    let about = all.lines().filter(|line| line.contains(id));
    about.map(str::to_owned).collect()
}

/// A client was told this.
pub(crate) fn heard(text: &str) {
    let mut all = lock(&HEARD);
    all.push_str(text);
    all.push('\n');
}

/// Everything that clients were told.
pub(super) fn all_heard() -> String {
    lock(&HEARD).clone()
}

/// How often anything panicked.
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
