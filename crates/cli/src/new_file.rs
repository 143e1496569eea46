//! Writes a file that must not exist yet.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::error::CliError;

/// Writes a new file; `force` replaces one that exists.
pub(crate) fn write(path: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    options.write(true);
    match force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let path = path.display();
        CliError::new(match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("`{path}` exists; replace it with --force, or choose another --output")
            }
            _ => format!("failed to write `{path}`: {error}"),
        })
    })
}
