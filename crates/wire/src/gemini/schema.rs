//! Converts Google's `Schema` to JSON Schema.
//!
//! `parameters` and `responseSchema` hold an OpenAPI 3.0 subset: uppercase types,
//! `nullable` instead of a null type, counts as strings. Clients use the same in
//! `parametersJsonSchema`. A schema without any of these keeps its bytes.

use bytes::{BufMut, BytesMut};
use majordomo_llm::Json;
use memchr::memmem;

use super::keys::camel_case;
use crate::json::{self, Cursor, JsonKind, ReadResult, keep, object, write_array, write_string};

const TYPES: [&str; 7] = [
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
];

/// Converts a schema given as valid JSON.
pub(super) fn read_schema(raw: &str) -> Json {
    if !may_be_openapi(raw) {
        return keep(raw);
    }
    let mut out = BytesMut::with_capacity(raw.len());
    let mut insertions = Insertions::default();
    let written = json::read_str(raw, |cursor| {
        convert_schema(cursor, &mut out, &mut insertions)
    });
    let text = written.map(|()| insertions.into_text(&out));
    let read = text.ok().and_then(|text| Json::parse(text).ok());
    read.unwrap_or_else(|| keep(raw))
}

/// Whether the text may contain an OpenAPI construct.
fn may_be_openapi(raw: &str) -> bool {
    let has = |text: &str| memmem::find(raw.as_bytes(), text.as_bytes()).is_some();
    has("\"nullable\"") || has("\"any_of\"") || {
        let quoted = |name: &&str| has(&format!("\"{name}\""));
        TYPES.iter().any(quoted)
    }
}

/// Writes one schema; anything but an object is copied.
fn convert_schema(
    cursor: &mut Cursor<'_>,
    out: &mut BytesMut,
    insertions: &mut Insertions,
) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return copy_value(cursor, out);
    }
    let mut nullable = false;
    // Positions of `type` and of the end of `anyOf` in the output.
    let (mut type_range, mut any_of_end) = (None, None);
    let mut read = Ok(());
    object(out, |o| {
        read = cursor.loose_object(|key, cursor| {
            let key = camel_case(key);
            let kind = cursor.peek()?;
            if key == "nullable" && kind == JsonKind::Bool {
                nullable = cursor.bool()?;
                return Ok(());
            }
            let out = o.value(&key);
            let start = out.len();
            match (&*key, kind) {
                ("type", JsonKind::String) => {
                    write_type(&cursor.string()?, out);
                    type_range = Some(start..out.len());
                }
                (
                    "properties" | "patternProperties" | "$defs" | "definitions",
                    JsonKind::Object,
                ) => {
                    convert_map(cursor, out, insertions)?;
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", JsonKind::Array) => {
                    convert_array(cursor, out, insertions)?;
                    if key == "anyOf" && &out[start..] != b"[]" {
                        any_of_end = Some(out.len() - 1);
                    }
                }
                ("items" | "additionalProperties" | "not" | "contains" | "propertyNames", _) => {
                    convert_schema(cursor, out, insertions)?;
                }
                (
                    "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
                    | "maxProperties",
                    _,
                ) => out.put_slice(unquoted(cursor.raw()?).as_bytes()),
                _ => copy_value(cursor, out)?,
            }
            Ok(())
        });
    });
    match (nullable, type_range, any_of_end) {
        (true, Some(at), _) => {
            insertions.insert(at.start, "[");
            insertions.insert(at.end, ",\"null\"]");
        }
        (true, None, Some(end)) => insertions.insert(end, ",{\"type\":\"null\"}"),
        _ => {}
    }
    read
}

fn copy_value(cursor: &mut Cursor<'_>, out: &mut BytesMut) -> ReadResult<()> {
    out.put_slice(cursor.raw()?.as_bytes());
    Ok(())
}

/// Text to insert into the output, applied in one pass at the end, since each
/// separate insertion would move everything after it.
#[derive(Default)]
struct Insertions(Vec<(usize, &'static str)>);

impl Insertions {
    fn insert(&mut self, at: usize, text: &'static str) {
        self.0.push((at, text));
    }

    fn into_text(mut self, written: &[u8]) -> String {
        self.0.sort_by_key(|(at, _)| *at);
        let added: usize = self.0.iter().map(|(_, text)| text.len()).sum();
        let mut text_bytes = Vec::with_capacity(written.len() + added);
        let mut copied = 0;
        for (at, text) in self.0 {
            text_bytes.extend_from_slice(&written[copied..at]);
            text_bytes.extend_from_slice(text.as_bytes());
            copied = at;
        }
        text_bytes.extend_from_slice(&written[copied..]);
        String::from_utf8(text_bytes).unwrap_or_default()
    }
}

fn write_type(name: &str, out: &mut BytesMut) {
    match TYPES.contains(&name) {
        true => write_string(out, &name.to_ascii_lowercase()),
        false => write_string(out, name),
    }
}

/// Converts an object of schemas; its keys are user-defined names.
fn convert_map(
    cursor: &mut Cursor<'_>,
    out: &mut BytesMut,
    insertions: &mut Insertions,
) -> ReadResult<()> {
    let mut read = Ok(());
    object(out, |o| {
        read =
            cursor.loose_object(|name, cursor| convert_schema(cursor, o.value(name), insertions));
    });
    read
}

fn convert_array(
    cursor: &mut Cursor<'_>,
    out: &mut BytesMut,
    insertions: &mut Insertions,
) -> ReadResult<()> {
    let mut read = Ok(());
    write_array(out, |a| {
        read = cursor.array(|cursor| convert_schema(cursor, a.value(), insertions));
    });
    read
}

/// Unquotes a count; protobuf JSON writes 64-bit integers as strings.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner
        .filter(|digits| digits.parse::<u64>().is_ok())
        .unwrap_or(value)
}
