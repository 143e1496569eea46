//! Writes a request: untouched, edited, or from scratch.

use bytes::BytesMut;
use majordomo_llm::{Message, OutputFormat, Prompt, Request, Role};

use super::generate::{Form, form};
use super::write_fields::{fields, has_truncate};
use super::write_message::{MessageWriter, same_but_for_content};
use super::write_part::Content;
use super::{OLLAMA, Thinking, image, options};
use crate::conversation::joined;
use crate::json::{Array, object, write_array};
use crate::loss::Losses;
use crate::splice::{self, Edit, Fate, Fields, Origin};
use crate::{Outgoing, Written};

/// Writes the body for a target.
pub(super) fn write(request: &Request, to: &Outgoing<'_>) -> Written {
    let shaped = (to.ollama.num_ctx.is_some() && !options::has_window(request))
        || (to.ollama.refuse_overlong && !has_truncate(request))
        || (to.ollama.thinking != Thinking::default() && request.effort.is_some())
        || in_words(request, to).is_some();
    match request.untouched(&OLLAMA) {
        Some(source) if !shaped => Written {
            body: splice::untouched(source, to, true),
            losses: Vec::new(),
        },
        _ => edited(request, to).unwrap_or_else(|| fresh(request, to)),
    }
}

fn fresh(prompt: &Prompt, to: &Outgoing<'_>) -> Written {
    let mut losses = Losses::default();
    let form = form(prompt);
    let mut fields = fields(prompt, to, false, &mut losses);
    if form == Form::Generate {
        question(prompt, to, true, &mut fields, &mut losses);
    }
    let options = options::fields(prompt, to.ollama.num_ctx);
    let mut body = BytesMut::with_capacity(4_096);
    object(&mut body, |o| {
        o.string("model", to.model);
        if form == Form::Chat {
            write_array(o.value("messages"), |array| {
                conversation(prompt, to, array, &mut losses);
            });
        }
        fields.write(o);
        if !options.is_empty() {
            o.object("options", |o| options.write(o));
        }
        // Never left out: silence means a stream.
        o.bool("stream", to.stream);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// All messages, the instructions in front.
fn conversation(prompt: &Prompt, to: &Outgoing<'_>, array: &mut Array<'_>, losses: &mut Losses) {
    let is_system = |message: &&Message| message.role == Role::System;
    let leading = prompt.messages.iter().take_while(is_system).count();
    if prompt.messages.iter().skip(leading).any(|m| is_system(&m)) {
        losses.add("system", "moved to the front, where templates look for it");
    }
    let mut writer = MessageWriter::new(array, losses, &prompt.messages);
    let inline = prompt.messages.iter().filter(is_system);
    writer.instructions(&prompt.system, inline, in_words(prompt, to).as_deref());
    let joined = joined(&prompt.messages, &OLLAMA);
    for message in joined.iter().filter(|m| m.role != Role::System) {
        writer.write(message);
    }
}

/// Splices the changes into the client's own bytes, if they are of this dialect
/// and still of the same form.
fn edited(request: &Request, to: &Outgoing<'_>) -> Option<Written> {
    let source = request.source().filter(|s| *s.dialect() == OLLAMA)?;
    let (old, new): (&Prompt, &Prompt) = (source.prompt(), request);
    let text = std::str::from_utf8(source.bytes()).ok()?;
    let form = form(new);
    let is_chat = splice::member(text, "messages").is_some();
    if form != self::form(old) || (form == Form::Chat && !is_chat && !new.messages.is_empty()) {
        return None;
    }
    let plain = Outgoing {
        ollama: Default::default(),
        ..to.clone()
    };
    let mut losses = Losses::default();
    let mut old_fields = fields(old, &plain, true, &mut Losses::default());
    let mut new_fields = fields(new, to, true, &mut losses);
    if form == Form::Generate {
        let pictures = pictures(old) != pictures(new);
        question(
            old,
            &plain,
            pictures,
            &mut old_fields,
            &mut Losses::default(),
        );
        question(new, to, pictures, &mut new_fields, &mut losses);
    }
    let old_options = options::fields(old, None);
    let new_options = options::fields(new, to.ollama.num_ctx);
    let inside = splice::member(text, "options").is_some_and(|value| value.starts_with('{'));
    if !inside && !new_options.is_empty() {
        object(new_fields.value("options"), |o| new_options.write(o));
    }
    let edit = Edit {
        old: &old_fields,
        new: &new_fields,
        aliases: &[],
        streams: true,
    };
    let body = edit.write(source.bytes(), to, |key, value, out| match key {
        "messages" if !same_conversation(new, old, to) => {
            let Some(elements) = splice::elements(value) else {
                return Fate::Keep;
            };
            write_array(out, |array| {
                messages(new, old, &elements, to, array, &mut losses);
            });
            Fate::Replace
        }
        "options" if inside && old_options != new_options => {
            let edit = Edit {
                old: &old_options,
                new: &new_options,
                aliases: &[],
                streams: true,
            };
            match edit.splice(value, out, |_, _, _| Fate::Keep) {
                true => Fate::Replace,
                false => Fate::Keep,
            }
        }
        _ => Fate::Keep,
    })?;
    Some(Written {
        body,
        losses: losses.into_vec(),
    })
}

fn same_conversation(new: &Prompt, old: &Prompt, to: &Outgoing<'_>) -> bool {
    new.messages == old.messages && new.system == old.system && in_words(new, to).is_none()
}

/// The conversation, with the bytes of every message that is the same. Added
/// instructions join the first message if that holds some.
fn messages(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    to: &Outgoing<'_>,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let mut writer = MessageWriter::new(array, losses, &new.messages);
    let in_words = in_words(new, to);
    let adds = in_words.is_some() || !new.system.is_empty();
    let mut origins = splice::align(&old.messages, &new.messages);
    let mut rest = new.messages.as_slice();
    if adds {
        let joined = rest.first().filter(|first| first.role == Role::System);
        writer.instructions(&new.system, joined, in_words.as_deref());
        if joined.is_some() {
            rest = &rest[1..];
            origins.remove(0);
        }
    }
    for (message, origin) in rest.iter().zip(origins) {
        match origin {
            Origin::Same(from) => writer.keep(message, raw[from]),
            Origin::Changed(from) if same_but_for_content(&old.messages[from], message) => {
                writer.splice(&old.messages[from], message, raw[from]);
            }
            _ => writer.write(message),
        }
    }
}

/// The schema as an instruction, for servers that ignore `format`.
fn in_words(prompt: &Prompt, to: &Outgoing<'_>) -> Option<String> {
    match &prompt.output {
        OutputFormat::Schema(output) if to.ollama.schema_in_words => Some(format!(
            "Answer with one JSON value that satisfies this JSON Schema, and with nothing else: \
             no markdown, no code fence, no explanation.\n{}",
            output.schema.as_str()
        )),
        _ => None,
    }
}

fn pictures(prompt: &Prompt) -> Vec<&majordomo_llm::Part> {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| image::belongs(part)).collect()
}

/// Adds what a generate request asks.
fn question(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    pictures: bool,
    fields: &mut Fields,
    losses: &mut Losses,
) {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let content = Content::of(parts, "\n\n", losses);
    fields.string("prompt", &content.text);
    let mut system: Vec<String> = prompt.system.iter().map(|t| t.text.clone()).collect();
    system.extend(in_words(prompt, to));
    if !system.is_empty() {
        fields.string("system", &system.join("\n\n"));
    }
    if pictures && !content.pictures.is_empty() {
        write_array(fields.value("images"), |array| {
            for picture in &content.pictures {
                image::write(picture, array);
            }
        });
    }
}
