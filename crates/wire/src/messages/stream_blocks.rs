//! The blocks of a stream, put together from deltas.

use bytes::BytesMut;
use majordomo_llm::{Event, Json, Native, Opaque, Part, ToolCall};

use super::MESSAGES;
use super::stream_event::Delta;
use super::write_part::is_redacted;
use crate::json::{keep, write_string};
use crate::splice::{self, Fate};

/// Blocks that have begun and not ended; nearly always one.
#[derive(Default)]
pub(super) struct Blocks {
    open: Vec<(u64, Block)>,
    /// How many calls there were; the wire's own indexes may start over.
    calls: usize,
}

enum Block {
    Text {
        citations: String,
        native: Option<Box<Native>>,
    },
    Thinking {
        told: bool,
        signature: Option<String>,
        native: Option<Box<Native>>,
    },
    Call {
        number: usize,
        /// What the start said, for servers that say all of it there.
        input: Option<String>,
    },
    Whole {
        part: Part,
        raw: String,
        json: String,
        texts: Vec<(String, String)>,
    },
}

impl Blocks {
    /// Whether the answer asked for tools.
    pub(super) fn have_calls(&self) -> bool {
        self.calls > 0
    }

    /// A block begins, and with it ends every other one that is no call.
    pub(super) fn start(&mut self, index: u64, part: Part, raw: &str, events: &mut Vec<Event>) {
        let ends =
            |(at, block): &(u64, Block)| *at == index || !matches!(block, Block::Call { .. });
        while let Some(at) = self.open.iter().position(ends) {
            self.open.remove(at).1.end(events);
        }
        let block = match part {
            Part::Text(text) => {
                if !text.text.is_empty() {
                    events.push(Event::Text(text.text));
                }
                Block::Text {
                    citations: String::new(),
                    native: text.native,
                }
            }
            Part::Reasoning(thought) if !thought.native.as_deref().is_some_and(is_redacted) => {
                let told = !thought.text.is_empty();
                if told {
                    events.push(Event::Reasoning(thought.text));
                }
                Block::Thinking {
                    told,
                    signature: None,
                    native: thought.native,
                }
            }
            Part::ToolCall(call) => self.call(call, events),
            part => Block::Whole {
                part,
                raw: raw.to_owned(),
                json: String::new(),
                texts: Vec::new(),
            },
        };
        self.open.push((index, block));
    }

    fn call(&mut self, call: ToolCall, events: &mut Vec<Event>) -> Block {
        let number = self.calls;
        self.calls += 1;
        events.push(Event::ToolCallStart {
            index: number,
            id: Some(call.id).filter(|id| !id.is_empty()),
            name: call.name,
            native: call.native,
        });
        Block::Call {
            number,
            input: Some(call.arguments).filter(|input| input != "{}"),
        }
    }

    /// A block that came whole.
    pub(super) fn whole(&mut self, part: Part, events: &mut Vec<Event>) {
        match part {
            Part::ToolCall(call) => self.call(call, events).end(events),
            part => events.push(Event::Part(part)),
        }
    }

    /// More of a block. Text needs no beginning.
    pub(super) fn delta(&mut self, index: u64, delta: Delta<'_>, events: &mut Vec<Event>) {
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

    /// The stream is complete, and so are all blocks.
    pub(super) fn end_all(&mut self, events: &mut Vec<Event>) {
        for (_, block) in self.open.drain(..) {
            block.end(events);
        }
    }
}

impl Block {
    fn extend(&mut self, delta: Delta<'_>, events: &mut Vec<Event>) {
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
                told, signature, ..
            } => {
                if let Some(text) = delta.thinking.filter(|text| !text.is_empty()) {
                    *told = true;
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
                events.push(Event::EndPart(with(native, added)));
            }
            Self::Thinking {
                told,
                signature,
                native,
            } => {
                // State without text still needs a part to hang on.
                if !told {
                    events.push(Event::Reasoning(String::new()));
                }
                let added = signature.map(|text| ("signature", Json::string(&text)));
                events.push(Event::EndPart(with(native, added)));
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

/// Native fields with one more, in place of what the start said about it.
fn with(native: Option<Box<Native>>, added: Option<(&str, Json)>) -> Option<Box<Native>> {
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

/// A block that only its origin understands, with what the deltas added.
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
            return Fate::Replace;
        }
        match texts.iter().find(|(name, _)| name == key) {
            Some((_, text)) => {
                write_string(out, text);
                Fate::Replace
            }
            None => Fate::Keep,
        }
    };
    splice::object(raw, &mut out, &mut filled);
    match Json::parse(String::from_utf8_lossy(&out)) {
        Ok(raw) => Part::Opaque(Opaque { raw, ..block }),
        Err(_) => Part::Opaque(block),
    }
}
