//! Reads tool definitions: functions, custom tools, and namespaces of them.
//!
//! All of them become functions of the contract, see [`crate::declared_tool`]; hosted
//! tools are kept verbatim.

use std::borrow::Cow;

use bytes::BytesMut;
use majordomo_llm::{Json, Opaque, Prompt, Tool};

use super::RESPONSES;
use crate::custom_input::{describe_format, input_parameters};
use crate::declared_tool::flat_name;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep, object, write_array};
use crate::loss::ADDITIONAL_TOOLS;

/// Where a tool is declared.
#[derive(Default)]
pub(super) struct ToolPlace {
    namespace: Option<ToolNamespace>,
    /// In an item of the conversation.
    in_item: bool,
}

struct ToolNamespace {
    name: String,
    /// The common fields of its tools; the first tool's description repeats them.
    description: Option<String>,
    /// All fields but the tools.
    fields: Json,
}

/// Reads the tools of an `additional_tools` item.
pub(super) fn read_additional_tools(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
) -> ReadResult<()> {
    let mut place = ToolPlace {
        in_item: true,
        ..ToolPlace::default()
    };
    cursor.object(|key, cursor| match (&**key, cursor.peek()?) {
        ("tools", JsonKind::Array) => cursor.array(|cursor| read_tool(cursor, &mut place, prompt)),
        _ => Ok(()),
    })
}

/// Reads one tool into the prompt.
pub(super) fn read_tool(
    cursor: &mut Cursor<'_>,
    place: &mut ToolPlace,
    prompt: &mut Prompt,
) -> ReadResult<()> {
    let mut fields = ResponsesToolFields::default();
    let ((), raw) = cursor
        .with_raw(|cursor| cursor.object(|key, cursor| fields.read_field(key.clone(), cursor)))?;
    let kind = fields.kind.take().unwrap_or("function".into());
    match (&*kind, fields.tools.take()) {
        ("function", _) => prompt.tools.push(fields.into_function(place, raw)),
        ("custom", _) if !fields.tool.name.is_empty() => {
            prompt.tools.push(fields.into_custom(place, raw));
        }
        ("namespace", Some(mut tools))
            if place.namespace.is_none() && !fields.tool.name.is_empty() =>
        {
            let mut inner = ToolPlace {
                namespace: Some(fields.into_namespace()),
                in_item: place.in_item,
            };
            tools.array(|cursor| read_tool(cursor, &mut inner, prompt))?;
        }
        (kind, _) => prompt.hosted_tools.push(place.hosted(kind, raw)),
    }
    Ok(())
}

impl ToolPlace {
    /// A hosted tool, which keeps its place.
    fn hosted(&self, kind: &str, raw: &str) -> Opaque {
        let kind = match self.in_item {
            true => format!("{ADDITIONAL_TOOLS}.{kind}"),
            false => kind.to_owned(),
        };
        match &self.namespace {
            None => Opaque::new(RESPONSES, kind, keep(raw)),
            Some(namespace) => {
                let mut out = BytesMut::new();
                write_namespace(namespace.fields.as_str(), &[raw], &mut out);
                Opaque::new(RESPONSES, kind, keep(&String::from_utf8_lossy(&out)))
            }
        }
    }

    /// Marks how a tool was declared, unless it is a plain function in `tools`.
    fn mark(&mut self, kind: &str, tool: &mut Tool, rest: &mut Rest, raw: &str) {
        if kind == "function" && self.namespace.is_none() && !self.in_item {
            return;
        }
        rest.push("field", Json::string(kind));
        rest.push("field.name", Json::string(&tool.name));
        if let Some(namespace) = &mut self.namespace {
            rest.push("field.namespace", Json::string(&namespace.name));
            rest.push("field.group", namespace.fields.clone());
            tool.name = flat_name(Some(&namespace.name), &tool.name);
            if let Some(shared) = namespace.description.take() {
                let prefix = flat_name(Some(&namespace.name), "");
                let shared = format!("All tools named {prefix}*: {shared}");
                tool.description = Some(match tool.description.take() {
                    Some(own) => format!("{own}\n\n{shared}"),
                    None => shared,
                });
            }
        }
        rest.push("field.raw", keep(raw));
        if self.in_item {
            rest.push("field.item", keep("true"));
        }
    }
}

/// Writes a namespace: its own fields, and its tools.
pub(super) fn write_namespace(fields: &str, tools: &[&str], out: &mut BytesMut) {
    let fields = fields.trim_end().strip_suffix('}').unwrap_or_default();
    out.extend_from_slice(fields.as_bytes());
    out.extend_from_slice(b",\"tools\":");
    write_array(out, |array| {
        for tool in tools {
            array.raw(tool);
        }
    });
    out.extend_from_slice(b"}");
}

struct ResponsesToolFields<'a> {
    kind: Option<Cow<'a, str>>,
    tool: Tool,
    /// The format of a custom tool's input.
    format: Option<&'a str>,
    /// The tools of a namespace.
    tools: Option<Cursor<'a>>,
    others: Vec<(Cow<'a, str>, &'a str)>,
}

impl Default for ResponsesToolFields<'_> {
    fn default() -> Self {
        Self {
            kind: None,
            tool: Tool::new(""),
            format: None,
            tools: None,
            others: Vec::new(),
        }
    }
}

impl<'a> ResponsesToolFields<'a> {
    fn read_field(&mut self, key: Cow<'a, str>, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let tool = &mut self.tool;
        match (&*key, cursor.peek()?) {
            ("type", JsonKind::String) => self.kind = Some(cursor.string()?),
            ("name", JsonKind::String) => tool.name = cursor.string()?.into_owned(),
            ("description", JsonKind::String | JsonKind::Null) => {
                tool.description = cursor.optional_text()?;
            }
            ("parameters", JsonKind::Object | JsonKind::Null) => {
                tool.parameters = cursor.optional(Cursor::raw)?.map(keep);
            }
            ("strict", JsonKind::Bool | JsonKind::Null) => {
                tool.strict = cursor.optional(Cursor::bool)?;
            }
            ("format", JsonKind::Object | JsonKind::Null) => self.format = Some(cursor.raw()?),
            ("tools", JsonKind::Array) => {
                self.tools = Some(cursor.fork());
                cursor.raw()?;
            }
            _ => self.others.push((key, cursor.raw()?)),
        }
        Ok(())
    }

    fn rest(&mut self) -> Rest {
        let mut rest = Rest::default();
        for (name, value) in std::mem::take(&mut self.others) {
            rest.push(name, keep(value));
        }
        rest
    }

    fn into_function(mut self, place: &mut ToolPlace, raw: &str) -> Tool {
        let mut rest = self.rest();
        if let Some(format) = self.format {
            rest.push("format", keep(format));
        }
        place.mark("function", &mut self.tool, &mut rest, raw);
        self.tool.native = rest.into_native(RESPONSES);
        self.tool
    }

    fn into_custom(mut self, place: &mut ToolPlace, raw: &str) -> Tool {
        let mut rest = self.rest();
        self.tool.description = describe_format(self.tool.description.as_deref(), self.format);
        self.tool.parameters = Some(input_parameters());
        place.mark("custom", &mut self.tool, &mut rest, raw);
        self.tool.native = rest.into_native(RESPONSES);
        self.tool
    }

    fn into_namespace(self) -> ToolNamespace {
        let mut fields = BytesMut::new();
        object(&mut fields, |o| {
            o.string("type", "namespace");
            o.string("name", &self.tool.name);
            if let Some(description) = &self.tool.description {
                o.string("description", description);
            }
            for (name, value) in &self.others {
                o.raw(name, value);
            }
        });
        ToolNamespace {
            name: self.tool.name,
            description: self.tool.description.filter(|text| !text.is_empty()),
            fields: keep(&String::from_utf8_lossy(&fields)),
        }
    }
}
