//! Model lists.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ModelInfo, Result};

use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// Reads `{"models": [...]}`; Vertex AI calls them `publisherModels`.
pub(super) fn read(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("models" | "publisherModels", JsonKind::Array) => {
                cursor.array(|cursor| model(cursor, &mut models))
            }
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let mut name = None;
    let (mut input, mut output) = (None, None);
    cursor.loose_object(|key, cursor| {
        match &**key {
            "name" => name = cursor.maybe_string()?,
            "inputTokenLimit" => input = cursor.count()?,
            "outputTokenLimit" => output = cursor.count()?,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(name) = name {
        models.push(ModelInfo {
            id: id_of(&name).to_owned(),
            capabilities: (input.is_some() || output.is_some()).then(|| Capabilities {
                context_window: input,
                max_output: output,
                ..Capabilities::default()
            }),
        });
    }
    Ok(())
}

/// The id behind `models/` or `publishers/google/models/`; tuned models keep
/// their whole name, since that is what the URL wants.
pub(super) fn id_of(name: &str) -> &str {
    match name.rsplit_once("models/") {
        Some((before, id)) if before.is_empty() || before.ends_with('/') => id,
        _ => name,
    }
}

/// Writes Google's list.
pub(super) fn write(models: &[ModelInfo]) -> Bytes {
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.array("models", |a| {
            for model in models {
                a.object(|o| {
                    o.string("name", &format!("models/{}", model.id));
                    o.string("displayName", &model.id);
                    let known = model.capabilities.as_ref();
                    if let Some(tokens) = known.and_then(|c| c.context_window) {
                        o.number("inputTokenLimit", tokens);
                    }
                    if let Some(tokens) = known.and_then(|c| c.max_output) {
                        o.number("outputTokenLimit", tokens);
                    }
                    o.array("supportedGenerationMethods", |a| {
                        a.string("generateContent");
                        a.string("streamGenerateContent");
                        a.string("countTokens");
                    });
                });
            }
        });
    });
    body.freeze()
}
