//! Writes a request: untouched, edited, or from scratch.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Message, Prompt, Request, Role, WireSource};
use memchr::memmem;

use super::generation::Generation;
use super::write_message::ContentWriter;
use super::write_part::write_part;
use super::{GEMINI, keys, tools, write_config};
use crate::json::{Array, object, write_array, write_string};
use crate::loss::Losses;
use crate::splice::{self, Edit, Fate, Fields, Origin};
use crate::{Outgoing, Written};

/// Keys that mean the same; a request keeps the one that it came with.
const ALIASES: &[&[&str]] = &[
    &["systemInstruction", "system_instruction"],
    &["toolConfig", "tool_config"],
    &["generationConfig", "generation_config"],
];

/// Writes the body for a target. The model is in the URL.
pub(super) fn write(request: &Request, to: &Outgoing<'_>) -> Written {
    if let Some(source) = request.untouched(&GEMINI) {
        return Written {
            body: untouched(source, to),
            losses: Vec::new(),
        };
    }
    let edited = request
        .source()
        .filter(|source| *source.dialect() == GEMINI)
        .and_then(|source| {
            let text = std::str::from_utf8(source.bytes()).ok()?;
            edited(request, source, text, to)
        });
    edited.unwrap_or_else(|| fresh(request, to))
}

/// The client's own bytes. The rare body that names its model, too, must name
/// the one that is asked.
fn untouched(source: &Bytes, to: &Outgoing<'_>) -> Bytes {
    let is_key = |at: usize| source[at + 7..].trim_ascii_start().starts_with(b":");
    if !memmem::find_iter(source, b"\"model\"").any(is_key) {
        return source.clone();
    }
    let mut out = BytesMut::with_capacity(source.len() + 64);
    let renamed = std::str::from_utf8(source).is_ok_and(|text| rename(text, to, &mut out));
    if renamed {
        out.freeze()
    } else {
        source.clone()
    }
}

/// Copies a request with its `model`, if it has one, replaced.
pub(super) fn rename(source: &str, to: &Outgoing<'_>, out: &mut BytesMut) -> bool {
    let mut model = |key: &str, value: &str, out: &mut BytesMut| match key {
        "model" => {
            write_model(value, to, out);
            Fate::Replace
        }
        _ => Fate::Keep,
    };
    splice::object(source, out, &mut model)
}

/// The name with the prefix that the client gave it.
fn write_model(old: &str, to: &Outgoing<'_>, out: &mut BytesMut) {
    let prefix = old
        .trim_matches('"')
        .rsplit_once('/')
        .map_or(String::new(), |(prefix, _)| format!("{prefix}/"));
    write_string(out, &format!("{prefix}{}", to.model));
}

/// Writes a request that has no bytes of its own.
pub(super) fn fresh(prompt: &Prompt, to: &Outgoing<'_>) -> Written {
    let mut losses = Losses::default();
    let mut fields = fields(prompt, &mut losses);
    let config = write_config::fields(prompt, to, &mut losses);
    add_config(&config, &mut fields);
    let (_, messages) = after_instructions(&prompt.messages);
    let mut body = BytesMut::with_capacity(4_096);
    object(&mut body, |o| {
        write_array(o.value("contents"), |array| {
            let generation = Generation::of(to.model);
            ContentWriter::new(array, messages, HashSet::new(), generation, &mut losses)
                .write(messages);
        });
        fields.write(o);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Splices the changes into the client's own bytes. A question for tokens that
/// holds a whole request keeps its form.
pub(super) fn edited(
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
    let mut unheard = Losses::default();
    let mut old = fields(source.prompt(), &mut unheard);
    let mut new = fields(request, &mut losses);
    let old_config = write_config::fields(source.prompt(), to, &mut unheard);
    let new_config = write_config::fields(request, to, &mut losses);
    if member(text, "generationConfig").is_none() {
        add_config(&old_config, &mut old);
        add_config(&new_config, &mut new);
    }
    let edit = |old, new, aliases| Edit {
        old,
        new,
        aliases,
        streams: false,
    };
    let mut out = BytesMut::with_capacity(source.bytes().len() + 256);
    let spliced =
        edit(&old, &new, ALIASES).splice(text, &mut out, |key, value, out| {
            let replaced =
                match &*keys::camel(key) {
                    "contents" => contents(request, source.prompt(), &raw, to, out, &mut losses),
                    "generationConfig" => edit(&old_config, &new_config, write_config::ALIASES)
                        .splice(value, out, |_, _, _| Fate::Keep),
                    "model" => {
                        write_model(value, to, out);
                        true
                    }
                    _ => false,
                };
            if replaced { Fate::Replace } else { Fate::Keep }
        });
    spliced.then(|| Written {
        body: out.freeze(),
        losses: losses.into_vec(),
    })
}

/// The text of a field, in either spelling.
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

/// The elements of a list, or the one that stands alone.
fn elements(value: &str) -> Vec<&str> {
    splice::elements(value).unwrap_or_else(|| vec![value])
}

/// The conversation, with the bytes of every message that is the same; nothing
/// is written when all of them are.
fn contents(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    to: &Outgoing<'_>,
    out: &mut BytesMut,
    losses: &mut Losses,
) -> bool {
    let (skipped, messages) = after_instructions(&new.messages);
    let origins = &splice::align(&old.messages, &new.messages)[skipped..];
    if origins.len() == raw.len() && origins.iter().all(|o| matches!(o, Origin::Same(_))) {
        return false;
    }
    let generation = Generation::of(to.model);
    write_array(out, |array: &mut Array<'_>| {
        let made_up = made_up(&old.messages, raw);
        let mut writer = ContentWriter::new(array, messages, made_up, generation, losses);
        let mut at = 0;
        while at < messages.len() {
            match origins[at] {
                Origin::Same(from) => writer.keep(&messages[at], raw[from]),
                Origin::Changed(from) => {
                    changed(&mut writer, &old.messages[from], &messages[at], raw[from]);
                }
                Origin::New => {
                    let rest = origins[at..].iter();
                    let end = at + rest.take_while(|o| **o == Origin::New).count();
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

/// A message of which only the parts changed keeps its other fields, and the
/// parts that are the same keep their bytes.
fn changed(writer: &mut ContentWriter<'_, '_, '_, '_>, old: &Message, new: &Message, raw: &str) {
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

/// The ids of calls that the client gave none: they were made up when it was
/// read, and neither call nor answer may get one while the other has none.
fn made_up<'m>(messages: &'m [Message], raw: &[&str]) -> HashSet<&'m str> {
    let mut made_up = HashSet::new();
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
                    made_up.insert(call.id.as_str());
                }
                _ => {}
            }
        }
    }
    made_up
}

/// System messages before everything else are instructions; how many, and what
/// follows them.
fn after_instructions(messages: &[Message]) -> (usize, &[Message]) {
    let count = messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count();
    (count, &messages[count..])
}

fn add_config(config: &Fields, fields: &mut Fields) {
    if !config.is_empty() {
        object(fields.value("generationConfig"), |o| config.write(o));
    }
}

/// Everything but the conversation and `generationConfig`.
fn fields(prompt: &Prompt, losses: &mut Losses) -> Fields {
    let mut fields = Fields::default();
    instructions(prompt, &mut fields, losses);
    tools::write(prompt, &mut fields, losses);
    if prompt.cache_key.is_some() {
        losses.add("cache_key", "Gemini finds its cached prompts by itself");
    }
    if prompt.user.is_some() {
        losses.add("user", "Gemini does not ask who the user is");
    }
    let native = losses.own(prompt.native.as_deref(), &GEMINI);
    for (name, value) in native.into_iter().flat_map(|native| native.fields()) {
        // A dot marks what belongs inside another field, which keeps it.
        if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    fields
}

fn instructions(prompt: &Prompt, fields: &mut Fields, losses: &mut Losses) {
    let (count, _) = after_instructions(&prompt.messages);
    let inline = &prompt.messages[..count];
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
