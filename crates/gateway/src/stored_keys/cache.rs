//! The last known keys and teams on disk, for startup without the store. Hashes only.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use majordomo_ledger::StoredAccess;

/// Largest file that is read.
const LARGEST: u64 = 64 << 20;

/// A file with the last known set; `None` on a machine without a folder for state.
#[derive(Clone, Debug)]
pub(super) struct AccessCache(Option<PathBuf>);

/// The contents of the file.
pub(super) enum CachedAccess {
    /// This machine knows of no key that was ever stored.
    Absent,
    /// The last known set.
    Known(StoredAccess),
    /// Keys exist, but cannot be read.
    Unreadable(String),
}

impl AccessCache {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self(path)
    }

    pub(super) fn read(&self) -> CachedAccess {
        let Some(path) = &self.0 else {
            return CachedAccess::Absent;
        };
        let text = fs::metadata(path).and_then(|about| match about.len() > LARGEST {
            true => Err(io::Error::other("it is too large")),
            false => fs::read(path),
        });
        match text {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(stored) => CachedAccess::Known(stored),
                Err(error) => CachedAccess::Unreadable(error.to_string()),
            },
            Err(error) if is_absent(&error) => CachedAccess::Absent,
            Err(error) => CachedAccess::Unreadable(error.to_string()),
        }
    }

    /// Replaces the file, whole or not at all.
    pub(super) fn write(&self, stored: &StoredAccess) -> io::Result<()> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        let text = serde_json::to_vec(stored)?;
        if let Some(folder) = path.parent() {
            make_private(folder)?;
        }
        let new = path.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, path)
    }
}

/// Creates a folder that only its owner may read. With a database, it may not exist yet.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whether an error means that a file, or its folder, does not exist.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
