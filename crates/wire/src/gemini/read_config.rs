//! Reads `generationConfig`.

use std::borrow::Cow;

use majordomo_llm::{Effort, OutputFormat, OutputSchema, Prompt};

use super::{keys, schema};
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Reads the settings into the prompt, and fields it does not model into `rest`.
pub(super) fn read_generation_config(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    let mut format = GeminiOutputFormat::default();
    keys::object(cursor, |key, cursor| {
        if cursor.peek()? == JsonKind::Null {
            return Ok(());
        }
        match key {
            "maxOutputTokens" => prompt.max_tokens = Some(cursor.unsigned()?),
            "temperature" => prompt.temperature = Some(cursor.float()?),
            "topP" => prompt.top_p = Some(cursor.float()?),
            "topK" => prompt.top_k = cursor.signed()?.try_into().ok(),
            "presencePenalty" => prompt.presence_penalty = Some(cursor.float()?),
            "frequencyPenalty" => prompt.frequency_penalty = Some(cursor.float()?),
            "seed" => prompt.seed = Some(cursor.signed()?),
            "stopSequences" => cursor.array(|cursor| {
                prompt.stop.push(cursor.string()?.into_owned());
                Ok(())
            })?,
            "responseMimeType" => {
                let (mime, raw) = cursor.with_raw(Cursor::maybe_string)?;
                let mime = mime.filter(|mime| !mime.is_empty());
                format.mime = mime.map(|mime| (mime, raw));
            }
            "responseJsonSchema" | "responseSchema" if format.schema.is_none() => {
                format.schema = Some(cursor.raw()?);
            }
            "thinkingConfig" => read_thinking_config(cursor, prompt, rest)?,
            // Defaults are not kept.
            "responseModalities" | "candidateCount" => {
                let raw = cursor.raw()?;
                let plain: String = raw.chars().filter(|c| !c.is_whitespace()).collect();
                if !matches!(plain.as_str(), "[\"TEXT\"]" | "1") {
                    rest.push(format!("generationConfig.{key}"), keep(raw));
                }
            }
            _ => rest.take(format!("generationConfig.{key}"), cursor)?,
        }
        Ok(())
    })?;
    prompt.output = format.into_output(rest);
    Ok(())
}

/// The output format, which two fields specify together.
#[derive(Default)]
struct GeminiOutputFormat<'a> {
    mime: Option<(Cow<'a, str>, &'a str)>,
    schema: Option<&'a str>,
}

impl GeminiOutputFormat<'_> {
    fn into_output(self, rest: &mut Rest) -> OutputFormat {
        let mime = self.mime.as_ref().map(|(mime, _)| &**mime);
        match (mime, self.schema) {
            (None | Some("application/json"), Some(raw)) => OutputFormat::Schema(OutputSchema {
                schema: schema::read_schema(raw),
                name: None,
                strict: None,
            }),
            (Some("application/json"), None) => OutputFormat::Json,
            (None | Some("" | "text/plain"), None) => OutputFormat::Text,
            // `text/x.enum` or a later type, which no other dialect can express.
            _ => {
                if let Some((_, raw)) = self.mime {
                    rest.push("generationConfig.responseMimeType", keep(raw));
                }
                if let Some(raw) = self.schema {
                    rest.push("generationConfig.responseSchema", keep(raw));
                }
                OutputFormat::Text
            }
        }
    }
}

fn read_thinking_config(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return rest.take("generationConfig.thinkingConfig", cursor);
    }
    keys::object(cursor, |key, cursor| {
        let kind = cursor.peek()?;
        let mut keep_raw = |raw| rest.push(format!("thinkingConfig.{key}"), keep(raw));
        match (key, kind) {
            ("thinkingLevel", JsonKind::String) => {
                let (name, raw) = cursor.with_raw(Cursor::string)?;
                match effort_of_level(&name) {
                    Some(effort) => prompt.effort = Some(effort),
                    None => keep_raw(raw),
                }
            }
            ("thinkingBudget", JsonKind::Number) => {
                let (tokens, raw) = cursor.with_raw(Cursor::signed)?;
                match u64::try_from(tokens) {
                    Ok(0) => prompt.effort = Some(Effort::None),
                    Ok(tokens) => prompt.reasoning_budget = Some(tokens),
                    // Negative means dynamic, which no other dialect can express.
                    Err(_) => keep_raw(raw),
                }
            }
            (_, JsonKind::Null) => {}
            _ => keep_raw(cursor.raw()?),
        }
        Ok(())
    })
}

fn effort_of_level(name: &str) -> Option<Effort> {
    Some(match name.to_ascii_uppercase().as_str() {
        "MINIMAL" => Effort::Minimal,
        "LOW" => Effort::Low,
        "MEDIUM" => Effort::Medium,
        "HIGH" => Effort::High,
        _ => return None,
    })
}
