//! Reads and writes model lists (`/api/tags`).

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ImageLimits, ModelInfo, Result};

use super::digest;
use crate::json::{self, Array, Cursor, JsonKind, Object, ReadError, ReadResult, object};
use crate::rfc3339;

/// Reads a model list, including the capability fields of newer servers.
pub(super) fn read_models(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("models", JsonKind::Array) => cursor.array(|cursor| read_model(cursor, &mut models)),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn read_model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let (mut id, mut name) = (None, None);
    let mut entry = OllamaModelEntry::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("model", _) => id = cursor.maybe_string()?,
            ("name", _) => name = cursor.maybe_string()?,
            ("details", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "context_length" {
                    entry.context_window = cursor.count()?;
                }
                Ok(())
            })?,
            ("capabilities", JsonKind::Array) => entry.read_capabilities(cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(id) = id.or(name) {
        models.push(ModelInfo {
            id: id.into_owned(),
            capabilities: entry.into_capabilities(),
        });
    }
    Ok(())
}

/// The capability fields of one model.
#[derive(Default)]
pub(super) struct OllamaModelEntry {
    pub(super) context_window: Option<u64>,
    /// The elements of `capabilities`, if listed.
    capabilities: Option<Vec<String>>,
}

impl OllamaModelEntry {
    /// Reads `capabilities`.
    pub(super) fn read_capabilities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let names = self.capabilities.get_or_insert_default();
        cursor.array(|cursor| {
            names.extend(cursor.maybe_string()?.map(|name| name.into_owned()));
            Ok(())
        })
    }

    /// Whether the model has a capability; none if the server lists none.
    pub(super) fn has(&self, capability: &str) -> Option<bool> {
        let names = self.capabilities.as_ref()?;
        Some(names.iter().any(|name| name == capability))
    }

    pub(super) fn into_capabilities(self) -> Option<Capabilities> {
        if self.context_window.is_none() && self.capabilities.is_none() {
            return None;
        }
        let takes_images = self.has("vision") != Some(false);
        Some(
            Capabilities::default()
                .with_images(takes_images.then(ImageLimits::default))
                .with_tools(self.has("tools").unwrap_or(true))
                .with_context_window(self.context_window),
        )
    }
}

/// Writes a model list; `size` is zero and `digest` that of the name, since there are no
/// files.
pub(super) fn write_models(models: &[ModelInfo], created: u64) -> Bytes {
    let modified = rfc3339::from_unix(created);
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.array("models", |a| {
            for model in models {
                a.object(|o| {
                    o.string("name", &model.id);
                    o.string("model", &model.id);
                    o.string("modified_at", &modified);
                    o.number("size", 0);
                    o.string("digest", &digest::of_name(&model.id));
                    o.object("details", |o| write_details(model, o));
                    o.array("capabilities", |a| write_capabilities(model, a));
                });
            }
        });
    });
    body.freeze()
}

/// Writes the fields of `details`.
pub(super) fn write_details(model: &ModelInfo, object: &mut Object<'_>) {
    for name in ["parent_model", "format", "family"] {
        object.string(name, "");
    }
    object.array("families", |_| {});
    object.string("parameter_size", "");
    object.string("quantization_level", "");
    let capabilities = model.capabilities.as_ref();
    if let Some(window) = capabilities.and_then(|c| c.context_window) {
        object.number("context_length", window);
    }
}

/// Writes the elements of `capabilities`, assuming the defaults for an unknown
/// model.
pub(super) fn write_capabilities(model: &ModelInfo, array: &mut Array<'_>) {
    let default = Capabilities::default();
    let capabilities = model.capabilities.as_ref().unwrap_or(&default);
    array.string("completion");
    if capabilities.tools {
        array.string("tools");
    }
    if capabilities.takes_images() {
        array.string("vision");
    }
}
