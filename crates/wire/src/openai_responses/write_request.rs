//! Writes a request: unedited, edited, or from scratch.

use bytes::BytesMut;
use majordomo_llm::{Native, OutputFormat, Prompt, Request};

use super::RESPONSES;
use super::write_message::ResponsesMessageWriter;
use super::write_tools::write_tools;
use crate::json::{Array, Object, object, write_array};
use crate::loss::Losses;
use crate::splice::{self, BodyEdit, BodyFields, ElementOrigin, FieldAction};
use crate::{Outgoing, Written, effort};

/// Synonymous keys; a request keeps the one it came with.
const ALIASES: &[&[&str]] = &[&["safety_identifier", "user"]];

/// Writes the body for a target.
pub(super) fn write_request(request: &Request, to: &Outgoing<'_>) -> Written {
    if let Some(body) = splice::untouched(request, &RESPONSES, to, false) {
        return Written {
            body,
            losses: Vec::new(),
        };
    }
    splice_request(request, to).unwrap_or_else(|| build_request(request.prompt(), to))
}

fn build_request(prompt: &Prompt, to: &Outgoing<'_>) -> Written {
    let mut losses = Losses::default();
    let mut fields = request_fields(prompt, &mut losses);
    let own = prompt
        .native
        .as_deref()
        .filter(|n| *n.dialect() == RESPONSES);
    if let (Some(store), None) = (to.store, own.and_then(|native| native.get("store"))) {
        fields.put("store", store);
    }
    let mut body = BytesMut::with_capacity(4_096);
    object(&mut body, |o| {
        o.string("model", to.model);
        o.array("input", |array| {
            let mut writer = ResponsesMessageWriter::new(array, &mut losses);
            for message in &prompt.messages {
                writer.write(message);
            }
        });
        fields.write(o);
        if to.stream {
            o.bool("stream", true);
        }
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Splices the changes into the client's own bytes, if they are of this
/// dialect.
fn splice_request(request: &Request, to: &Outgoing<'_>) -> Option<Written> {
    let source = splice::source(request, &RESPONSES)?;
    let mut losses = Losses::default();
    let edit = BodyEdit {
        old: &request_fields(source.prompt(), &mut Losses::default()),
        new: &request_fields(request.prompt(), &mut losses),
        aliases: ALIASES,
        streams: false,
    };
    // A request without `input` has no place for new messages.
    let mut placed = request.prompt().messages == source.prompt().messages;
    let body = edit.write(source.bytes(), source.spans(), to, |key, value, out| {
        if key != "input" || placed {
            return FieldAction::Keep;
        }
        placed = true;
        let elements = splice::elements(value).unwrap_or_default();
        write_array(out, |array| {
            write_messages(
                request.prompt(),
                source.prompt(),
                &elements,
                array,
                &mut losses,
            );
        });
        FieldAction::Replace
    })?;
    placed.then(|| Written {
        body,
        losses: losses.into_vec(),
    })
}

/// Writes the conversation, reusing the text of every unchanged item.
fn write_messages(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let mut writer = ResponsesMessageWriter::new(array, losses);
    // A conversation that was a single string has no items to reuse.
    let origins = match raw.len() == old.messages.len() {
        true => splice::align(&old.messages, &new.messages),
        false => vec![ElementOrigin::New; new.messages.len()],
    };
    for (message, origin) in new.messages.iter().zip(origins) {
        match origin {
            ElementOrigin::Same(from) => writer.keep(message, raw[from]),
            ElementOrigin::Changed(from)
                if writer.splice(&old.messages[from], message, raw[from]) => {}
            _ => writer.write(message),
        }
    }
}

/// Writes every field except model, stream and input.
pub(super) fn request_fields(prompt: &Prompt, losses: &mut Losses) -> BodyFields {
    let mut fields = BodyFields::default();
    let native = losses.own(prompt.native.as_deref(), &RESPONSES);
    write_instructions(prompt, &mut fields, losses);
    write_tools(prompt, &mut fields, losses);
    write_nested(native, "text", &mut fields, |o| {
        write_format(prompt, native, o)
    });
    write_nested(native, "reasoning", &mut fields, |o| {
        if let Some(effort) = prompt.effort {
            o.string("effort", effort::effort_name(effort));
        }
    });
    if let Some(tokens) = prompt.max_tokens {
        fields.put("max_output_tokens", tokens);
    }
    for (key, value) in [("temperature", prompt.temperature), ("top_p", prompt.top_p)] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            fields.put(key, value);
        }
    }
    if let Some(key) = &prompt.cache_key {
        fields.string("prompt_cache_key", key);
    }
    if let Some(user) = &prompt.user {
        fields.string("safety_identifier", user);
    }
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        // A dot marks a field that belongs inside another one.
        if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    note_unsupported_settings(prompt, losses);
    fields
}

/// Records losses of settings that the dialect lacks.
fn note_unsupported_settings(prompt: &Prompt, losses: &mut Losses) {
    let missing = [
        ("top_k", prompt.top_k.is_some()),
        ("presence_penalty", prompt.presence_penalty.is_some()),
        ("frequency_penalty", prompt.frequency_penalty.is_some()),
        ("seed", prompt.seed.is_some()),
        ("stop", !prompt.stop.is_empty()),
    ];
    for (name, _) in missing.iter().filter(|(_, is_set)| *is_set) {
        losses.add(name, "Responses has no such setting");
    }
    if prompt.reasoning_budget.is_some() {
        losses.add(
            "reasoning_budget",
            "Responses has effort levels, not budgets",
        );
    }
}

fn write_instructions(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    for text in &prompt.system {
        losses.own(text.native.as_deref(), &RESPONSES);
    }
    if !prompt.system.is_empty() {
        let texts: Vec<_> = prompt.system.iter().map(|text| &*text.text).collect();
        fields.string("instructions", &texts.join("\n\n"));
    }
}

/// Writes an object-valued setting, unless it is empty.
fn write_nested(
    native: Option<&Native>,
    key: &str,
    fields: &mut BodyFields,
    fill: impl FnOnce(&mut Object<'_>),
) {
    let mut value = BytesMut::new();
    object(&mut value, |o| {
        fill(o);
        for (name, value) in native.into_iter().flat_map(Native::fields) {
            let inner = name.strip_prefix(key).and_then(|n| n.strip_prefix('.'));
            if let Some(inner) = inner.filter(|inner| !inner.contains('.')) {
                o.raw(inner, value.as_str());
            }
        }
    });
    if value != "{}" {
        *fields.value(key) = value;
    }
}

fn write_format(prompt: &Prompt, native: Option<&Native>, object: &mut Object<'_>) {
    match &prompt.output {
        OutputFormat::Text => {}
        OutputFormat::Json => object.object("format", |o| o.string("type", "json_object")),
        OutputFormat::Schema(schema) => object.object("format", |o| {
            o.string("type", "json_schema");
            o.string("name", schema.name.as_deref().unwrap_or("response"));
            o.raw("schema", schema.schema.as_str());
            if let Some(strict) = schema.strict {
                o.bool("strict", strict);
            }
            o.nested(native, "text.format");
        }),
    }
}
