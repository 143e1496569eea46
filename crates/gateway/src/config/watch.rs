//! Reads the file anew when it changes.
//!
//! The folder is watched rather than the file: editors and `mv` put a new file in
//! the old one's place, and a mounted volume swaps a link beside it. What counts
//! is whether the text is different once the folder is quiet. Where a file system
//! tells nothing, the file is looked at every few seconds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::{Config, Problems};

/// A change is over when nothing happened for so long.
const QUIET: Duration = Duration::from_millis(50);
/// A folder that never gets quiet is looked at after so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the file is looked at without being told.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A configuration file that is read anew when it changes, and on SIGHUP.
pub struct Watch {
    path: PathBuf,
    environment: BTreeMap<String, String>,
    /// Of the text that was read last; none if it could not be read.
    digest: Option<[u8; 32]>,
    changes: UnboundedReceiver<()>,
    /// Something happened since the text was read.
    stirred: bool,
    /// None where the system gives no watcher: then the file is only looked at.
    watcher: Option<RecommendedWatcher>,
    /// The folders that are watched: the file's own, and that of what it links to.
    folders: Vec<PathBuf>,
    hangup: Hangup,
}

impl Watch {
    /// Reads the file, and watches it from before that on: no change is missed.
    /// Must be called inside a tokio runtime.
    pub fn open(
        path: &Path,
        environment: BTreeMap<String, String>,
    ) -> (Result<Config, Problems>, Self) {
        let (sender, changes) = unbounded_channel();
        let mut watch = Self {
            path: path.to_owned(),
            environment,
            digest: None,
            changes,
            stirred: false,
            watcher: watcher(path, sender),
            folders: Vec::new(),
            hangup: Hangup::new(),
        };
        let config = watch.read();
        (config, watch)
    }

    /// Waits until the text is another one, or somebody sent SIGHUP, and reads
    /// it. A caller who gets problems keeps what it has. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Result<Config, Problems> {
        loop {
            if self.stirred {
                self.settle().await;
                self.stirred = false;
                if digest(&self.path) != self.digest {
                    return self.read();
                }
            }
            tokio::select! {
                () = self.hangup.received() => return self.read(),
                Some(()) = self.changes.recv() => self.stirred = true,
                () = sleep(LOOK_AGAIN) => self.stirred = true,
            }
        }
    }

    /// Waits until the folder is quiet.
    async fn settle(&mut self) {
        let latest = Instant::now() + PATIENCE;
        let mut quiet = Instant::now() + QUIET;
        while let Ok(Some(())) = timeout_at(quiet.min(latest), self.changes.recv()).await {
            quiet = Instant::now() + QUIET;
        }
        sleep_until(quiet.min(latest)).await;
    }

    fn read(&mut self) -> Result<Config, Problems> {
        self.follow();
        self.digest = digest(&self.path);
        Config::load(&self.path, &self.environment)
    }

    /// Watches the folders that the file is in now.
    fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let folders = folders(&self.path);
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
                    "the folder cannot be watched; the file is looked at now and then"
                ),
            }
        }
    }
}

fn watcher(path: &Path, changes: UnboundedSender<()>) -> Option<RecommendedWatcher> {
    let path = path.to_owned();
    let tell = move |event: notify::Result<Event>| {
        let matters = |event| changes_something(event, &path);
        if event.as_ref().map_or(true, matters) {
            // Nobody listens any more when the watch is gone.
            let _ = changes.send(());
        }
    };
    let watcher = notify::recommended_watcher(tell);
    if let Err(error) = &watcher {
        tracing::warn!(%error, "files cannot be watched; the configuration is looked at now and then");
    }
    watcher.ok()
}

/// Reading is no change; our own reading must not wake us, and neither may a log
/// that is written in the same folder.
fn changes_something(event: &Event, path: &Path) -> bool {
    let ours = || {
        // Events tell real paths, since real folders are watched.
        let real = std::fs::canonicalize(path);
        real.map_or(true, |real| event.paths.contains(&real))
    };
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => ours(),
        EventKind::Access(_) => false,
        EventKind::Modify(ModifyKind::Data(_)) => ours(),
        _ => true,
    }
}

fn digest(path: &Path) -> Option<[u8; 32]> {
    let text = super::read_bytes(path).ok()?;
    Some(Sha256::digest(&text).into())
}

/// The folder of the path, and of the file that it really is.
fn folders(path: &Path) -> Vec<PathBuf> {
    let parent = |path: &Path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Some(PathBuf::from(".")),
        folder => folder.map(Path::to_path_buf),
    };
    let real = std::fs::canonicalize(path).ok();
    let mut folders: Vec<PathBuf> = [parent(path), real.as_deref().and_then(parent)]
        .into_iter()
        .flatten()
        .filter_map(|folder| std::fs::canonicalize(folder).ok())
        .collect();
    folders.dedup();
    folders
}

/// SIGHUP, where there is such a thing.
struct Hangup {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = signal(SignalKind::hangup());
        if let Err(error) = &signal {
            tracing::warn!(%error, "SIGHUP cannot be listened for");
        }
        Self {
            signal: signal.ok(),
        }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    /// Waits for the signal; for ever where there is none.
    async fn received(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("path", &self.path)
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}
