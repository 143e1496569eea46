//! Reads and writes `/api/show` and `/api/version`.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, Error, ErrorKind, ModelInfo, Result};

use super::ThinkSupport;
use super::models::{OllamaModelEntry, write_capabilities, write_details};
use crate::ReadError;
use crate::json::{self, Cursor, JsonKind, ReadResult, object};
use crate::rfc3339;

/// The response of `/api/show`.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowResponse {
    /// The model's capabilities; the context window is the one it was trained with.
    pub capabilities: Capabilities,
    /// The values of `think` the model supports.
    pub thinking: ThinkSupport,
}

/// Reads the response of `/api/show`.
pub fn read_show(body: &[u8]) -> Result<ShowResponse> {
    let mut entry = OllamaModelEntry::default();
    let mut think_values = None;
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("capabilities", JsonKind::Array) => entry.read_capabilities(cursor),
            ("model_info", JsonKind::Object) => {
                entry.context_window = read_context_length(cursor)?;
                Ok(())
            }
            ("thinking", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "values" && cursor.peek()? == JsonKind::Array {
                    think_values = Some(read_think_values(cursor)?);
                }
                Ok(())
            }),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    let thinking = match (entry.has("thinking"), think_values) {
        (Some(false), _) => ThinkSupport::Unsupported,
        (_, Some(values)) => values,
        (_, None) => ThinkSupport::default(),
    };
    Ok(ShowResponse {
        capabilities: entry.into_capabilities().unwrap_or_default(),
        thinking,
    })
}

/// Reads `<architecture>.context_length`; multimodal models have several.
fn read_context_length(cursor: &mut Cursor<'_>) -> ReadResult<Option<u64>> {
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

fn read_think_values(cursor: &mut Cursor<'_>) -> ReadResult<ThinkSupport> {
    let mut support = ThinkSupport::OnOff;
    cursor.array(|cursor| {
        match cursor.raw()? {
            "\"max\"" => support = ThinkSupport::UpToMax,
            text if text.starts_with('"') && support == ThinkSupport::OnOff => {
                support = ThinkSupport::UpToHigh;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(support)
}

/// Reads the model name of a `/api/show` request.
pub fn read_show_request(body: &[u8]) -> Result<String, ReadError> {
    let (mut model, mut name) = (None, None);
    json::read(body, |cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "model" => model = Some(cursor.string()?.into_owned()),
                // The key in early versions.
                "name" => name = Some(cursor.string()?.into_owned()),
                _ => {}
            }
            Ok(())
        })
    })?;
    // Ollama's own client sends both, one of them empty.
    let named = |name: Option<String>| name.filter(|name| !name.is_empty());
    named(model)
        .or(named(name))
        .ok_or_else(|| ReadError::new("model", "name the model to show"))
}

/// Writes the response of `/api/show`; `created` is in Unix seconds.
pub fn write_show(model: &ModelInfo, created: u64) -> Bytes {
    const ARCHITECTURE: &str = "majordomo";
    let capabilities = model.capabilities.as_ref();
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        for name in ["license", "modelfile", "parameters", "template"] {
            o.string(name, "");
        }
        o.object("details", |o| write_details(model, o));
        o.object("model_info", |o| {
            o.string("general.architecture", ARCHITECTURE);
            o.string("general.basename", &model.id);
            if let Some(window) = capabilities.and_then(|c| c.context_window) {
                o.number(&format!("{ARCHITECTURE}.context_length"), window);
            }
        });
        o.array("capabilities", |a| write_capabilities(model, a));
        o.string("modified_at", &rfc3339::from_unix(created));
    });
    body.freeze()
}

/// Reads the response of `/api/version`.
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
            "the server's response has no version",
        )
    })
}

/// Writes the response of `/api/version`. Clients use it to detect features, so it
/// is an Ollama version, not that of this crate.
pub fn write_version(version: &str) -> Bytes {
    let mut body = BytesMut::new();
    object(&mut body, |o| o.string("version", version));
    body.freeze()
}
