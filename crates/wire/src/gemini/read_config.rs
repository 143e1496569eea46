//! Reads `generationConfig`.

use std::borrow::Cow;

use majordomo_llm::{Effort, OutputFormat, OutputSchema, Prompt};

use super::{keys, schema};
use crate::json::{Cursor, Kind, Read, Rest, keep};

/// Reads the settings into the prompt; what it does not model goes to `rest`.
pub(super) fn read(cursor: &mut Cursor<'_>, prompt: &mut Prompt, rest: &mut Rest) -> Read<()> {
    let mut format = Format::default();
    keys::object(cursor, |key, cursor| {
        if cursor.peek()? == Kind::Null {
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
                format.mime = Some((mime.unwrap_or_default(), raw));
            }
            "responseJsonSchema" | "responseSchema" if format.schema.is_none() => {
                format.schema = Some(cursor.raw()?);
            }
            "thinkingConfig" => thinking(cursor, prompt, rest)?,
            // What is so anyway is nothing to keep.
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

/// The shape of the answer, which two fields tell together.
#[derive(Default)]
struct Format<'a> {
    mime: Option<(Cow<'a, str>, &'a str)>,
    schema: Option<&'a str>,
}

impl Format<'_> {
    fn into_output(self, rest: &mut Rest) -> OutputFormat {
        let mime = self.mime.as_ref().map(|(mime, _)| &**mime);
        match (mime, self.schema) {
            (None | Some("application/json"), Some(raw)) => OutputFormat::Schema(OutputSchema {
                schema: schema::read(raw),
                name: None,
                strict: None,
            }),
            (Some("application/json"), None) => OutputFormat::Json,
            (None | Some("" | "text/plain"), None) => OutputFormat::Text,
            // One word of a list, or what comes next: only this dialect can say it.
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

fn thinking(cursor: &mut Cursor<'_>, prompt: &mut Prompt, rest: &mut Rest) -> Read<()> {
    if cursor.peek()? != Kind::Object {
        return rest.take("generationConfig.thinkingConfig", cursor);
    }
    keys::object(cursor, |key, cursor| {
        let kind = cursor.peek()?;
        let mut keep_raw = |raw| rest.push(format!("thinkingConfig.{key}"), keep(raw));
        match (key, kind) {
            ("thinkingLevel", Kind::String) => {
                let (word, raw) = cursor.with_raw(Cursor::string)?;
                match level(&word) {
                    Some(effort) => prompt.effort = Some(effort),
                    None => keep_raw(raw),
                }
            }
            ("thinkingBudget", Kind::Number) => {
                let (tokens, raw) = cursor.with_raw(Cursor::signed)?;
                match u64::try_from(tokens) {
                    Ok(0) => prompt.effort = Some(Effort::None),
                    Ok(tokens) => prompt.reasoning_budget = Some(tokens),
                    // As much as the model likes, which only this dialect can say.
                    Err(_) => keep_raw(raw),
                }
            }
            (_, Kind::Null) => {}
            _ => keep_raw(cursor.raw()?),
        }
        Ok(())
    })
}

fn level(word: &str) -> Option<Effort> {
    Some(match word.to_ascii_uppercase().as_str() {
        "MINIMAL" => Effort::Minimal,
        "LOW" => Effort::Low,
        "MEDIUM" => Effort::Medium,
        "HIGH" => Effort::High,
        _ => return None,
    })
}
