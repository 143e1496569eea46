//! Writes tool definitions and the tool choice.

use majordomo_llm::{Native, Prompt, Tool, ToolChoice};

use super::RESPONSES;
use super::read_tool::write_namespace;
use crate::declared_tool::{DeclaredTool, own_fields};
use crate::json::{Object, object, write_array};
use crate::loss::{ADDITIONAL_TOOLS, Losses};
use crate::splice::BodyFields;

/// Writes `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn write_tools(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    let (own, foreign): (Vec<_>, Vec<_>) = prompt
        .hosted_tools
        .iter()
        .partition(|hosted| hosted.origin == RESPONSES);
    for hosted in foreign {
        losses.add(
            &format!("tools.{}", hosted.kind),
            format!("a tool that only {} runs", hosted.origin),
        );
    }
    // Tools declared in an item are written with it.
    let tools: Vec<&Tool> = prompt
        .tools
        .iter()
        .filter(|tool| !is_in_item(tool))
        .collect();
    let own = own
        .into_iter()
        .filter(|tool| !tool.kind.starts_with(ADDITIONAL_TOOLS));
    let own: Vec<_> = own.collect();
    if !tools.is_empty() || !own.is_empty() {
        write_array(fields.value("tools"), |array| {
            for tools in
                tools.chunk_by(|a, b| namespace(a).is_some() && namespace(a) == namespace(b))
            {
                match namespace(tools[0]) {
                    Some(namespace) => {
                        let declared: Vec<&str> =
                            tools.iter().filter_map(|tool| declaration(tool)).collect();
                        write_namespace(namespace, &declared, array.value());
                    }
                    None => tools.iter().for_each(|tool| match declaration(tool) {
                        Some(raw) => array.raw(raw),
                        None => array.object(|o| write_tool(tool, o, losses)),
                    }),
                }
            }
            for tool in own {
                array.raw(tool.raw.as_str());
            }
        });
    }
    write_tool_choice(prompt, fields);
    if let Some(parallel) = prompt.parallel_tool_calls {
        fields.put("parallel_tool_calls", parallel);
    }
}

/// A tool's native fields of this dialect.
fn own_native(tool: &Tool) -> Option<&Native> {
    let native = tool.native.as_deref();
    native.filter(|native| *native.dialect() == RESPONSES)
}

fn own_field<'t>(tool: &'t Tool, name: &str) -> Option<&'t str> {
    Some(own_native(tool)?.get(name)?.as_str())
}

/// Whether a tool is declared in an item of the conversation.
fn is_in_item(tool: &Tool) -> bool {
    own_field(tool, "field.item").is_some()
}

/// The fields of the namespace that a tool was declared in.
fn namespace(tool: &Tool) -> Option<&str> {
    own_field(tool, "field.group")
}

/// A custom or namespaced tool, as its client declared it.
fn declaration(tool: &Tool) -> Option<&str> {
    own_field(tool, "field.raw")
}

fn write_tool_choice(prompt: &Prompt, fields: &mut BodyFields) {
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => fields.string("tool_choice", "none"),
        ToolChoice::Required => fields.string("tool_choice", "required"),
        ToolChoice::Named(name) => {
            let tool = prompt.tools.iter().find(|tool| tool.name == *name);
            let own = tool.filter(|tool| own_native(tool).is_some());
            let declared = own.and_then(DeclaredTool::of);
            object(fields.value("tool_choice"), |o| match declared {
                Some(declared) => {
                    let kind = if declared.is_custom {
                        "custom"
                    } else {
                        "function"
                    };
                    o.string("type", kind);
                    o.string("name", &declared.name);
                    if let Some(namespace) = &declared.namespace {
                        o.string("namespace", namespace);
                    }
                }
                None => {
                    o.string("type", "function");
                    o.string("name", name);
                }
            });
        }
    }
}

fn write_tool(tool: &Tool, object: &mut Object<'_>, losses: &mut Losses) {
    let native = own_fields(tool, &RESPONSES, losses);
    object.string("type", "function");
    object.string("name", &tool.name);
    if let Some(description) = &tool.description {
        object.string("description", description);
    }
    // Required, even for a tool without parameters.
    match &tool.parameters {
        Some(parameters) => object.raw("parameters", parameters.as_str()),
        None => object.raw("parameters", "null"),
    }
    if let Some(strict) = tool.strict {
        object.bool("strict", strict);
    }
    object.native(native);
}
