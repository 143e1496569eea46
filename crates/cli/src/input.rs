//! Reads and validates files and stdin.

use std::io::{self, BufRead, Read};
use std::path::Path;

use bytes::Bytes;
use majordomo::agent::TypedOutput;
use majordomo::media::sniff;
use majordomo::{Image, Json};
use serde_json::Value;

use crate::error::CliError;

/// The bytes of a file.
pub(crate) fn file(path: &Path) -> Result<Bytes, CliError> {
    let read = std::fs::read(path).map(Bytes::from);
    read.map_err(|error| CliError::new(format!("failed to read `{}`: {error}", path.display())))
}

/// An image, whose type is sniffed.
pub(crate) fn image(path: &Path) -> Result<Image, CliError> {
    let data = file(path)?;
    let Some(format) = sniff(&data) else {
        let path = path.display();
        return Err(CliError::new(format!(
            "`{path}` is not a supported image; use JPEG, PNG, GIF or WebP"
        )));
    };
    Ok(Image::new(format.media_type(), data))
}

/// A JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<TypedOutput<Value>, CliError> {
    let invalid = |why: String| CliError::new(format!("`{}`: {why}", path.display()));
    let text = String::from_utf8(file(path)?.into())
        .map_err(|_| invalid("not UTF-8 text; expected a JSON Schema".into()))?;
    let json = Json::parse(text).map_err(|error| invalid(format!("not JSON: {error}")))?;
    TypedOutput::from_schema(json).map_err(|error| invalid(error.to_string()))
}

/// All of stdin.
pub(crate) fn all_of_stdin() -> Result<String, CliError> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(unreadable)?;
    Ok(text)
}

/// The next non-blank line of stdin, or `None` at its end. Blocks no runtime thread, so open
/// connections stay alive.
pub(crate) async fn line_of_stdin() -> Result<Option<String>, CliError> {
    let reading = tokio::task::spawn_blocking(|| -> io::Result<Option<String>> {
        let mut text = String::new();
        while io::stdin().lock().read_line(&mut text)? > 0 {
            if !text.trim().is_empty() {
                return Ok(Some(text.trim_end().to_owned()));
            }
            text.clear();
        }
        Ok(None)
    });
    let read = reading
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    read.map_err(unreadable)
}

fn unreadable(error: io::Error) -> CliError {
    CliError::new(format!("failed to read stdin: {error}"))
}
