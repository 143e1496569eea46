//! Writes a request: copied unchanged, spliced, or built from scratch.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Message, Prompt, Request, Role, WireSource};
use memchr::memmem;

use super::generation::GeminiGeneration;
use super::write_message::GeminiContentWriter;
use super::write_part::write_part;
use super::{GEMINI, keys, tools, write_config};
use crate::json::{Array, object, write_array, write_string};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, BodyEdit, BodyFields, ElementOrigin, FieldAction};
use crate::{Outgoing, Written};

/// Synonymous keys; a spliced request keeps the one it used.
const ALIASES: &[&[&str]] = &[
    &["systemInstruction", "system_instruction"],
    &["toolConfig", "tool_config"],
    &["generationConfig", "generation_config"],
];

/// Writes the body for a target. The model is in the URL.
pub(super) fn write_request(request: &Request, to: &Outgoing<'_>) -> Written {
    if let Some(source) = request.untouched(&GEMINI) {
        return Written {
            body: copy_request(source, to),
            losses: Vec::new(),
        };
    }
    let spliced = splice::source(request, &GEMINI).and_then(|source| {
        let text = std::str::from_utf8(source.bytes()).ok()?;
        splice_request(request, source, text, to)
    });
    spliced.unwrap_or_else(|| build_request(request.prompt(), to))
}

/// Copies the client's bytes. In the rare body that has a `model`, it is replaced.
fn copy_request(source: &Bytes, to: &Outgoing<'_>) -> Bytes {
    let is_key = |at: usize| source[at + 7..].trim_ascii_start().starts_with(b":");
    if !memmem::find_iter(source, b"\"model\"").any(is_key) {
        return source.clone();
    }
    let mut out = BytesMut::with_capacity(source.len() + 64);
    let replaced = std::str::from_utf8(source).is_ok_and(|text| replace_model(text, to, &mut out));
    if replaced {
        out.freeze()
    } else {
        source.clone()
    }
}

/// Copies a request, replacing its `model` if it has one.
pub(super) fn replace_model(source: &str, to: &Outgoing<'_>, out: &mut BytesMut) -> bool {
    let mut model = |key: &str, value: &str, out: &mut BytesMut| match key {
        "model" => {
            write_model(value, to, out);
            FieldAction::Replace
        }
        _ => FieldAction::Keep,
    };
    splice::object(source, out, &mut model)
}

/// Writes the target's model name with the prefix the client used.
fn write_model(old: &str, to: &Outgoing<'_>, out: &mut BytesMut) {
    let prefix = old
        .trim_matches('"')
        .rsplit_once('/')
        .map_or(String::new(), |(prefix, _)| format!("{prefix}/"));
    write_string(out, &format!("{prefix}{}", to.model));
}

/// Builds a request that has no bytes of this dialect.
pub(super) fn build_request(prompt: &Prompt, to: &Outgoing<'_>) -> Written {
    let mut losses = Losses::default();
    let mut fields = request_fields(prompt, &mut losses);
    let config = write_config::generation_config_fields(prompt, to, &mut losses);
    add_config(&config, &mut fields);
    let messages = &*conversation(&prompt.messages);
    let mut body = BytesMut::with_capacity(4_096);
    object(&mut body, |o| {
        write_array(o.value("contents"), |array| {
            let generation = GeminiGeneration::of(to.model);
            GeminiContentWriter::new(array, messages, HashSet::new(), generation, &mut losses)
                .write(messages);
        });
        fields.write(o);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Splices the changes into the client's bytes. A `countTokens` request that nests
/// a complete request keeps its form.
pub(super) fn splice_request(
    request: &Request,
    source: &WireSource,
    text: &str,
    to: &Outgoing<'_>,
) -> Option<Written> {
    let raw = elements(member(text, "contents")?);
    if raw.len() != source.prompt().messages.len() {
        return None;
    }
    let mut losses = Losses::default();
    let mut ignored = Losses::default();
    let mut old = request_fields(source.prompt(), &mut ignored);
    let mut new = request_fields(request.prompt(), &mut losses);
    let old_config = write_config::generation_config_fields(source.prompt(), to, &mut ignored);
    let new_config = write_config::generation_config_fields(request.prompt(), to, &mut losses);
    if member(text, "generationConfig").is_none() {
        add_config(&old_config, &mut old);
        add_config(&new_config, &mut new);
    }
    let edit = |old, new, aliases| BodyEdit {
        old,
        new,
        aliases,
        streams: false,
    };
    let mut out = BytesMut::with_capacity(source.bytes().len() + 256);
    let spliced =
        edit(&old, &new, ALIASES).splice(text, &mut out, |key, value, out| {
            let replaced =
                match &*keys::camel_case(key) {
                    "contents" => splice_contents(
                        request.prompt(),
                        source.prompt(),
                        &raw,
                        to,
                        out,
                        &mut losses,
                    ),
                    "generationConfig" => edit(&old_config, &new_config, write_config::ALIASES)
                        .splice(value, out, |_, _, _| FieldAction::Keep),
                    "model" => {
                        write_model(value, to, out);
                        true
                    }
                    _ => false,
                };
            if replaced {
                FieldAction::Replace
            } else {
                FieldAction::Keep
            }
        });
    spliced.then(|| Written {
        body: out.freeze(),
        losses: losses.into_vec(),
    })
}

/// Returns the JSON of a field, in either spelling.
pub(super) fn member<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    splice::member(source, name).or_else(|| {
        let snake = name.chars().fold(String::new(), |mut snake, c| {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
            snake
        });
        splice::member(source, &snake)
    })
}

/// Returns the elements of an array, or the single value in its place.
fn elements(value: &str) -> Vec<&str> {
    splice::elements(value).unwrap_or_else(|| vec![value])
}

/// Writes `contents`, copying the bytes of unchanged messages. Returns false, and
/// writes nothing, if none changed.
fn splice_contents(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    to: &Outgoing<'_>,
    out: &mut BytesMut,
    losses: &mut Losses,
) -> bool {
    let messages = &*conversation(&new.messages);
    let origins = splice::align(&old.messages, &new.messages);
    let origins = new.messages.iter().zip(origins);
    let origins = origins.filter(|(message, _)| message.role != Role::System);
    let origins: Vec<ElementOrigin> = origins.map(|(_, origin)| origin).collect();
    if origins.len() == raw.len() && origins.iter().all(|o| matches!(o, ElementOrigin::Same(_))) {
        return false;
    }
    let generation = GeminiGeneration::of(to.model);
    write_array(out, |array: &mut Array<'_>| {
        let generated_ids = generated_ids(&old.messages, raw);
        let mut writer =
            GeminiContentWriter::new(array, messages, generated_ids, generation, losses);
        let mut at = 0;
        while at < messages.len() {
            match origins[at] {
                ElementOrigin::Same(from) => writer.keep(&messages[at], raw[from]),
                ElementOrigin::Changed(from) => {
                    splice_message(&mut writer, &old.messages[from], &messages[at], raw[from]);
                }
                ElementOrigin::New => {
                    let rest = origins[at..].iter();
                    let end = at + rest.take_while(|o| **o == ElementOrigin::New).count();
                    writer.write(&messages[at..end]);
                    at = end;
                    continue;
                }
            }
            at += 1;
        }
    });
    true
}

/// Splices a message if only its `parts` changed, so that other fields and
/// unchanged parts keep their bytes.
fn splice_message(
    writer: &mut GeminiContentWriter<'_, '_, '_, '_>,
    old: &Message,
    new: &Message,
    raw: &str,
) {
    let texts = member(raw, "parts").map(elements);
    match texts {
        Some(texts)
            if new.role == old.role
                && new.native == old.native
                && !new.parts.is_empty()
                && texts.len() == old.parts.len() =>
        {
            writer.splice(old, new, raw, &texts);
        }
        _ => writer.write(std::slice::from_ref(new)),
    }
}

/// Returns the ids generated for calls the client sent without one. They are not
/// written, since call and result must either both have an id or neither.
fn generated_ids<'m>(messages: &'m [Message], raw: &[&str]) -> HashSet<&'m str> {
    let mut generated = HashSet::new();
    for (message, raw) in messages.iter().zip(raw) {
        let mut calls = message.tool_calls();
        if message.tool_calls().next().is_none() {
            continue;
        }
        for part in member(raw, "parts").map(elements).unwrap_or_default() {
            let Some(written) = member(part, "functionCall") else {
                continue;
            };
            match calls.next() {
                Some(call) if splice::member(written, "id").is_none() => {
                    generated.insert(call.id.as_str());
                }
                _ => {}
            }
        }
    }
    generated
}

/// Returns the messages without the system messages, which are instructions at any position.
fn conversation(messages: &[Message]) -> Cow<'_, [Message]> {
    let is_system = |message: &Message| message.role == Role::System;
    let first = messages.iter().take_while(|m| is_system(m)).count();
    let rest = &messages[first..];
    match rest.iter().any(is_system) {
        false => Cow::Borrowed(rest),
        true => rest.iter().filter(|m| !is_system(m)).cloned().collect(),
    }
}

fn add_config(config: &BodyFields, fields: &mut BodyFields) {
    if !config.is_empty() {
        object(fields.value("generationConfig"), |o| config.write(o));
    }
}

/// Returns all fields but `contents` and `generationConfig`.
fn request_fields(prompt: &Prompt, losses: &mut Losses) -> BodyFields {
    let mut fields = BodyFields::default();
    write_system_instruction(prompt, &mut fields, losses);
    tools::write_tools(prompt, &mut fields, losses);
    if prompt.cache_key.is_some() {
        losses.add("cache_key", "Gemini caches prompts implicitly");
    }
    if prompt.user.is_some() {
        losses.add("user", "Gemini has no user identifier");
    }
    let native = losses.own(prompt.native.as_deref(), &GEMINI);
    for (name, value) in native.into_iter().flat_map(|native| native.fields()) {
        // Dotted names belong inside another field, written with it.
        if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    fields
}

fn write_system_instruction(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    let inline = prompt.messages.iter().filter(|m| m.role == Role::System);
    let mut others_first = prompt.messages.iter();
    others_first.find(|message| message.role != Role::System);
    if others_first.any(|message| message.role == Role::System) {
        losses.record(
            LossVerb::Folded,
            "system",
            "Gemini takes instructions only before the conversation",
        );
    }
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == GEMINI);
    let others = own.and_then(|native| native.get("systemInstruction.parts"));
    let mut parts = BytesMut::new();
    write_array(&mut parts, |array| {
        for text in &prompt.system {
            write_part(&majordomo_llm::Part::Text(text.clone()), array, losses);
        }
        for message in inline {
            losses.own(message.native.as_deref(), &GEMINI);
            for part in &message.parts {
                write_part(part, array, losses);
            }
        }
        for raw in others.map(|raw| elements(raw.as_str())).unwrap_or_default() {
            array.raw(raw);
        }
    });
    if &parts[..] != b"[]" {
        object(fields.value("systemInstruction"), |o| {
            o.value("parts").extend_from_slice(&parts);
        });
    }
}
