//! Tells when some files hold something else than before.
//!
//! Their folders are watched rather than the files: editors, `mv` and certbot put
//! a new file in the old one's place, and a mounted volume swaps a link beside it.
//! What counts is whether the bytes are different once the folder is quiet and
//! whoever writes in place has closed the file. Where a file system tells nothing,
//! the files are looked at every few seconds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::config::read_bytes;

/// A change is over when nothing happened for so long.
const QUIET: Duration = Duration::from_millis(50);
/// A folder that never gets quiet is looked at after so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// A file that somebody writes and does not close is looked at after so long.
const WRITING: Duration = Duration::from_secs(10);
/// How often the files are looked at without being told.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Of what a file holds; none if it cannot be read.
type Contents = Option<[u8; 32]>;

/// Files whose contents are compared with what they were.
pub(crate) struct Files {
    paths: Vec<PathBuf>,
    /// What was in them when they were [`noted`](Self::note) last.
    contents: Vec<Contents>,
    changes: UnboundedReceiver<Stir>,
    /// Something happened since the contents were compared.
    stirred: bool,
    /// Since when somebody writes in place and has not closed the file.
    writing: Option<Instant>,
    /// None where the system gives no watcher: then the files are only looked at.
    watcher: Option<RecommendedWatcher>,
    /// The folders that are watched: the files' own, and those of what they link to.
    folders: Vec<PathBuf>,
}

/// What happened in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stir {
    /// One of the files got other bytes, and whoever wrote them may go on.
    Written,
    /// Whoever wrote one of the files is done, or another file is in its place.
    Done,
    /// Something else, which may have changed where a path leads.
    Around,
}

impl Files {
    /// Watches these files from now on. What they hold is not known before it is
    /// [`noted`](Self::note).
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

    /// Takes what is in the files now as known. Call it before reading them, so
    /// that no change goes unnoticed.
    pub(crate) fn note(&mut self) {
        self.follow();
        self.contents = contents(&self.paths);
    }

    /// Waits until a file holds something else than what was noted. Nothing is
    /// lost when the future is dropped.
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

    /// Waits until the folder is quiet and nobody is in the middle of a file.
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
                // Without a watcher there is nothing to hear.
                Ok(None) => sleep_until(until).await,
                Err(_) => break,
            }
            quiet = Instant::now() + QUIET;
        }
        self.writing = None;
    }

    /// Watches the folders that the files are in now.
    fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut folders: Vec<PathBuf> = self.paths.iter().flat_map(|it| folders(it)).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in self.folders.iter().filter(|it| !folders.contains(it)) {
            // A folder that is gone is not watched anyway.
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
            // Nobody listens any more when the watch is gone.
            let _ = changes.send(stir);
        }
    };
    let watcher = notify::recommended_watcher(tell);
    if let Err(error) = &watcher {
        tracing::warn!(%error, "files cannot be watched; they are looked at now and then");
    }
    watcher.ok()
}

/// What an event means, if it means anything. Reading is no change; our own
/// reading must not wake us, and neither may a log that is written in the same
/// folder.
fn stir(event: &Event, paths: &[PathBuf]) -> Option<Stir> {
    let about = |path: &PathBuf| match std::fs::canonicalize(path) {
        // Events tell real paths, since real folders are watched.
        Ok(real) => event.paths.contains(&real).then_some(About::Ours),
        Err(_) => Some(About::Unknown),
    };
    let about = || paths.iter().filter_map(about).min();
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => about().map(|_| Stir::Done),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_)) => about().map(|about| match about {
            // Only Linux tells afterwards that the file was closed.
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

/// Whether an event is about one of the files. While one of them is missing, it
/// may be.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Ours,
    Unknown,
}

fn contents(paths: &[PathBuf]) -> Vec<Contents> {
    let content = |path: &PathBuf| Some(Sha256::digest(read_bytes(path).ok()?).into());
    paths.iter().map(content).collect()
}

/// The folder of the path, and of the file that it really is.
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
