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
use crate::json::{self, Array, Cursor, keep, object, write_array};

const TYPES: [&str; 7] = [
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
];

/// The schema that a checked text means.
pub(super) fn read(raw: &str) -> Json {
    if !is_googles(raw) {
        return keep(raw);
    }
    let mut out = BytesMut::with_capacity(raw.len());
    schema(raw, &mut out);
    let text = String::from_utf8_lossy(&out);
    Json::parse(text).unwrap_or_else(|_| keep(raw))
}

/// Whether anything in the text may be of Google's form.
fn is_googles(raw: &str) -> bool {
    let has = |word: &str| memmem::find(raw.as_bytes(), word.as_bytes()).is_some();
    has("\"nullable\"") || has("\"any_of\"") || {
        let quoted = |name: &&str| has(&format!("\"{name}\""));
        TYPES.iter().any(quoted)
    }
}

fn schema(raw: &str, out: &mut BytesMut) {
    let Some(fields) = members(raw) else {
        return out.put_slice(raw.as_bytes());
    };
    let has = |name: &str| fields.iter().any(|(key, _)| key == name);
    let nullable = fields.iter().any(|(k, v)| k == "nullable" && *v == "true");
    let typed = has("type");
    object(out, |o| {
        for (key, value) in &fields {
            match key.as_str() {
                "nullable" if typed || has("anyOf") || *value == "false" => {}
                "type" => write_type(value, nullable, o.value(key)),
                "properties" | "patternProperties" | "$defs" | "defs" | "definitions" => {
                    named(value, o.value(key));
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    let or_null = nullable && !typed && key == "anyOf";
                    listed(value, or_null, o.value(key));
                }
                "items" | "additionalProperties" | "not" | "contains" | "propertyNames" => {
                    schema(value, o.value(key));
                }
                "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
                | "maxProperties" => o.raw(key, unquoted(value)),
                _ => o.raw(key, value),
            }
        }
    });
}

/// The fields of a schema, their keys in one spelling; none if it is no object.
fn members(raw: &str) -> Option<Vec<(String, &str)>> {
    let mut fields = Vec::new();
    json::read_str(raw, |cursor: &mut Cursor<'_>| {
        cursor.loose_object(|key, cursor| {
            fields.push((camel(key).into_owned(), cursor.raw()?));
            Ok(())
        })
    })
    .ok()?;
    Some(fields)
}

fn write_type(value: &str, nullable: bool, out: &mut BytesMut) {
    let googles = TYPES.iter().find(|name| value.trim_matches('"') == **name);
    let name = match googles {
        Some(name) => Json::string(&name.to_ascii_lowercase()),
        None => keep(value),
    };
    match nullable && value.starts_with('"') {
        true => write_array(out, |a| {
            a.raw(name.as_str());
            a.string("null");
        }),
        false => out.put_slice(name.as_str().as_bytes()),
    }
}

/// Schemas by the names of what they describe; the names are the caller's.
fn named(value: &str, out: &mut BytesMut) {
    let mut entries = Vec::new();
    let read = json::read_str(value, |cursor: &mut Cursor<'_>| {
        cursor.loose_object(|key, cursor| {
            entries.push((key.clone(), cursor.raw()?));
            Ok(())
        })
    });
    if read.is_err() {
        return out.put_slice(value.as_bytes());
    }
    object(out, |o| {
        for (name, value) in entries {
            schema(value, o.value(&name));
        }
    });
}

fn listed(value: &str, or_null: bool, out: &mut BytesMut) {
    let Some(elements) = crate::splice::elements(value) else {
        return out.put_slice(value.as_bytes());
    };
    write_array(out, |a: &mut Array<'_>| {
        for element in elements {
            schema(element, a.value());
        }
        if or_null {
            a.raw(r#"{"type":"null"}"#);
        }
    });
}

/// Protobuf writes 64-bit counts as strings.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner
        .filter(|digits| digits.parse::<u64>().is_ok())
        .unwrap_or(value)
}
