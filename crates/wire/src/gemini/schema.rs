//! Google's own form of schemas, read as JSON Schema.
//!
//! `parameters` and `responseSchema` hold a subset of OpenAPI: types in upper
//! case, `nullable` instead of a null type, counts as strings. Clients put the
//! same into `parametersJsonSchema`, too. A schema without any of that is kept
//! as it is written.

use bytes::{BufMut, BytesMut};
use majordomo_llm::Json;
use memchr::memmem;

use super::keys::camel;
use crate::json::{self, Cursor, JsonKind, ReadResult, keep, object, write_array, write_string};

const TYPES: [&str; 7] = [
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
];

/// The schema that a checked text means.
pub(super) fn read(raw: &str) -> Json {
    if !is_googles(raw) {
        return keep(raw);
    }
    let mut out = BytesMut::with_capacity(raw.len());
    let mut later = Insertions::default();
    let written = json::read_str(raw, |cursor| schema(cursor, &mut out, &mut later));
    let text = written.map(|()| later.into_text(&out));
    let read = text.ok().and_then(|text| Json::parse(text).ok());
    read.unwrap_or_else(|| keep(raw))
}

/// Whether anything in the text may be of Google's form.
fn is_googles(raw: &str) -> bool {
    let has = |word: &str| memmem::find(raw.as_bytes(), word.as_bytes()).is_some();
    has("\"nullable\"") || has("\"any_of\"") || {
        let quoted = |name: &&str| has(&format!("\"{name}\""));
        TYPES.iter().any(quoted)
    }
}

/// Copies a schema; whatever is no object stands for itself.
fn schema(cursor: &mut Cursor<'_>, out: &mut BytesMut, later: &mut Insertions) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return plain(cursor, out);
    }
    let mut nullable = false;
    // Where the type and the last of the alternatives ended up.
    let (mut named_type, mut choices) = (None, None);
    let mut read = Ok(());
    object(out, |o| {
        read = cursor.loose_object(|key, cursor| {
            let key = camel(key);
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
                    named_type = Some(start..out.len());
                }
                (
                    "properties" | "patternProperties" | "$defs" | "definitions",
                    JsonKind::Object,
                ) => {
                    named(cursor, out, later)?;
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", JsonKind::Array) => {
                    listed(cursor, out, later)?;
                    if key == "anyOf" && &out[start..] != b"[]" {
                        choices = Some(out.len() - 1);
                    }
                }
                ("items" | "additionalProperties" | "not" | "contains" | "propertyNames", _) => {
                    schema(cursor, out, later)?;
                }
                (
                    "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
                    | "maxProperties",
                    _,
                ) => out.put_slice(unquoted(cursor.raw()?).as_bytes()),
                _ => plain(cursor, out)?,
            }
            Ok(())
        });
    });
    match (nullable, named_type, choices) {
        (true, Some(at), _) => {
            later.insert(at.start, "[");
            later.insert(at.end, ",\"null\"]");
        }
        (true, None, Some(end)) => later.insert(end, ",{\"type\":\"null\"}"),
        _ => {}
    }
    read
}

fn plain(cursor: &mut Cursor<'_>, out: &mut BytesMut) -> ReadResult<()> {
    out.put_slice(cursor.raw()?.as_bytes());
    Ok(())
}

/// Texts that belong before what is written already. All are put in at the end,
/// at once: one by one, each would move everything behind it.
#[derive(Default)]
struct Insertions(Vec<(usize, &'static str)>);

impl Insertions {
    fn insert(&mut self, at: usize, text: &'static str) {
        self.0.push((at, text));
    }

    fn into_text(mut self, written: &[u8]) -> String {
        self.0.sort_by_key(|(at, _)| *at);
        let added: usize = self.0.iter().map(|(_, text)| text.len()).sum();
        let mut whole = Vec::with_capacity(written.len() + added);
        let mut copied = 0;
        for (at, text) in self.0 {
            whole.extend_from_slice(&written[copied..at]);
            whole.extend_from_slice(text.as_bytes());
            copied = at;
        }
        whole.extend_from_slice(&written[copied..]);
        String::from_utf8(whole).unwrap_or_default()
    }
}

fn write_type(name: &str, out: &mut BytesMut) {
    match TYPES.contains(&name) {
        true => write_string(out, &name.to_ascii_lowercase()),
        false => write_string(out, name),
    }
}

/// Schemas by the names of what they describe; the names are the caller's.
fn named(cursor: &mut Cursor<'_>, out: &mut BytesMut, later: &mut Insertions) -> ReadResult<()> {
    let mut read = Ok(());
    object(out, |o| {
        read = cursor.loose_object(|name, cursor| schema(cursor, o.value(name), later));
    });
    read
}

fn listed(cursor: &mut Cursor<'_>, out: &mut BytesMut, later: &mut Insertions) -> ReadResult<()> {
    let mut read = Ok(());
    write_array(out, |a| {
        read = cursor.array(|cursor| schema(cursor, a.value(), later));
    });
    read
}

/// Protobuf writes 64-bit counts as strings.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner
        .filter(|digits| digits.parse::<u64>().is_ok())
        .unwrap_or(value)
}
