//! Walks directories.

use std::path::{Path, PathBuf};

/// Every file below a directory, sorted by path.
///
/// ```
/// let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
/// let files = majordomo_testkit::files(&folder);
/// assert!(files.iter().any(|file| file.ends_with("files.rs")) && files.is_sorted());
/// ```
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry of the folder").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
