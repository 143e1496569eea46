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
const PATIENCE: Duration = Duration::from_secs(1);
/// A file that is written but never closed is checked after this time.
const WRITING: Duration = Duration::from_secs(10);
/// Polling interval.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// SHA-256 of a file's contents; `None` if it cannot be read.
type Contents = Option<[u8; 32]>;

/// Files whose contents are compared with the last snapshot.
pub(crate) struct Files {
    paths: Vec<PathBuf>,
    /// The contents at the last [`snapshot`](Self::snapshot).
    contents: Vec<Contents>,
    changes: UnboundedReceiver<Stir>,
    /// Whether there were events since the last comparison.
    stirred: bool,
    /// When an in-place write began that has not been closed.
    writing: Option<Instant>,
    /// `None` if the system offers no watcher; then the files are only polled.
    watcher: Option<RecommendedWatcher>,
    /// The watched directories: those of the files and of their link targets.
    folders: Vec<PathBuf>,
}

/// An event in a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stir {
    /// A file was modified; its writer may continue.
    Written,
    /// A file was closed after writing, or replaced.
    Done,
    /// Another event, which may have changed where a path leads.
    Around,
}

impl Files {
    /// Starts watching these files and takes a first snapshot.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let (sender, changes) = unbounded_channel();
        let mut files = Self {
            watcher: watcher(&paths, sender),
            contents: vec![None; paths.len()],
            paths,
            changes,
            stirred: false,
            writing: None,
            folders: Vec::new(),
        };
        files.note();
        files
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Takes a snapshot of the current contents. Call it before reading the files, so
    /// that no change is missed.
    pub(crate) fn note(&mut self) {
        self.follow();
        self.contents = contents(&self.paths);
    }

    /// Waits until a file's contents differ from the snapshot. Cancel-safe.
    pub(crate) async fn changed(&mut self) {
        loop {
            if self.stirred {
                self.settle().await;
                self.stirred = false;
                if contents(&self.paths) != self.contents {
                    return;
                }
            }
            tokio::select! {
                Some(stir) = self.changes.recv() => self.saw(stir),
                () = sleep(LOOK_AGAIN) => self.stirred = true,
            }
        }
    }

    fn saw(&mut self, stir: Stir) {
        self.stirred = true;
        match stir {
            Stir::Written => self.writing = self.writing.or_else(|| Some(Instant::now())),
            Stir::Done => self.writing = None,
            Stir::Around => {}
        }
    }

    /// Waits until the directory is quiet and no write is in progress.
    async fn settle(&mut self) {
        let began = Instant::now();
        let mut quiet = began + QUIET;
        loop {
            let until = match self.writing {
                Some(since) => since + WRITING,
                None => quiet.min(began + PATIENCE),
            };
            if Instant::now() >= until {
                break;
            }
            match timeout_at(until, self.changes.recv()).await {
                Ok(Some(stir)) => self.saw(stir),
                // Without a watcher there are no events.
                Ok(None) => sleep_until(until).await,
                Err(_) => break,
            }
            quiet = Instant::now() + QUIET;
        }
        self.writing = None;
    }

    /// Watches the directories that the files are in now.
    fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut folders: Vec<PathBuf> = self.paths.iter().flat_map(|it| folders(it)).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in self.folders.iter().filter(|it| !folders.contains(it)) {
            // A removed directory is no longer watched anyway.
            let _ = watcher.unwatch(folder);
        }
        self.folders.retain(|folder| folders.contains(folder));
        for folder in folders {
            if self.folders.contains(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => self.folders.push(folder),
                Err(error) => tracing::warn!(
                    folder = %folder.display(), %error,
                    "the folder cannot be watched; its files are looked at now and then"
                ),
            }
        }
    }
}

fn watcher(paths: &[PathBuf], changes: UnboundedSender<Stir>) -> Option<RecommendedWatcher> {
    let paths = paths.to_vec();
    let tell = move |event: notify::Result<Event>| {
        let stir = event.map_or(Some(Stir::Around), |event| stir(&event, &paths));
        if let Some(stir) = stir {
            // The receiver is gone when the watch was dropped.
            let _ = changes.send(stir);
        }
    };
    let watcher = notify::recommended_watcher(tell);
    if let Err(error) = &watcher {
        tracing::warn!(%error, "files cannot be watched; they are looked at now and then");
    }
    watcher.ok()
}

/// Classifies an event. Reads are ignored, since our own must not wake us, and so is a
/// log that is written in the same directory.
fn stir(event: &Event, paths: &[PathBuf]) -> Option<Stir> {
    let about = |path: &PathBuf| match std::fs::canonicalize(path) {
        // Events carry real paths, since real directories are watched.
        Ok(real) => event.paths.contains(&real).then_some(About::Ours),
        Err(_) => Some(About::Unknown),
    };
    let about = || paths.iter().filter_map(about).min();
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => about().map(|_| Stir::Done),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_)) => about().map(|about| match about {
            // Only Linux reports afterwards that the file was closed.
            About::Ours if cfg!(target_os = "linux") => Stir::Written,
            _ => Stir::Around,
        }),
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Stir::Around),
        _ => match about() {
            Some(About::Ours) => Some(Stir::Done),
            _ => Some(Stir::Around),
        },
    }
}

/// Whether an event concerns one of the files. It is unknown while one of them is
/// missing.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Ours,
    Unknown,
}

fn contents(paths: &[PathBuf]) -> Vec<Contents> {
    let content = |path: &PathBuf| Some(Sha256::digest(read_bytes(path).ok()?).into());
    paths.iter().map(content).collect()
}

/// The parent directories of the path and of its link target.
fn folders(path: &Path) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Some(PathBuf::from(".")),
        folder => folder.map(Path::to_path_buf),
    };
    let real = std::fs::canonicalize(path).ok();
    [parent(path), real.as_deref().and_then(parent)]
        .into_iter()
        .flatten()
        .filter_map(|folder| std::fs::canonicalize(folder).ok())
        .collect()
}
