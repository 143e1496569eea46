//! Reloads the configuration when its file changes, and on SIGHUP.
//!
//! May use [`Config::load`] and `read_bytes`.

mod files;
mod hangup;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use files::WatchedFiles;
use hangup::Hangup;

use super::{Config, Diagnostics};

/// A configuration file that is reloaded when it changes, and on SIGHUP.
pub struct ConfigWatch {
    path: PathBuf,
    environment: BTreeMap<String, String>,
    files: WatchedFiles,
    hangup: Hangup,
}

impl ConfigWatch {
    /// Starts watching the file, then reads it, so that no change is missed. Must be
    /// called within a tokio runtime.
    pub fn open(
        path: &Path,
        environment: BTreeMap<String, String>,
    ) -> (Result<Config, Diagnostics>, Self) {
        let mut watch = Self {
            files: WatchedFiles::new(vec![path.to_owned()]),
            path: path.to_owned(),
            environment,
            hangup: Hangup::new(),
        };
        let config = watch.read();
        (config, watch)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for a change or for SIGHUP, then reads the file. On diagnostics the caller
    /// keeps its configuration. Cancel-safe.
    pub async fn next(&mut self) -> Result<Config, Diagnostics> {
        tokio::select! {
            () = self.hangup.received() => {}
            () = self.files.changed() => {}
        }
        self.read()
    }

    fn read(&mut self) -> Result<Config, Diagnostics> {
        self.files.snapshot();
        Config::load(&self.path, &self.environment)
    }
}

impl std::fmt::Debug for ConfigWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigWatch")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
