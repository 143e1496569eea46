//! Detects which processes are alive: each holds a lock on its own file.
//!
//! The system releases the lock when the process dies, for whatever reason. So a file that can
//! be locked belongs to an ended run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The folder of the lock files.
const RUNS: &str = "runs";

/// The lock of this run. Dropping it ends the run.
pub(super) struct RunLock {
    name: String,
    path: PathBuf,
    _file: File,
}

impl RunLock {
    pub(super) fn new(folder: &Path) -> Result<Self, StoreError> {
        let runs = folder.join(RUNS);
        super::make_private(&runs)?;
        // Random, because the process in a container always has the same number.
        let name = format!("{:016x}", fastrand::u64(..));
        let path = runs.join(&name);
        let unlocked = runs.join(format!("{name}.new"));
        let io = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        let file = File::create(&unlocked).map_err(io)?;
        file.lock().map_err(io)?;
        // The name appears locked, so no process takes it for a dead run's.
        std::fs::rename(&unlocked, &path).map_err(io)?;
        Ok(Self {
            name,
            path,
            _file: file,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the run of this name has ended. Removes its file.
    pub(super) fn is_over(&self, name: &str) -> bool {
        if name == self.name {
            return false;
        }
        let path = self.path.with_file_name(name);
        let Ok(file) = File::open(&path) else {
            return true;
        };
        match file.try_lock() {
            Ok(()) => {
                let _ = std::fs::remove_file(&path);
                true
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        }
    }
}

/// Names of runs that left a file.
pub(super) fn all(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join(RUNS)).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| !name.ends_with(".new")).collect()
}

impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
