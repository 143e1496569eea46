//! Writes a request: copied unchanged, spliced, or built from scratch.

use majordomo_llm::{Message, Native, OutputFormat, Prompt, Request, Role, ToolChoice};

use super::CHAT;
use super::write_message::ChatMessageWriter;
use crate::conversation::merge_assistant_messages;
use crate::function_tool;
use crate::json::{Array, Object, object, write_array};
use crate::loss::Losses;
use crate::splice::{self, BodyEdit, BodyFields, ElementOrigin, FieldAction, ToolsField};
use crate::{Outgoing, Written, effort};

/// Synonymous keys; a spliced request keeps the one it used.
const ALIASES: &[&[&str]] = &[
    &["max_completion_tokens", "max_tokens"],
    &["user", "safety_identifier"],
];

/// Writes the body for a target.
pub(super) fn write_request(request: &Request, to: &Outgoing<'_>) -> Written {
    if let Some(body) = splice::untouched(request, &CHAT, to, false) {
        return Written {
            body,
            losses: Vec::new(),
        };
    }
    splice_request(request, to).unwrap_or_else(|| build_request(request, to))
}

/// Builds a request that has no bytes of this dialect.
fn build_request(request: &Request, to: &Outgoing<'_>) -> Written {
    let prompt = request.prompt();
    let mut losses = Losses::default();
    let fields = request_fields(prompt, to, None, &mut losses);
    let mut body = splice::body_buffer(request);
    object(&mut body, |o| {
        o.string("model", to.model);
        write_array(o.value("messages"), |array| {
            let mut writer = ChatMessageWriter::new(array, &mut losses);
            writer.instructions(&prompt.system);
            for message in &merge_assistant_messages(&prompt.messages, &CHAT) {
                writer.write(message);
            }
            writer.finish();
        });
        fields.write(o);
        if to.stream {
            o.bool("stream", true);
            if !has_native(prompt, "stream_options") {
                o.object("stream_options", |o| o.bool("include_usage", true));
            }
        }
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Splices the changes into the client's bytes, if they are in this dialect.
fn splice_request(request: &Request, to: &Outgoing<'_>) -> Option<Written> {
    let source = splice::source(request, &CHAT)?;
    let mut losses = Losses::default();
    let tools = Some(ToolsField::of(source.prompt(), request.prompt()));
    let edit = BodyEdit {
        old: &request_fields(source.prompt(), to, tools, &mut Losses::default()),
        new: &request_fields(request.prompt(), to, tools, &mut losses),
        aliases: ALIASES,
        streams: false,
    };
    let mut up_to_date = same_conversation(request.prompt(), source.prompt());
    let body = edit.write(
        source.bytes(),
        source.spans(),
        to,
        |key, value, out| match key {
            "messages" if !up_to_date => {
                let one_to_one = |raw: &Vec<&str>| raw.len() == source.prompt().messages.len();
                let Some(elements) = splice::elements(value).filter(one_to_one) else {
                    return FieldAction::Keep;
                };
                up_to_date = true;
                write_array(out, |array| {
                    splice_messages(
                        request.prompt(),
                        source.prompt(),
                        &elements,
                        array,
                        &mut losses,
                    );
                });
                FieldAction::Replace
            }
            // OpenRouter's form, superseded by `reasoning_effort`.
            "reasoning" if request.prompt().effort != source.prompt().effort => FieldAction::Remove,
            _ => FieldAction::Keep,
        },
    )?;
    // Without `messages` there is nowhere to splice new ones: build from scratch.
    up_to_date.then(|| Written {
        body,
        losses: losses.into_vec(),
    })
}

fn same_conversation(new: &Prompt, old: &Prompt) -> bool {
    new.messages == old.messages && new.system == old.system
}

/// Writes the messages, copying the bytes of the unchanged ones.
fn splice_messages(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let mut writer = ChatMessageWriter::new(array, losses);
    writer.instructions(&new.system);
    let origins = splice::align(&old.messages, &new.messages);
    for (message, origin) in new.messages.iter().zip(origins) {
        match origin {
            ElementOrigin::Same(from) => writer.keep(message, raw[from]),
            ElementOrigin::Changed(from) => {
                splice_message(&mut writer, &old.messages[from], message, raw[from])
            }
            ElementOrigin::New => writer.write(message),
        }
    }
    writer.finish();
}

/// Splices a message if only its `content` changed, so that other fields and
/// unchanged parts keep their bytes.
fn splice_message(
    writer: &mut ChatMessageWriter<'_, '_, '_>,
    old: &Message,
    new: &Message,
    raw: &str,
) {
    let plain = |m: &Message| matches!(m.role, Role::User | Role::System);
    let elements = splice::member(raw, "content").and_then(splice::elements);
    match elements {
        Some(elements)
            if plain(new)
                && new.role == old.role
                && new.native == old.native
                && new.tool_results().next().is_none()
                && elements.len() == old.parts.len() =>
        {
            writer.splice(old, new, raw, &elements);
        }
        _ => writer.write(new),
    }
}

fn has_native(prompt: &Prompt, name: &str) -> bool {
    let own = prompt.native.as_ref().filter(|n| *n.dialect() == CHAT);
    own.is_some_and(|native| native.get(name).is_some())
}

/// Returns all fields but `model`, `stream` and `messages`. With `spliced_tools`
/// the client sent this dialect, so extensions known to some servers are kept.
fn request_fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    spliced_tools: Option<ToolsField>,
    losses: &mut Losses,
) -> BodyFields {
    let same_dialect = spliced_tools.is_some();
    let tools = spliced_tools.unwrap_or(ToolsField::Written);
    let mut fields = BodyFields::default();
    write_tools(prompt, tools, &mut fields, losses);
    if let OutputFormat::Json | OutputFormat::Schema(_) = &prompt.output {
        let native = prompt.native.as_deref().filter(|n| *n.dialect() == CHAT);
        object(fields.value("response_format"), |o| {
            write_response_format(&prompt.output, native, o);
        });
    }
    if let Some(tokens) = prompt.max_tokens {
        let key = match to.legacy_max_tokens {
            true => "max_tokens",
            false => "max_completion_tokens",
        };
        fields.put(key, tokens);
    }
    for (key, value) in [
        ("temperature", prompt.temperature),
        ("top_p", prompt.top_p),
        ("presence_penalty", prompt.presence_penalty),
        ("frequency_penalty", prompt.frequency_penalty),
    ] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            fields.put(key, value);
        }
    }
    match prompt.top_k {
        Some(k) if same_dialect => fields.put("top_k", k),
        Some(_) => losses.add("top_k", "Chat Completions has no such setting"),
        None => {}
    }
    if let Some(seed) = prompt.seed {
        fields.put("seed", seed);
    }
    if !prompt.stop.is_empty() {
        write_array(fields.value("stop"), |a| {
            for text in &prompt.stop {
                a.string(text);
            }
        });
    }
    if let Some(effort) = prompt.effort {
        fields.string("reasoning_effort", effort::effort_name(effort));
    }
    if prompt.reasoning_budget.is_some() && !same_dialect {
        losses.add(
            "reasoning_budget",
            "Chat Completions has effort levels, not budgets",
        );
    }
    if let Some(key) = &prompt.cache_key {
        fields.string("prompt_cache_key", key);
    }
    if let Some(user) = &prompt.user {
        fields.string("user", user);
    }
    let native = losses.own(prompt.native.as_deref(), &CHAT);
    for (name, value) in native.into_iter().flat_map(|native| native.fields()) {
        // Dotted names belong inside another field, written with it.
        if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    fields
}

fn write_tools(prompt: &Prompt, tools: ToolsField, fields: &mut BodyFields, losses: &mut Losses) {
    let own = |origin: &majordomo_llm::Dialect| *origin == CHAT;
    for hosted in prompt.hosted_tools.iter().filter(|h| !own(&h.origin)) {
        losses.add(
            &format!("tools.{}", hosted.kind),
            format!("a tool hosted by {} only", hosted.origin),
        );
    }
    let hosted: Vec<_> = prompt
        .hosted_tools
        .iter()
        .filter(|h| own(&h.origin))
        .collect();
    if prompt.tools.is_empty() && hosted.is_empty() {
        return;
    }
    fields.tools(tools, |out| {
        write_array(out, |a| {
            for tool in &prompt.tools {
                a.object(|o| function_tool::write_function_tool(tool, o, &CHAT, losses));
            }
            for tool in hosted {
                a.raw(tool.raw.as_str());
            }
        });
    });
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => fields.string("tool_choice", "none"),
        ToolChoice::Required => fields.string("tool_choice", "required"),
        ToolChoice::Named(name) => object(fields.value("tool_choice"), |o| {
            o.string("type", "function");
            o.object("function", |o| o.string("name", name));
        }),
    }
    if let Some(parallel) = prompt.parallel_tool_calls {
        fields.put("parallel_tool_calls", parallel);
    }
}

fn write_response_format(output: &OutputFormat, native: Option<&Native>, object: &mut Object<'_>) {
    let OutputFormat::Schema(schema) = output else {
        return object.string("type", "json_object");
    };
    object.string("type", "json_schema");
    object.object("json_schema", |o| {
        o.string("name", schema.name.as_deref().unwrap_or("response"));
        o.raw("schema", schema.schema.as_str());
        if let Some(strict) = schema.strict {
            o.bool("strict", strict);
        }
        o.nested(native, "response_format.json_schema");
    });
}
