//! Assembles the content blocks of a stream from deltas.

use bytes::BytesMut;
use majordomo_llm::{Event, Json, Native, Part, ToolCall};

use super::MESSAGES;
use super::opaque::OPAQUE;
use super::stream_event::MessagesDelta;
use super::write_part::is_redacted;
use crate::json::{keep, write_string};
use crate::splice::{self, FieldAction};

/// Blocks that have started and not ended; nearly always one.
#[derive(Default)]
pub(super) struct MessagesOpenBlocks {
    open: Vec<(u64, MessagesOpenBlock)>,
    /// Tool calls so far; block indexes on the wire may restart.
    calls: usize,
    begun: bool,
}

enum MessagesOpenBlock {
    Text {
        citations: String,
        native: Option<Box<Native>>,
    },
    Thinking {
        emitted: bool,
        signature: Option<String>,
        native: Option<Box<Native>>,
    },
    Call {
        number: usize,
        /// Input from the start event, for servers that send all of it there.
        input: Option<String>,
    },
    Whole {
        part: Part,
        raw: String,
        json: String,
        texts: Vec<(String, String)>,
    },
}

impl MessagesOpenBlocks {
    /// Whether the response calls tools.
    pub(super) fn have_calls(&self) -> bool {
        self.calls > 0
    }

    /// Whether any block has started.
    pub(super) fn have_begun(&self) -> bool {
        self.begun
    }

    /// Starts a block, ending every other block that is not a tool call.
    pub(super) fn start(&mut self, index: u64, part: Part, raw: &str, events: &mut Vec<Event>) {
        let ends = |(at, block): &(u64, MessagesOpenBlock)| {
            *at == index || !matches!(block, MessagesOpenBlock::Call { .. })
        };
        while let Some(at) = self.open.iter().position(ends) {
            self.open.remove(at).1.end(events);
        }
        self.begun = true;
        let block = match part {
            Part::Text(text) => {
                if !text.text.is_empty() {
                    events.push(Event::Text(text.text));
                }
                MessagesOpenBlock::Text {
                    citations: String::new(),
                    native: text.native,
                }
            }
            Part::Reasoning(reasoning) if !reasoning.native.as_deref().is_some_and(is_redacted) => {
                let emitted = !reasoning.text.is_empty();
                if emitted {
                    events.push(Event::Reasoning(reasoning.text));
                }
                MessagesOpenBlock::Thinking {
                    emitted,
                    signature: None,
                    native: reasoning.native,
                }
            }
            Part::ToolCall(call) => self.start_call(call, events),
            part @ (Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => MessagesOpenBlock::Whole {
                part,
                raw: raw.to_owned(),
                json: String::new(),
                texts: Vec::new(),
            },
        };
        self.open.push((index, block));
    }

    fn start_call(&mut self, call: ToolCall, events: &mut Vec<Event>) -> MessagesOpenBlock {
        let number = self.calls;
        self.calls += 1;
        events.push(Event::ToolCallStart {
            index: number,
            id: Some(call.id).filter(|id| !id.is_empty()),
            name: call.name,
            native: call.native,
        });
        MessagesOpenBlock::Call {
            number,
            input: Some(call.arguments).filter(|input| input != "{}"),
        }
    }

    /// Emits a whole block.
    pub(super) fn push_whole(&mut self, part: Part, events: &mut Vec<Event>) {
        self.begun = true;
        match part {
            Part::ToolCall(call) => self.start_call(call, events).end(events),
            part @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => events.push(Event::Part(part)),
        }
    }

    /// Extends a block. A text block needs no start event.
    pub(super) fn delta(&mut self, index: u64, delta: MessagesDelta<'_>, events: &mut Vec<Event>) {
        if let Some((_, block)) = self.open.iter_mut().find(|(at, _)| *at == index) {
            return block.extend(delta, events);
        }
        if let Some(text) = delta.text {
            self.start(index, Part::text(text), "", events);
        }
    }

    pub(super) fn stop(&mut self, index: u64, events: &mut Vec<Event>) {
        if let Some(at) = self.open.iter().position(|(open, _)| *open == index) {
            self.open.remove(at).1.end(events);
        }
    }

    /// Ends all blocks at the end of the stream.
    pub(super) fn end_all(&mut self, events: &mut Vec<Event>) {
        for (_, block) in self.open.drain(..) {
            block.end(events);
        }
    }
}

impl MessagesOpenBlock {
    fn extend(&mut self, delta: MessagesDelta<'_>, events: &mut Vec<Event>) {
        match self {
            Self::Text { citations, .. } => {
                if let Some(text) = delta.text.filter(|text| !text.is_empty()) {
                    events.push(Event::Text(text.into_owned()));
                }
                if let Some(citation) = delta.citation {
                    citations.push_str(if citations.is_empty() { "" } else { "," });
                    citations.push_str(citation);
                }
            }
            Self::Thinking {
                emitted, signature, ..
            } => {
                if let Some(text) = delta.thinking.filter(|text| !text.is_empty()) {
                    *emitted = true;
                    events.push(Event::Reasoning(text.into_owned()));
                }
                if let Some(whole) = delta.signature {
                    *signature = Some(whole.into_owned());
                }
            }
            Self::Call { number, input } => {
                if let Some(json) = delta.partial_json.filter(|json| !json.is_empty()) {
                    *input = None;
                    events.push(Event::ToolCallArguments {
                        index: *number,
                        fragment: json.into_owned(),
                    });
                }
            }
            Self::Whole { json, texts, .. } => {
                json.push_str(&delta.partial_json.unwrap_or_default());
                let text = delta.text.map(|text| ("text".to_owned(), text));
                for (key, more) in delta.others.into_iter().chain(text) {
                    match texts.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, text)) => text.push_str(&more),
                        None => texts.push((key, more.into_owned())),
                    }
                }
            }
        }
    }

    fn end(self, events: &mut Vec<Event>) {
        match self {
            Self::Text { citations, native } => {
                let list = format!("[{citations}]");
                let added = (!citations.is_empty()).then(|| ("citations", keep(&list)));
                events.push(Event::EndPart(with_field(native, added)));
            }
            Self::Thinking {
                emitted,
                signature,
                native,
            } => {
                // State without text still needs a part to attach to.
                if !emitted {
                    events.push(Event::Reasoning(String::new()));
                }
                let added = signature.map(|text| ("signature", Json::string(&text)));
                events.push(Event::EndPart(with_field(native, added)));
            }
            Self::Call { number, input } => {
                if let Some(fragment) = input {
                    events.push(Event::ToolCallArguments {
                        index: number,
                        fragment,
                    });
                }
                events.push(Event::ToolCallEnd { index: number });
            }
            Self::Whole {
                part,
                raw,
                json,
                texts,
            } => events.push(Event::Part(complete(part, &raw, &json, &texts))),
        }
    }
}

/// Adds a native field, replacing the one from the start event.
fn with_field(native: Option<Box<Native>>, added: Option<(&str, Json)>) -> Option<Box<Native>> {
    let Some((name, value)) = added else {
        return native;
    };
    let mut all = Native::new(MESSAGES);
    for (known, value) in native.iter().flat_map(|native| native.fields()) {
        if known != name && known != "field" {
            all.push(known, value.clone());
        }
    }
    all.push(name, value);
    all.into_option()
}

/// Completes an opaque block with the content of its deltas.
fn complete(part: Part, raw: &str, json: &str, texts: &[(String, String)]) -> Part {
    let Part::Opaque(block) = part else {
        return part;
    };
    let input = Json::parse(json.to_owned()).ok();
    if input.is_none() && texts.is_empty() {
        return Part::Opaque(block);
    }
    let mut out = BytesMut::with_capacity(raw.len() + json.len());
    let mut filled = |key: &str, _: &str, out: &mut BytesMut| {
        if let (Some(input), "input") = (&input, key) {
            out.extend_from_slice(input.as_str().as_bytes());
            return FieldAction::Replace;
        }
        match texts.iter().find(|(name, _)| name == key) {
            Some((_, text)) => {
                write_string(out, text);
                FieldAction::Replace
            }
            None => FieldAction::Keep,
        }
    };
    splice::object(raw, &mut out, &mut filled);
    match Json::parse(String::from_utf8_lossy(&out)) {
        Ok(raw) => OPAQUE.part_of(block.kind, raw),
        Err(_) => Part::Opaque(block),
    }
}
