//! Model lists.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ModelInfo, Result};

use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// Reads `{"data": [...]}` or a bare list, with what servers add to it.
pub(crate) fn read(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| match cursor.peek()? {
        JsonKind::Array => cursor.array(|cursor| model(cursor, &mut models)),
        _ => cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("data", JsonKind::Array) => cursor.array(|cursor| model(cursor, &mut models)),
            _ => Ok(()),
        }),
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let mut id = None;
    let mut known = Known::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("id", _) => id = cursor.maybe_string()?,
            ("context_length" | "max_context_length" | "max_model_len", _) => {
                known.window = cursor.count()?;
            }
            ("top_provider", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "max_completion_tokens" {
                    known.output = cursor.count()?;
                }
                Ok(())
            })?,
            ("architecture", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("input_modalities", JsonKind::Array) => known.modalities(cursor),
                    _ => Ok(()),
                })?
            }
            ("input_modalities", JsonKind::Array) => known.modalities(cursor)?,
            ("capabilities", JsonKind::Object) => known.capabilities(cursor)?,
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

/// What a list says about a model.
#[derive(Default)]
struct Known {
    window: Option<u64>,
    output: Option<u64>,
    images: Option<bool>,
    tools: Option<bool>,
}

impl Known {
    fn modalities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        self.images = Some(false);
        cursor.array(|cursor| {
            if cursor.maybe_string()?.as_deref() == Some("image") {
                self.images = Some(true);
            }
            Ok(())
        })
    }

    fn capabilities(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
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
            window: context_window,
            output: max_output,
            images,
            tools,
        } = self;
        let nothing = context_window.is_none() && images.is_none() && tools.is_none();
        if nothing && max_output.is_none() {
            return None;
        }
        let unknown = Capabilities::default();
        Some(Capabilities {
            images: unknown.images.clone().filter(|_| images != Some(false)),
            tools: tools.unwrap_or(unknown.tools),
            context_window,
            max_output,
            ..unknown
        })
    }
}

/// Writes OpenAI's list.
pub(crate) fn write(models: &[ModelInfo], created: u64) -> Bytes {
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
