//! Warns about secrets in a world-readable file.

use std::path::Path;

use super::Config;

/// Logs a warning if the file contains keys and its mode lets other users read it. A file
/// that only references variables may be readable by all.
#[cfg(unix)]
pub(crate) fn warn_if_exposed(path: &Path, config: &Config) {
    use std::os::unix::fs::PermissionsExt;

    const OTHERS_READ: u32 = 0o004;
    let Ok(about) = std::fs::metadata(path) else {
        return;
    };
    if config.source.holds_secrets() && about.permissions().mode() & OTHERS_READ != 0 {
        tracing::warn!(
            file = %path.display(),
            "this file contains keys and is readable by every user of this machine: run `chmod \
             o-r` on it, or move the keys to variables and reference them as `${{NAME}}`"
        );
    }
}

/// Permissions of other systems are not checked.
#[cfg(not(unix))]
pub(crate) fn warn_if_exposed(_path: &Path, _config: &Config) {}
