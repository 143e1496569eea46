//! Reads and writes model lists (`/v1beta/models`).

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Capabilities, ModelInfo, Result};

use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// Reads `{"models": [...]}`; Vertex AI calls them `publisherModels`.
pub(super) fn read_models(body: &[u8]) -> Result<Vec<ModelInfo>> {
    let mut models = Vec::new();
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("models" | "publisherModels", JsonKind::Array) => {
                cursor.array(|cursor| read_model(cursor, &mut models))
            }
            _ => Ok(()),
        })
    })
    .map_err(ReadError::in_response)?;
    Ok(models)
}

fn read_model(cursor: &mut Cursor<'_>, models: &mut Vec<ModelInfo>) -> ReadResult<()> {
    let mut name = None;
    let (mut context_window, mut max_output) = (None, None);
    cursor.loose_object(|key, cursor| {
        match &**key {
            "name" => name = cursor.maybe_string()?,
            "inputTokenLimit" => context_window = cursor.count()?,
            "outputTokenLimit" => max_output = cursor.count()?,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(name) = name {
        models.push(ModelInfo {
            id: model_id(&name).to_owned(),
            capabilities: (context_window.is_some() || max_output.is_some()).then(|| {
                Capabilities::default()
                    .with_context_window(context_window)
                    .with_max_output(max_output)
            }),
        });
    }
    Ok(())
}

/// Strips `models/` or `publishers/google/models/` from a resource name. A tuned
/// model keeps its full name, which the URL requires.
pub(super) fn model_id(name: &str) -> &str {
    match name.rsplit_once("models/") {
        Some((before, id)) if before.is_empty() || before.ends_with('/') => id,
        _ => name,
    }
}

/// Writes a page of a list as the Gemini API does; the token of the next page is the last id.
pub(super) fn write_models(models: &[ModelInfo], more: bool) -> Bytes {
    let mut body = BytesMut::new();
    object(&mut body, |o| {
        o.array("models", |a| {
            for model in models {
                a.object(|o| {
                    o.string("name", &format!("models/{}", model.id));
                    o.string("displayName", &model.id);
                    let capabilities = model.capabilities.as_ref();
                    if let Some(tokens) = capabilities.and_then(|c| c.context_window) {
                        o.number("inputTokenLimit", tokens);
                    }
                    if let Some(tokens) = capabilities.and_then(|c| c.max_output) {
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
        if let Some(last) = models.last().filter(|_| more) {
            o.string("nextPageToken", &last.id);
        }
    });
    body.freeze()
}
