//! Reads and writes `functionResponse`, the result of a tool call.
//!
//! Its `response` is an object. `{"output": "text"}` and `{"error": "text"}` hold
//! plain text; any other object is kept as JSON, and the native `field` names
//! where in it the text was.

use majordomo_llm::{Json, Native, Part, ToolResult};

use super::write_part::{is_foreign, native_field, write_file_data, write_inline_data};
use super::{GEMINI, keys, read_part};
use crate::json::{self, Cursor, JsonKind, Object, ReadResult, Rest};
use crate::loss::{LossVerb, Losses};

/// Reads a `functionResponse`; the caller adds the native fields in `rest`.
pub(super) fn read_function_response(
    cursor: &mut Cursor<'_>,
    rest: &mut Rest,
) -> ReadResult<ToolResult> {
    let mut result = ToolResult {
        call_id: String::new(),
        name: None,
        parts: Vec::new(),
        is_error: false,
        native: None,
    };
    let mut media = Vec::new();
    keys::object(cursor, |key, cursor| {
        match (key, cursor.peek()?) {
            ("id", JsonKind::String) => result.call_id = cursor.string()?.into_owned(),
            ("name", JsonKind::String) => result.name = Some(cursor.string()?.into_owned()),
            ("response", JsonKind::Object) => read_response(cursor, &mut result, rest)?,
            ("parts", _) => keys::one_or_many(cursor, |cursor| {
                let (fields, raw) = read_part::read_part(cursor)?;
                media.extend(fields.into_part(raw));
                Ok(())
            })?,
            (_, JsonKind::Null) => {}
            _ => rest.take(format!("functionResponse.{key}"), cursor)?,
        }
        Ok(())
    })?;
    result.parts.append(&mut media);
    Ok(result)
}

fn read_response(
    cursor: &mut Cursor<'_>,
    result: &mut ToolResult,
    rest: &mut Rest,
) -> ReadResult<()> {
    let mut fields = 0;
    let mut text_field = None;
    let mut failed = false;
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.loose_object(|key, cursor| {
            fields += 1;
            // Taken, since all of it is kept as a text.
            let (text, raw) = match cursor.peek()? {
                JsonKind::String => cursor.with_raw(|cursor| cursor.string().map(Some))?,
                _ => (None, cursor.raw()?),
            };
            if matches!(&**key, "output" | "error") {
                failed |= key == "error" && raw != "null";
                text_field = Some((key.clone(), text, raw));
            }
            Ok(())
        })
    })?;
    let text = match (fields, text_field) {
        (0, _) => return Ok(()),
        (1, Some((_, Some(text), _))) => text.into_owned(),
        (1, Some((key, None, value))) => {
            rest.push("field", Json::string(&key));
            value.to_owned()
        }
        _ => {
            rest.push("field", Json::string("response"));
            raw.to_owned()
        }
    };
    result.is_error = failed;
    result.parts.push(Part::text(text));
    Ok(())
}

/// Writes the fields of a `functionResponse`. Returns the media parts that have to
/// follow it as separate parts.
pub(super) fn write_function_response<'r>(
    result: &'r ToolResult,
    id: Option<&str>,
    name: &str,
    media_inside: bool,
    object: &mut Object<'_>,
    losses: &mut Losses,
) -> Vec<&'r Part> {
    let native = losses.own(result.native.as_deref(), &GEMINI);
    if let Some(id) = id {
        object.string("id", id);
    }
    object.string("name", name);
    write_response(result, native, object, losses);
    let mut media = Vec::new();
    for part in &result.parts {
        match part {
            Part::Text(_) => {}
            Part::Image(_) | Part::RemoteImage(_) => media.push(part),
            Part::File(_) if is_foreign(part) => {
                losses.part(part, "only its own dialect can read it");
            }
            Part::File(_) => media.push(part),
            Part::Opaque(block) if block.origin == GEMINI => media.push(part),
            other @ (Part::Refusal(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::Opaque(_)) => losses.part(other, "tool results hold text and media only"),
        }
    }
    object.nested(native, "functionResponse");
    if media_inside && !media.is_empty() {
        object.array("parts", |a| {
            for part in media.drain(..) {
                match part {
                    Part::Opaque(block) => a.raw(block.raw.as_str()),
                    Part::RemoteImage(link) => a.object(|o| write_file_data(link, o, losses)),
                    part @ (Part::Text(_)
                    | Part::Refusal(_)
                    | Part::Image(_)
                    | Part::Reasoning(_)
                    | Part::ToolCall(_)
                    | Part::ToolResult(_)
                    | Part::File(_)) => a.object(|o| write_inline_data(part, o, losses)),
                }
            }
        });
    }
    media
}

fn write_response(
    result: &ToolResult,
    native: Option<&Native>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let texts: Vec<&str> = result.parts.iter().filter_map(Part::as_text).collect();
    for part in result.parts.iter().filter(|p| p.as_text().is_some()) {
        losses.own(part.native(), &GEMINI);
    }
    let text = match texts[..] {
        [] if !result.is_error => return object.raw("response", "{}"),
        [] => String::new(),
        [text] => text.to_owned(),
        _ => {
            losses.record(
                LossVerb::Joined,
                "tool_result.text",
                "several texts are joined into one",
            );
            texts.join("\n")
        }
    };
    if text_follows(&result.parts) {
        losses.record(
            LossVerb::Changed,
            "tool_result.order",
            "the text of a tool result precedes its media",
        );
    }
    let key = if result.is_error { "error" } else { "output" };
    match native.and_then(native_field).as_deref() {
        Some("response") if is_object(&text) => object.raw("response", &text),
        Some(field) if field == key && json::is_complete(&text) => {
            object.object("response", |o| o.raw(key, &text));
        }
        _ => object.object("response", |o| o.string(key, &text)),
    }
}

/// Whether a text follows a part of another kind.
fn text_follows(parts: &[Part]) -> bool {
    let other = parts.iter().position(|part| part.as_text().is_none());
    let text = parts.iter().rposition(|part| part.as_text().is_some());
    matches!((other, text), (Some(other), Some(text)) if other < text)
}

/// Whether a text is a complete JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && json::is_complete(text)
}
