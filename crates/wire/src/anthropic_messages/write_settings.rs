//! Writes every field of a request except model, stream and conversation.

use majordomo_llm::{Effort, Native, OutputFormat, Prompt, Tool, ToolChoice};

use super::MESSAGES;
use super::read_request::NO_PARAMETERS;
use super::write_part::write_native;
use crate::Outgoing;
use crate::declared_tool::own_fields;
use crate::json::{Object, object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::splice::{BodyFields, ToolsField, member};

/// Writes the fields, in order.
pub(super) fn request_fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    tools: ToolsField,
    losses: &mut Losses,
) -> BodyFields {
    let mut fields = BodyFields::default();
    let native = losses.own(prompt.native.as_deref(), &MESSAGES);
    fields.put("max_tokens", max_tokens(prompt, to));
    write_tools(prompt, native, tools, &mut fields, losses);
    write_thinking_setting(prompt, native, &mut fields);
    write_output_config(prompt, native, &mut fields, losses);
    write_sampling(prompt, &mut fields, losses);
    if prompt.user.is_some() || has_inside(native, "metadata") {
        object(fields.value("metadata"), |o| {
            if let Some(user) = &prompt.user {
                o.string("user_id", user);
            }
            o.nested(native, "metadata");
        });
    }
    if prompt.cache_key.is_some() {
        // Caching is opt-in here and needs no key: the prefix itself is one.
        let why = "written as `cache_control`, which caches the prompt so far";
        losses.record(LossVerb::Converted, "cache_key", why);
    }
    if prompt.prompt_cache || prompt.cache_key.is_some() {
        object(fields.value("cache_control"), |o| {
            o.string("type", "ephemeral");
            o.nested(native, "cache_control");
        });
    }
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        // A dot marks a field that belongs inside another one.
        if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    fields
}

/// The dialect requires a limit, which includes thinking tokens.
fn max_tokens(prompt: &Prompt, to: &Outgoing<'_>) -> u64 {
    let budget = prompt.reasoning_budget.unwrap_or_default();
    let default = to.default_max_tokens.saturating_add(budget);
    prompt.max_tokens.unwrap_or(default)
}

fn write_tools(
    prompt: &Prompt,
    native: Option<&Native>,
    tools: ToolsField,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let (own, others): (Vec<_>, Vec<_>) = prompt
        .hosted_tools
        .iter()
        .partition(|tool| tool.origin == MESSAGES);
    for tool in others {
        losses.add(
            &format!("tools.{}", tool.kind),
            format!("a tool that only {} runs", tool.origin),
        );
    }
    if prompt.tools.is_empty() && own.is_empty() {
        return;
    }
    fields.tools(tools, |out| {
        write_array(out, |a| {
            for tool in &prompt.tools {
                a.object(|o| write_tool(tool, o, losses));
            }
            for tool in own {
                a.raw(tool.raw.as_str());
            }
        });
    });
    if native.is_some_and(|native| native.get("tool_choice").is_some()) {
        return;
    }
    let parallel = prompt.parallel_tool_calls;
    let more = native
        .into_iter()
        .flat_map(Native::fields)
        .any(|(name, _)| name.starts_with("tool_choice."));
    if prompt.tool_choice == ToolChoice::Auto && parallel.is_none() && !more {
        return;
    }
    if prompt.tool_choice == ToolChoice::None && parallel.is_some() {
        losses.add("parallel_tool_calls", "no tool may be called");
    }
    let kind = match &prompt.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Named(_) => "tool",
    };
    object(fields.value("tool_choice"), |o| {
        o.string("type", kind);
        if let ToolChoice::Named(name) = &prompt.tool_choice {
            o.string("name", name);
        }
        if let Some(parallel) = parallel.filter(|_| kind != "none") {
            o.bool("disable_parallel_tool_use", !parallel);
        }
        o.nested(native, "tool_choice");
    });
}

fn write_tool(tool: &Tool, object: &mut Object<'_>, losses: &mut Losses) {
    let native = own_fields(tool, &MESSAGES, losses);
    object.string("name", &tool.name);
    if let Some(description) = &tool.description {
        object.string("description", description);
    }
    match &tool.parameters {
        None => object.raw("input_schema", NO_PARAMETERS),
        Some(schema) => write_schema(schema.as_str(), object),
    }
    if let Some(strict) = tool.strict {
        object.bool("strict", strict);
    }
    write_native(object, native);
}

/// Writes a schema, adding the object type that other dialects allow to be
/// missing.
fn write_schema(schema: &str, object: &mut Object<'_>) {
    let inner = schema.trim().strip_prefix('{').map(str::trim_start);
    match inner {
        Some(inner) if member(schema, "type").is_none() => {
            let comma = if inner == "}" { "" } else { "," };
            object.raw(
                "input_schema",
                &format!(r#"{{"type":"object"{comma}{inner}"#),
            );
        }
        _ => object.raw("input_schema", schema),
    }
}

/// Writes the thinking setting: newer models adapt to an effort, older ones
/// take a budget.
fn write_thinking_setting(prompt: &Prompt, native: Option<&Native>, fields: &mut BodyFields) {
    if native.is_some_and(|native| native.get("thinking").is_some()) {
        return;
    }
    let kind = match (prompt.reasoning_budget, prompt.effort) {
        (Some(_), _) => "enabled",
        (None, Some(Effort::None)) => "disabled",
        (None, Some(_)) => "adaptive",
        (None, None) => return,
    };
    object(fields.value("thinking"), |o| {
        o.string("type", kind);
        if let Some(budget) = prompt.reasoning_budget {
            o.number("budget_tokens", budget);
        }
        o.nested(native, "thinking");
    });
}

fn write_output_config(
    prompt: &Prompt,
    native: Option<&Native>,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let effort = match prompt.effort {
        None | Some(Effort::None) => None,
        Some(Effort::Minimal) => {
            losses.record(LossVerb::Adjusted, "effort", "the lowest effort is `low`");
            Some("low")
        }
        Some(Effort::Low) => Some("low"),
        Some(Effort::Medium) => Some("medium"),
        Some(Effort::High) => Some("high"),
        Some(Effort::XHigh) => Some("xhigh"),
        Some(Effort::Max) => Some("max"),
    };
    let schema = match &prompt.output {
        OutputFormat::Text => None,
        OutputFormat::Json => {
            losses.record(LossVerb::Converted, "output", "written as an instruction");
            None
        }
        OutputFormat::Schema(schema) => {
            if schema.name.is_some() {
                losses.add("output.name", "Messages has no schema names");
            }
            if schema.strict.is_some() {
                losses.add("output.strict", "Messages schemas are always strict");
            }
            Some(&schema.schema)
        }
    };
    if effort.is_none() && schema.is_none() && !has_inside(native, "output_config") {
        return;
    }
    object(fields.value("output_config"), |o| {
        if let Some(effort) = effort {
            o.string("effort", effort);
        }
        if let Some(schema) = schema {
            o.object("format", |o| {
                o.string("type", "json_schema");
                o.raw("schema", schema.as_str());
            });
        }
        o.nested(native, "output_config");
    });
}

fn write_sampling(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    if !prompt.stop.is_empty() {
        write_array(fields.value("stop_sequences"), |a| {
            for text in &prompt.stop {
                a.string(text);
            }
        });
    }
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    if let Some(temperature) = finite(prompt.temperature) {
        if temperature > 1.0 {
            losses.record(
                LossVerb::Adjusted,
                "temperature",
                "the highest temperature is 1",
            );
        }
        fields.put("temperature", temperature.min(1.0));
    }
    if let Some(top_p) = finite(prompt.top_p) {
        fields.put("top_p", top_p);
    }
    if let Some(top_k) = prompt.top_k {
        fields.put("top_k", top_k);
    }
    for (field, is_set) in [
        ("presence_penalty", prompt.presence_penalty.is_some()),
        ("frequency_penalty", prompt.frequency_penalty.is_some()),
        ("seed", prompt.seed.is_some()),
    ] {
        if is_set {
            losses.add(field, "Messages has no such setting");
        }
    }
}

/// Whether any native field belongs inside this one.
fn has_inside(native: Option<&Native>, name: &str) -> bool {
    let inner = |field: &str| field.strip_prefix(name).is_some_and(|f| f.starts_with('.'));
    native.is_some_and(|native| native.fields().any(|(field, _)| inner(field)))
}
