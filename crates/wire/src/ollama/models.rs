//! Model lists: `/api/tags`.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ModelInfo, Result};

use crate::json::{self, Array, Cursor, JsonKind, Object, ReadError, ReadResult, object};
use crate::rfc3339;

/// Reads the list of models that a server has.
pub(super) fn read(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("models", JsonKind::Array) => cursor.array(|cursor| model(cursor, &mut models)),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let (mut id, mut name) = (None, None);
    let mut known = Known::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("model", _) => id = cursor.maybe_string()?,
            ("name", _) => name = cursor.maybe_string()?,
            ("details", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "context_length" {
                    known.window = cursor.count()?;
                }
                Ok(())
            })?,
            ("capabilities", JsonKind::Array) => known.abilities(cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(id) = id.or(name) {
        models.push(ModelInfo {
            id: id.into_owned(),
            capabilities: known.into_capabilities(),
        });
    }
    Ok(())
}

/// What a server says about a model.
#[derive(Default)]
pub(super) struct Known {
    pub(super) window: Option<u64>,
    /// The names of its abilities, where it lists them.
    names: Option<Vec<String>>,
}

impl Known {
    /// Reads `capabilities`.
    pub(super) fn abilities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let names = self.names.get_or_insert_default();
        cursor.array(|cursor| {
            names.extend(cursor.maybe_string()?.map(|name| name.into_owned()));
            Ok(())
        })
    }

    /// Whether it has an ability; unknown where the server lists none.
    pub(super) fn can(&self, ability: &str) -> Option<bool> {
        let names = self.names.as_ref()?;
        Some(names.iter().any(|name| name == ability))
    }

    pub(super) fn into_capabilities(self) -> Option<Capabilities> {
        if self.window.is_none() && self.names.is_none() {
            return None;
        }
        let unknown = Capabilities::default();
        let sees = self.can("vision") != Some(false);
        Some(Capabilities {
            images: unknown.images.clone().filter(|_| sees),
            tools: self.can("tools").unwrap_or(unknown.tools),
            context_window: self.window,
            ..unknown
        })
    }
}

/// Writes the list; sizes and digests are those of files that do not exist here.
pub(super) fn write(models: &[ModelInfo], created: u64) -> Bytes {
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
                    o.string("digest", "");
                    o.object("details", |o| write_details(model, o));
                    o.array("capabilities", |a| write_abilities(model, a));
                });
            }
        });
    });
    body.freeze()
}

/// The fields of `details`.
pub(super) fn write_details(model: &ModelInfo, object: &mut Object<'_>) {
    for name in ["parent_model", "format", "family"] {
        object.string(name, "");
    }
    object.array("families", |_| {});
    object.string("parameter_size", "");
    object.string("quantization_level", "");
    let known = model.capabilities.as_ref();
    if let Some(window) = known.and_then(|known| known.context_window) {
        object.number("context_length", window);
    }
}

/// The names of what a model can do; of an unknown one, what it may be able to.
pub(super) fn write_abilities(model: &ModelInfo, array: &mut Array<'_>) {
    let unknown = Capabilities::default();
    let known = model.capabilities.as_ref().unwrap_or(&unknown);
    array.string("completion");
    if known.tools {
        array.string("tools");
    }
    if known.takes_images() {
        array.string("vision");
    }
}
