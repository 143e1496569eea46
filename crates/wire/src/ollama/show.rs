//! One model in detail (`/api/show`), and the server's version.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, Error, ErrorKind, ModelInfo, Result};

use super::Thinking;
use super::models::{Known, write_abilities, write_details};
use crate::ReadError;
use crate::json::{self, Cursor, JsonKind, ReadResult, object};
use crate::rfc3339;

/// What a server says about one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What it can take; its window is the longest that it was made for.
    pub capabilities: Capabilities,
    /// How it can be told to think.
    pub thinking: Thinking,
}

/// Reads the answer of `/api/show`.
pub fn read_show(body: &[u8]) -> Result<Shown> {
    let mut known = Known::default();
    let mut levels = None;
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("capabilities", JsonKind::Array) => known.abilities(cursor),
            ("model_info", JsonKind::Object) => {
                known.window = window(cursor)?;
                Ok(())
            }
            ("thinking", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "values" && cursor.peek()? == JsonKind::Array {
                    levels = Some(thinking_levels(cursor)?);
                }
                Ok(())
            }),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    let thinking = match (known.can("thinking"), levels) {
        (Some(false), _) => Thinking::Never,
        (_, Some(levels)) => levels,
        (_, None) => Thinking::default(),
    };
    Ok(Shown {
        capabilities: known.into_capabilities().unwrap_or_default(),
        thinking,
    })
}

/// `<architecture>.context_length`; a model of several parts has several.
fn window(cursor: &mut Cursor<'_>) -> ReadResult<Option<u64>> {
    let mut architecture = String::new();
    let mut windows: Vec<(String, u64)> = Vec::new();
    cursor.loose_object(|key, cursor| {
        if key == "general.architecture" {
            architecture = cursor.maybe_string()?.unwrap_or_default().into_owned();
        } else if let Some(part) = key.strip_suffix(".context_length") {
            let part = part.to_owned();
            windows.extend(cursor.count()?.map(|count| (part, count)));
        }
        Ok(())
    })?;
    let own = windows.iter().find(|(part, _)| *part == architecture);
    Ok(own.or(windows.first()).map(|(_, count)| *count))
}

fn thinking_levels(cursor: &mut Cursor<'_>) -> ReadResult<Thinking> {
    let mut levels = Thinking::Switch;
    cursor.array(|cursor| {
        match cursor.raw()? {
            "\"max\"" => levels = Thinking::ToMax,
            text if text.starts_with('"') && levels == Thinking::Switch => {
                levels = Thinking::ToHigh;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(levels)
}

/// Reads which model a client asks `/api/show` about.
pub fn read_show_request(body: &[u8]) -> Result<String, ReadError> {
    let (mut model, mut name) = (None, None);
    json::read(body, |cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "model" => model = Some(cursor.string()?.into_owned()),
                // What it was called in early versions.
                "name" => name = Some(cursor.string()?.into_owned()),
                _ => {}
            }
            Ok(())
        })
    })?;
    model
        .or(name)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| ReadError::new("model", "name the model to show"))
}

/// Writes the answer of `/api/show` for a model made at `created` (Unix seconds).
pub fn write_show(model: &ModelInfo, created: u64) -> Bytes {
    const ARCHITECTURE: &str = "majordomo";
    let known = model.capabilities.as_ref();
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        for name in ["license", "modelfile", "parameters", "template"] {
            o.string(name, "");
        }
        o.object("details", |o| write_details(model, o));
        o.object("model_info", |o| {
            o.string("general.architecture", ARCHITECTURE);
            o.string("general.basename", &model.id);
            if let Some(window) = known.and_then(|known| known.context_window) {
                o.number(&format!("{ARCHITECTURE}.context_length"), window);
            }
        });
        o.array("capabilities", |a| write_abilities(model, a));
        o.string("modified_at", &rfc3339::from_unix(created));
    });
    body.freeze()
}

/// Reads the answer of `/api/version`.
pub fn read_version(body: &[u8]) -> Result<String> {
    let mut version = None;
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| {
            if key == "version" {
                version = cursor.maybe_string()?.map(|text| text.into_owned());
            }
            Ok(())
        })
    })
    .map_err(ReadError::in_response)?;
    version.ok_or_else(|| {
        Error::new(
            ErrorKind::BadResponse,
            "the server did not tell its version",
        )
    })
}

/// Writes the answer of `/api/version`. Clients compare it with the version
/// that brought what they need, so it is one of Ollama's, not ours.
pub fn write_version(version: &str) -> Bytes {
    let mut body = BytesMut::new();
    object(&mut body, |o| o.string("version", version));
    body.freeze()
}
