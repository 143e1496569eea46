//! Files and stdin, read once and checked at the edge.

use std::io::{self, BufRead, Read};
use std::path::Path;

use bytes::Bytes;
use majordomo::agent::TypedOutput;
use majordomo::media::sniff;
use majordomo::{Image, Json};
use serde_json::Value;

use crate::failure::Failure;

/// A file's bytes.
pub(crate) fn file(path: &Path) -> Result<Bytes, Failure> {
    let read = std::fs::read(path).map(Bytes::from);
    read.map_err(|error| Failure::new(format!("`{}` cannot be read: {error}", path.display())))
}

/// An image; its bytes say of which type.
pub(crate) fn image(path: &Path) -> Result<Image, Failure> {
    let data = file(path)?;
    let Some(format) = sniff(&data) else {
        let path = path.display();
        return Err(Failure::new(format!(
            "`{path}` is no image that is known here; attach a JPEG, PNG, GIF or WebP"
        )));
    };
    Ok(Image::new(format.media_type(), data))
}

/// A JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<TypedOutput<Value>, Failure> {
    let told = |why: String| Failure::new(format!("`{}`: {why}", path.display()));
    let text = String::from_utf8(file(path)?.into())
        .map_err(|_| told("it is not UTF-8 text; a JSON Schema is needed".into()))?;
    let json = Json::parse(text).map_err(|error| told(format!("it is not JSON: {error}")))?;
    TypedOutput::from_schema(json).map_err(|error| told(error.to_string()))
}

/// All of stdin.
pub(crate) fn whole() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(unreadable)?;
    Ok(text)
}

/// The next line of stdin that says something; none at its end. The runtime goes
/// on meanwhile, so that open connections are looked after.
pub(crate) async fn line() -> Result<Option<String>, Failure> {
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

fn unreadable(error: io::Error) -> Failure {
    Failure::new(format!("stdin cannot be read: {error}"))
}
