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

/// Repeats the tools that can reach a target of any dialect, with the fields that do.
///
/// Hosted tools never do: their loss is reported, and a response that lists them would claim
/// that the model had them.
fn complete_tools(tools: &str) -> String {
    repeated(tools, |tool| {
        let tool = repeated_tool(tool, false)?;
        let is_function = splice::member(&tool, "type") == Some("\"function\"");
        Some(match is_function {
            true => with_defaults(
                &tool,
                &[
                    ("description", "null"),
                    ("parameters", "null"),
                    ("strict", "null"),
                ],
            ),
            false => tool,
        })
    })
}

/// The elements of an array for which `repeat` returns a value.
fn repeated(elements: &str, repeat: impl Fn(&str) -> Option<String>) -> String {
    let mut out = BytesMut::with_capacity(elements.len());
    write_array(&mut out, |array| {
        let elements = splice::elements(elements).unwrap_or_default();
        for element in elements.into_iter().filter_map(repeat) {
            array.raw(&element);
        }
    });
    String::from_utf8_lossy(&out).into_owned()
}

/// The fields of a tool that a target gets. A namespace is never inside another one.
fn repeated_tool(tool: &str, in_namespace: bool) -> Option<String> {
    let fields: &[&str] = match splice::member(tool, "type")? {
        "\"function\"" => &["type", "name", "description", "parameters", "strict"],
        "\"custom\"" => &["type", "name", "description", "format"],
        "\"namespace\"" if !in_namespace => &["type", "name", "description", "tools"],
        _ => return None,
    };
    let mut out = BytesMut::with_capacity(tool.len());
    splice::object(
        tool,
        &mut out,
        &mut |key: &str, value: &str, out: &mut BytesMut| match key {
            "tools" if fields.contains(&key) => {
                let tools = repeated(value, |tool| repeated_tool(tool, true));
                out.extend_from_slice(tools.as_bytes());
                FieldAction::Replace
            }
            key if fields.contains(&key) => FieldAction::Keep,
            _ => FieldAction::Remove,
        },
    );
    Some(String::from_utf8_lossy(&out).into_owned())
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
