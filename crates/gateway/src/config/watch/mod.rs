//! Reads the file anew when it changes, and on SIGHUP.

mod files;
mod hangup;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use files::Files;
use hangup::Hangup;

use super::{Config, Problems};

/// A configuration file that is read anew when it changes, and on SIGHUP.
pub struct Watch {
    path: PathBuf,
    environment: BTreeMap<String, String>,
    files: Files,
    hangup: Hangup,
}

impl Watch {
    /// Reads the file, and watches it from before that on: no change is missed.
    /// Must be called inside a tokio runtime.
    pub fn open(
        path: &Path,
        environment: BTreeMap<String, String>,
    ) -> (Result<Config, Problems>, Self) {
        let mut watch = Self {
            files: Files::new(vec![path.to_owned()]),
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

    /// Waits until the text is another one, or somebody sent SIGHUP, and reads
    /// it. A caller who gets problems keeps what it has. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Result<Config, Problems> {
        tokio::select! {
            () = self.hangup.received() => {}
            () = self.files.changed() => {}
        }
        self.read()
    }

    fn read(&mut self) -> Result<Config, Problems> {
        self.files.note();
        Config::load(&self.path, &self.environment)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
