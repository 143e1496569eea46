//! The parts of a request that its response repeats, in the form that clients require.

use bytes::BytesMut;
use majordomo_llm::{Json, Request};

use super::RESPONSES;
use super::envelope::{ECHOES, KEPT_BY_SERVER};
use super::write_request::request_fields;
use crate::RequestEcho;
use crate::declared_tool::DeclaredTools;
use crate::json::{object, write_array};
use crate::loss::Losses;
use crate::splice::{self, FieldAction};

/// Collects the fields of a client's request; nothing for one of another dialect.
pub(super) fn echo(request: &Request) -> RequestEcho {
    let Some(source) = request.source().filter(|s| *s.dialect() == RESPONSES) else {
        return RequestEcho::default();
    };
    let prompt = source.prompt();
    let fields = request_fields(prompt, &mut Losses::default());
    let names = ECHOES.iter().map(|(name, _)| name);
    let repeated = names.filter(|name| !KEPT_BY_SERVER.contains(name));
    let echoed = repeated.filter_map(|name| {
        let value = std::str::from_utf8(fields.get(name)?).ok()?;
        let value = Json::parse(complete(name, value)).ok()?;
        Some((*name, value)).filter(|(_, value)| value.as_str() != "null")
    });
    RequestEcho::new(echoed.collect(), DeclaredTools::of(&prompt.tools))
}

/// Adds fields that the client omitted but its response must have.
fn complete(name: &str, value: &str) -> String {
    match name {
        "tools" => complete_tools(value),
        "reasoning" => with_defaults(value, &[("effort", "null"), ("summary", "null")]),
        "text" => complete_text(value),
        _ => value.to_owned(),
    }
}

/// A field of a tool, and the first bytes that its value may have.
type ToolField = (&'static str, &'static [u8]);

const FUNCTION: [ToolField; 5] = [
    ("type", b"\""),
    ("name", b"\""),
    ("description", b"\"n"),
    ("parameters", b"{n"),
    ("strict", b"tfn"),
];
const CUSTOM: [ToolField; 4] = [
    ("type", b"\""),
    ("name", b"\""),
    ("description", b"\""),
    ("format", b"{"),
];
const NAMESPACE: [ToolField; 4] = [
    ("type", b"\""),
    ("name", b"\""),
    ("description", b"\""),
    ("tools", b"["),
];

/// Repeats the tools that can reach a target of any dialect, and of each the fields that can.
///
/// Hosted tools never do, nor do fields such as `allowed_callers`: their loss is reported, and a
/// response that lists them would claim that the model had them.
fn complete_tools(tools: &str) -> String {
    const REQUIRED: [(&str, &str); 3] = [
        ("description", "null"),
        ("parameters", "null"),
        ("strict", "null"),
    ];
    repeat_tools(tools, &|tool, kind| match kind {
        "\"function\"" => Some(with_defaults(&only(tool, &FUNCTION), &REQUIRED)),
        "\"custom\"" => Some(only(tool, &CUSTOM)),
        // One of hosted tools alone is empty here.
        "\"namespace\"" => {
            Some(only(tool, &NAMESPACE)).filter(|tool| splice::member(tool, "tools") != Some("[]"))
        }
        _ => None,
    })
}

/// The tools of a namespace.
fn nested_tools(tools: &str) -> String {
    repeat_tools(tools, &|tool, kind| match kind {
        "\"function\"" => Some(only(tool, &FUNCTION)),
        "\"custom\"" => Some(only(tool, &CUSTOM)),
        _ => None,
    })
}

/// Each tool as `repeat` writes it, by its type.
fn repeat_tools(tools: &str, repeat: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let mut out = BytesMut::with_capacity(tools.len());
    write_array(&mut out, |array| {
        for tool in splice::elements(tools).unwrap_or_default() {
            let kind = splice::member(tool, "type").unwrap_or_default();
            if let Some(repeated) = repeat(tool, kind) {
                array.raw(&repeated);
            }
        }
    });
    String::from_utf8_lossy(&out).into_owned()
}

/// The listed fields of a tool, if their values have the right type.
fn only(tool: &str, fields: &[ToolField]) -> String {
    let mut out = BytesMut::with_capacity(tool.len());
    splice::object(
        tool,
        &mut out,
        &mut |key: &str, value: &str, out: &mut BytesMut| {
            let first = value.as_bytes().first();
            let listed = fields.iter().find(|(name, _)| *name == key);
            match (listed, first) {
                (Some(("tools", _)), Some(b'[')) => {
                    out.extend_from_slice(nested_tools(value).as_bytes());
                    FieldAction::Replace
                }
                (Some((_, starts)), Some(first)) if starts.contains(first) => FieldAction::Keep,
                _ => FieldAction::Remove,
            }
        },
    );
    String::from_utf8_lossy(&out).into_owned()
}

fn complete_text(text: &str) -> String {
    let text = with_defaults(text, &[("format", r#"{"type":"text"}"#)]);
    let schema = splice::member(&text, "format")
        .filter(|format| splice::member(format, "type") == Some("\"json_schema\""));
    let Some(schema) = schema else { return text };
    let schema = with_defaults(schema, &[("description", "null"), ("strict", "false")]);
    let mut out = BytesMut::with_capacity(text.len() + 40);
    splice::object(
        &text,
        &mut out,
        &mut |key: &str, _: &str, out: &mut BytesMut| {
            if key != "format" {
                return FieldAction::Keep;
            }
            out.extend_from_slice(schema.as_bytes());
            FieldAction::Replace
        },
    );
    String::from_utf8_lossy(&out).into_owned()
}

/// Adds the fields that an object lacks.
fn with_defaults(value: &str, defaults: &[(&str, &str)]) -> String {
    let missing: Vec<_> = defaults
        .iter()
        .filter(|(name, _)| splice::member(value, name).is_none())
        .collect();
    let Some(inner) = value.trim_end().strip_suffix('}') else {
        return value.to_owned();
    };
    let mut out = BytesMut::new();
    object(&mut out, |o| {
        for (name, default) in &missing {
            o.raw(name, default);
        }
    });
    match (missing.is_empty(), inner.trim_start() == "{") {
        (true, _) => value.to_owned(),
        (false, true) => String::from_utf8_lossy(&out).into_owned(),
        (false, false) => format!("{inner},{}", String::from_utf8_lossy(&out[1..])),
    }
}
