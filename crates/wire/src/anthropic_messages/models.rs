//! Model lists.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ImageLimits, ModelInfo, Result};

use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};
use crate::rfc3339;

/// Reads `{"data": [...]}` with each model's limits and capabilities.
pub(super) fn read_models(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("data", JsonKind::Array) => cursor.array(|cursor| read_model(cursor, &mut models)),
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn read_model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let mut id = None;
    let mut known = MessagesModelEntry::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("id", _) => id = cursor.maybe_string()?,
            ("max_input_tokens", _) => known.window = cursor.count()?,
            ("max_tokens", _) => known.output = cursor.count()?,
            ("capabilities", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("image_input", JsonKind::Object) => read_supported(cursor, &mut known.images),
                    ("structured_outputs", JsonKind::Object) => {
                        read_supported(cursor, &mut known.structured)
                    }
                    _ => Ok(()),
                })?
            }
            _ => {}
        }
        Ok(())
    })?;
    if let Some(id) = id {
        models.push(ModelInfo {
            id: id.into_owned(),
            capabilities: known.into_capabilities(),
        });
    }
    Ok(())
}

/// Reads `{"supported": true}`.
fn read_supported(cursor: &mut Cursor<'_>, known: &mut Option<bool>) -> ReadResult<()> {
    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
        ("supported", JsonKind::Bool) => {
            *known = Some(cursor.bool()?);
            Ok(())
        }
        _ => Ok(()),
    })
}

/// A model as the list reports it.
#[derive(Default, PartialEq)]
struct MessagesModelEntry {
    window: Option<u64>,
    output: Option<u64>,
    images: Option<bool>,
    structured: Option<bool>,
}

impl MessagesModelEntry {
    fn into_capabilities(self) -> Option<Capabilities> {
        if self == Self::default() {
            return None;
        }
        Some(
            Capabilities::default()
                .with_images((self.images != Some(false)).then(ImageLimits::default))
                .with_structured(self.structured.unwrap_or(true))
                .with_context_window(self.window)
                .with_max_output(self.output),
        )
    }
}

/// Writes a page of Anthropic's list, without `capabilities`: clients
/// assume they are complete, and most are unknown.
pub(super) fn write_models(models: &[ModelInfo], more: bool, created: u64) -> Bytes {
    let created = rfc3339::from_unix(created);
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.array("data", |a| {
            for model in models {
                a.object(|o| {
                    o.string("type", "model");
                    o.string("id", &model.id);
                    o.string("display_name", &model.id);
                    o.string("created_at", &created);
                    o.string("lifecycle", "active");
                    let known = model.capabilities.as_ref();
                    for (key, limit) in [
                        ("max_input_tokens", known.and_then(|c| c.context_window)),
                        ("max_tokens", known.and_then(|c| c.max_output)),
                    ] {
                        if let Some(limit) = limit {
                            o.number(key, limit);
                        }
                    }
                });
            }
        });
        for (key, model) in [("first_id", models.first()), ("last_id", models.last())] {
            match model {
                Some(model) => o.string(key, &model.id),
                None => o.raw(key, "null"),
            }
        }
        o.bool("has_more", more);
    });
    body.freeze()
}
