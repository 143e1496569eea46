//! Detects changed contents of files.
//!
//! Watches the parent directories rather than the files: editors, `mv` and certbot
//! replace a file, and a mounted volume swaps a symbolic link next to it. A change is
//! reported if the contents differ once the directory is quiet and in-place writers have
//! closed the file. The files are also polled every few seconds, for file systems without
//! notifications.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::config::read_bytes;

/// A change is complete after this time without events.
const QUIET: Duration = Duration::from_millis(50);
/// A directory that never gets quiet is checked after this time.
const MAX_SETTLE: Duration = Duration::from_secs(1);
/// A file that is written but never closed is checked after this time.
const MAX_WRITE: Duration = Duration::from_secs(10);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// SHA-256 of a file's contents; `None` if it cannot be read.
type ContentHash = Option<[u8; 32]>;

/// Files whose contents are compared with the last snapshot.
pub(crate) struct WatchedFiles {
    paths: Vec<PathBuf>,
    /// The contents at the last [`snapshot`](Self::snapshot).
    contents: Vec<ContentHash>,
    changes: UnboundedReceiver<DirectoryEvent>,
    /// Whether there were events since the last comparison.
    dirty: bool,
    /// When an in-place write began that has not been closed.
    writing: Option<Instant>,
    /// `None` if the system offers no watcher; then the files are only polled.
    watcher: Option<RecommendedWatcher>,
    /// The watched directories: those of the files and of their link targets.
    directories: Vec<PathBuf>,
}

/// An event in a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectoryEvent {
    /// A file was modified; its writer may continue.
    Written,
    /// A file was closed after writing, or replaced.
    Completed,
    /// Another event, which may have changed where a path leads.
    Other,
}

impl WatchedFiles {
    /// Starts watching these files and takes a first snapshot.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let (sender, changes) = unbounded_channel();
        let mut files = Self {
            watcher: watcher(&paths, sender),
            contents: vec![None; paths.len()],
            paths,
            changes,
            dirty: false,
            writing: None,
            directories: Vec::new(),
        };
        files.snapshot();
        files
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Takes a snapshot of the current contents. Call it before reading the files, so
    /// that no change is missed.
    pub(crate) fn snapshot(&mut self) {
        self.watch_directories();
        self.contents = contents(&self.paths);
    }

    /// Waits until a file's contents differ from the snapshot. Cancel-safe.
    pub(crate) async fn changed(&mut self) {
        loop {
            if self.dirty {
                self.settle().await;
                self.dirty = false;
                if contents(&self.paths) != self.contents {
                    return;
                }
            }
            tokio::select! {
                Some(event) = self.changes.recv() => self.record(event),
                () = sleep(POLL_INTERVAL) => self.dirty = true,
            }
        }
    }

    fn record(&mut self, event: DirectoryEvent) {
        self.dirty = true;
        match event {
            DirectoryEvent::Written => self.writing = self.writing.or_else(|| Some(Instant::now())),
            DirectoryEvent::Completed => self.writing = None,
            DirectoryEvent::Other => {}
        }
    }

    /// Waits until the directory is quiet and no write is in progress.
    async fn settle(&mut self) {
        let began = Instant::now();
        let mut quiet = began + QUIET;
        loop {
            let until = match self.writing {
                Some(since) => since + MAX_WRITE,
                None => quiet.min(began + MAX_SETTLE),
            };
            if Instant::now() >= until {
                break;
            }
            match timeout_at(until, self.changes.recv()).await {
                Ok(Some(event)) => self.record(event),
                // Without a watcher there are no events.
                Ok(None) => sleep_until(until).await,
                Err(_) => break,
            }
            quiet = Instant::now() + QUIET;
        }
        self.writing = None;
    }

    /// Watches the directories that the files are in now.
    fn watch_directories(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut directories: Vec<PathBuf> =
            self.paths.iter().flat_map(|it| directories(it)).collect();
        directories.sort_unstable();
        directories.dedup();
        for directory in self
            .directories
            .iter()
            .filter(|it| !directories.contains(it))
        {
            // A removed directory is no longer watched anyway.
            let _ = watcher.unwatch(directory);
        }
        self.directories
            .retain(|directory| directories.contains(directory));
        for directory in directories {
            if self.directories.contains(&directory) {
                continue;
            }
            match watcher.watch(&directory, RecursiveMode::NonRecursive) {
                Ok(()) => self.directories.push(directory),
                Err(error) => tracing::warn!(
                    folder = %directory.display(), %error,
                    "the directory cannot be watched; its files are polled"
                ),
            }
        }
    }
}

fn watcher(
    paths: &[PathBuf],
    changes: UnboundedSender<DirectoryEvent>,
) -> Option<RecommendedWatcher> {
    let paths = paths.to_vec();
    let notify_change = move |event: notify::Result<Event>| {
        let event = event.map_or(Some(DirectoryEvent::Other), |event| {
            classify(&event, &paths)
        });
        if let Some(event) = event {
            // The receiver is gone when the watch was dropped.
            let _ = changes.send(event);
        }
    };
    let watcher = notify::recommended_watcher(notify_change);
    if let Err(error) = &watcher {
        tracing::warn!(%error, "files cannot be watched; they are polled");
    }
    watcher.ok()
}

/// Classifies an event. Reads are ignored, since our own must not wake us, and so is a
/// log that is written in the same directory.
fn classify(event: &Event, paths: &[PathBuf]) -> Option<DirectoryEvent> {
    let about = |path: &PathBuf| match std::fs::canonicalize(path) {
        // Events carry real paths, since real directories are watched.
        Ok(real) => event.paths.contains(&real).then_some(EventScope::Ours),
        Err(_) => Some(EventScope::Unknown),
    };
    let about = || paths.iter().filter_map(about).min();
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
            about().map(|_| DirectoryEvent::Completed)
        }
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_)) => about().map(|about| match about {
            // Only Linux reports afterwards that the file was closed.
            EventScope::Ours if cfg!(target_os = "linux") => DirectoryEvent::Written,
            _ => DirectoryEvent::Other,
        }),
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(DirectoryEvent::Other),
        _ => match about() {
            Some(EventScope::Ours) => Some(DirectoryEvent::Completed),
            _ => Some(DirectoryEvent::Other),
        },
    }
}

/// Whether an event concerns one of the files. It is unknown while one of them is
/// missing.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum EventScope {
    Ours,
    Unknown,
}

fn contents(paths: &[PathBuf]) -> Vec<ContentHash> {
    let content = |path: &PathBuf| Some(Sha256::digest(read_bytes(path).ok()?).into());
    paths.iter().map(content).collect()
}

/// The parent directories of the path and of its link target.
fn directories(path: &Path) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(directory) if directory.as_os_str().is_empty() => Some(PathBuf::from(".")),
        directory => directory.map(Path::to_path_buf),
    };
    let real = std::fs::canonicalize(path).ok();
    [parent(path), real.as_deref().and_then(parent)]
        .into_iter()
        .flatten()
        .filter_map(|directory| std::fs::canonicalize(directory).ok())
        .collect()
}
