//! Reads and writes `options`: sampling parameters and limits.

use majordomo_llm::{Native, Prompt};

use super::OLLAMA;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep, write_array};
use crate::splice::BodyFields;

/// Prefix of the native fields that hold unmodelled options.
const NATIVE_PREFIX: &str = "options.";

/// Reads one option.
pub(super) fn read_option(
    prompt: &mut Prompt,
    rest: &mut Rest,
    key: &str,
    cursor: &mut Cursor<'_>,
) -> ReadResult<()> {
    match key {
        "num_predict" => {
            let (tokens, raw) = cursor.with_raw(|c| c.optional(Cursor::signed))?;
            prompt.max_tokens = tokens.and_then(|n| n.try_into().ok());
            // Negative values mean "unlimited" and "fill the context".
            if tokens.is_some() && prompt.max_tokens.is_none() {
                rest.push(format!("{NATIVE_PREFIX}{key}"), keep(raw));
            }
        }
        "temperature" => prompt.temperature = cursor.optional(Cursor::float)?,
        "top_p" => prompt.top_p = cursor.optional(Cursor::float)?,
        "top_k" => {
            let k = cursor.optional(Cursor::signed)?;
            prompt.top_k = k.and_then(|k| k.try_into().ok());
        }
        "presence_penalty" => prompt.presence_penalty = cursor.optional(Cursor::float)?,
        "frequency_penalty" => prompt.frequency_penalty = cursor.optional(Cursor::float)?,
        "seed" => prompt.seed = cursor.optional(Cursor::signed)?,
        "stop" => match cursor.peek()? {
            JsonKind::String => prompt.stop.push(cursor.string()?.into_owned()),
            _ => {
                cursor.optional(|c| {
                    c.array(|cursor| {
                        prompt.stop.push(cursor.string()?.into_owned());
                        Ok(())
                    })
                })?;
            }
        },
        _ => rest.take(format!("{NATIVE_PREFIX}{key}"), cursor)?,
    }
    Ok(())
}

/// Returns the options; `num_ctx` applies if the request sets none.
pub(super) fn option_fields(prompt: &Prompt, num_ctx: Option<u64>) -> BodyFields {
    let mut fields = BodyFields::default();
    if let Some(tokens) = prompt.max_tokens {
        fields.put("num_predict", tokens);
    }
    for (key, value) in [
        ("temperature", prompt.temperature),
        ("top_p", prompt.top_p),
        ("presence_penalty", prompt.presence_penalty),
        ("frequency_penalty", prompt.frequency_penalty),
    ] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            fields.put(key, value);
        }
    }
    if let Some(k) = prompt.top_k {
        fields.put("top_k", k);
    }
    if let Some(seed) = prompt.seed {
        fields.put("seed", seed);
    }
    if !prompt.stop.is_empty() {
        write_array(fields.value("stop"), |a| {
            for text in &prompt.stop {
                a.string(text);
            }
        });
    }
    for (name, value) in own_native(prompt).into_iter().flat_map(Native::fields) {
        match name.strip_prefix(NATIVE_PREFIX) {
            Some("num_predict") if prompt.max_tokens.is_some() => {}
            Some(option) => fields.put(option, value.as_str()),
            None => {}
        }
    }
    if let Some(window) = num_ctx.filter(|_| !has_num_ctx(prompt)) {
        fields.put("num_ctx", window);
    }
    fields
}

/// Whether the request sets `num_ctx`.
pub(super) fn has_num_ctx(prompt: &Prompt) -> bool {
    own_native(prompt).is_some_and(|native| native.get("options.num_ctx").is_some())
}

fn own_native(prompt: &Prompt) -> Option<&Native> {
    prompt.native.as_deref().filter(|n| *n.dialect() == OLLAMA)
}
