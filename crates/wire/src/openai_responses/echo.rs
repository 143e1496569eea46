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

/// Repeats the tools that can reach a target of any dialect.
///
/// Hosted tools never do: their loss is reported, and a response that lists them would claim
/// that the model had them.
fn complete_tools(tools: &str) -> String {
    let mut out = BytesMut::with_capacity(tools.len());
    write_array(&mut out, |array| {
        for tool in splice::elements(tools).unwrap_or_default() {
            match splice::member(tool, "type") {
                Some("\"function\"") => array.raw(&with_defaults(
                    tool,
                    &[
                        ("description", "null"),
                        ("parameters", "null"),
                        ("strict", "null"),
                    ],
                )),
                Some("\"custom\"" | "\"namespace\"") => array.raw(tool),
                _ => {}
            }
        }
    });
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
