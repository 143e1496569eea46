//! Reads and writes model lists (`/v1/models`).

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ImageLimits, ModelInfo, Result};

use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// Reads `{"data": [...]}` or a bare list, including the capability fields that
/// compatible servers add.
pub(crate) fn read_models(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| match cursor.peek()? {
        JsonKind::Array => cursor.array(|cursor| read_model(cursor, &mut models)),
        _ => cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("data", JsonKind::Array) => cursor.array(|cursor| read_model(cursor, &mut models)),
            _ => Ok(()),
        }),
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn read_model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let mut id = None;
    let mut entry = ChatModelEntry::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("id", _) => id = cursor.maybe_string()?,
            ("context_length" | "max_context_length" | "max_model_len", _) => {
                entry.context_window = cursor.count()?;
            }
            ("top_provider", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "max_completion_tokens" {
                    entry.max_output = cursor.count()?;
                }
                Ok(())
            })?,
            ("architecture", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("input_modalities", JsonKind::Array) => entry.read_modalities(cursor),
                    _ => Ok(()),
                })?
            }
            ("input_modalities", JsonKind::Array) => entry.read_modalities(cursor)?,
            ("capabilities", JsonKind::Object) => entry.read_capabilities(cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(id) = id {
        models.push(ModelInfo {
            id: id.into_owned(),
            capabilities: entry.into_capabilities(),
        });
    }
    Ok(())
}

/// The capability fields of one list entry.
#[derive(Default)]
struct ChatModelEntry {
    context_window: Option<u64>,
    max_output: Option<u64>,
    images: Option<bool>,
    tools: Option<bool>,
}

impl ChatModelEntry {
    fn read_modalities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        self.images = Some(false);
        cursor.array(|cursor| {
            if cursor.maybe_string()?.as_deref() == Some("image") {
                self.images = Some(true);
            }
            Ok(())
        })
    }

    fn read_capabilities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("vision", JsonKind::Bool) => self.images = Some(cursor.bool()?),
                ("function_calling", JsonKind::Bool) => self.tools = Some(cursor.bool()?),
                _ => {}
            }
            Ok(())
        })
    }

    fn into_capabilities(self) -> Option<Capabilities> {
        let Self {
            context_window,
            max_output,
            images,
            tools,
        } = self;
        let empty = context_window.is_none() && images.is_none() && tools.is_none();
        if empty && max_output.is_none() {
            return None;
        }
        Some(
            Capabilities::default()
                .with_images((images != Some(false)).then(ImageLimits::default))
                .with_tools(tools.unwrap_or(true))
                .with_context_window(context_window)
                .with_max_output(max_output),
        )
    }
}

/// Writes a list as OpenAI does.
pub(crate) fn write_models(models: &[ModelInfo], created: u64) -> Bytes {
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.string("object", "list");
        o.array("data", |a| {
            for model in models {
                a.object(|o| {
                    o.string("id", &model.id);
                    o.string("object", "model");
                    o.number("created", created);
                    o.string("owned_by", "majordomo");
                });
            }
        });
    });
    body.freeze()
}
