//! Keys in a file that everybody on the machine can read.

use std::path::Path;

use super::Config;

/// Says so once if the file holds keys and its mode lets others read it. A file
/// that only names variables may be read by anybody.
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
            "this file holds keys, and every user of this machine can read it: take that right \
             away with `chmod o-r`, or put the keys into variables and name those: `${{NAME}}`"
        );
    }
}

/// Other systems have other rights, which are not looked at.
#[cfg(not(unix))]
pub(crate) fn warn_if_exposed(_path: &Path, _config: &Config) {}
