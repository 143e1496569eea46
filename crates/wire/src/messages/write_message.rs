//! Writes the conversation as turns that alternate.
//!
//! Messages of one side become one message, tool results first, since nothing
//! may stand between a call and its answer. Where the client's own bytes are
//! known, they are used: for whole messages, and for blocks inside new ones.

use std::borrow::Cow;
use std::ops::Range;

use majordomo_llm::{Message, Native, Part, Role, ToolResult};

use super::write_part::{Place, fits, fitting, write_call, write_native, write_part, write_result};
use super::{MESSAGES, call_id};
use crate::conversation::{CallIds, turns};
use crate::json::{Array, Object, write_array};
use crate::loss::Losses;
use crate::splice::{self, Fate, Origin};

/// What stands in for the user when the assistant is the first to speak.
const NO_MESSAGE: &str = "(no message)";

/// How much of a message's own bytes can be used.
#[derive(Default)]
pub(super) struct KnownMessage<'s> {
    /// All of them: nothing changed.
    pub(super) whole: Option<&'s str>,
    /// All but the content.
    pub(super) shell: Option<&'s str>,
    /// Those of its blocks, in their order.
    pub(super) parts: Vec<KnownPart<'s>>,
}

/// How much of a block's own bytes can be used.
#[derive(Clone, Copy, Default)]
pub(super) enum KnownPart<'s> {
    #[default]
    Nothing,
    /// All of them.
    Same(&'s str),
    /// Those around what changed: the block as it was.
    Was(&'s str, &'s Part),
}

/// A block that is going to be written.
struct Piece<'p> {
    part: Cow<'p, Part>,
    known: KnownPart<'p>,
}

/// Writes the elements of `messages`.
pub(super) struct MessageWriter<'w, 'a, 'l> {
    array: &'w mut Array<'a>,
    losses: &'l mut Losses,
    ids: CallIds,
    begun: bool,
}

impl<'w, 'a, 'l> MessageWriter<'w, 'a, 'l> {
    pub(super) fn new(array: &'w mut Array<'a>, losses: &'l mut Losses) -> Self {
        Self {
            array,
            losses,
            ids: CallIds::new(|_| true),
            begun: false,
        }
    }

    /// Writes all messages; `known` has what is known of each, or nothing.
    pub(super) fn write(mut self, messages: &[Message], known: &[KnownMessage<'_>]) {
        let own_form = |at| {
            let known: Option<&KnownMessage<'_>> = known.get(at);
            known.is_some_and(|k| k.whole.is_some() || k.shell.is_some())
        };
        for (role, range) in order(messages) {
            if range.clone().all(own_form) {
                for at in range {
                    self.own(role, &messages[at], &known[at]);
                }
            } else {
                let last = range.end == messages.len();
                let known = known.get(range.clone()).unwrap_or_default();
                self.joined(role, &messages[range], known, last);
            }
        }
    }

    /// A message that keeps the form in which it came.
    fn own(&mut self, role: Role, message: &Message, known: &KnownMessage<'_>) {
        if let Some(raw) = known.whole {
            for call in message.tool_calls() {
                self.ids.keep(&call.id, call.id.clone());
            }
            self.begun = true;
            return self.array.raw(raw);
        }
        let mut pieces = Vec::new();
        self.collect(message, known, place(role), &mut pieces);
        results_first(&mut pieces);
        let Some(shell) = known.shell.filter(|_| !pieces.is_empty()) else {
            return;
        };
        self.begun = true;
        let was_list = splice::member(shell, "content").is_some_and(|c| c.starts_with('['));
        let (losses, ids) = (&mut *self.losses, &mut self.ids);
        let mut content = |key: &str, _: &str, out: &mut bytes::BytesMut| {
            if key != "content" {
                return Fate::Keep;
            }
            match plain_text(&pieces, losses).filter(|_| !was_list) {
                Some(text) => crate::json::write_string(out, text),
                None => write_array(out, |array| {
                    for piece in &pieces {
                        write_piece(piece, array, ids, losses);
                    }
                }),
            }
            Fate::Replace
        };
        splice::object(shell, self.array.value(), &mut content);
    }

    /// Messages of one side as one message.
    fn joined(&mut self, role: Role, messages: &[Message], known: &[KnownMessage<'_>], last: bool) {
        let mut pieces = Vec::new();
        let nothing = KnownMessage::default();
        for (at, message) in messages.iter().enumerate() {
            let known = known.get(at).unwrap_or(&nothing);
            self.collect(message, known, place(role), &mut pieces);
        }
        results_first(&mut pieces);
        if last && role == Role::Assistant {
            self.trim_end(&mut pieces);
        }
        let natives: Vec<&Native> = messages
            .iter()
            .filter_map(|message| self.losses.own(message.native.as_deref(), &MESSAGES))
            .collect();
        if pieces.is_empty() {
            return;
        }
        if !self.begun && role != Role::User {
            self.losses.add(
                "messages",
                "the user must speak first and was given a message",
            );
            self.array.object(|o| {
                o.string("role", "user");
                o.string("content", NO_MESSAGE);
            });
        }
        self.begun = true;
        let (losses, ids) = (&mut *self.losses, &mut self.ids);
        self.array.object(|o| {
            write_role(o, role, &natives);
            match plain_text(&pieces, losses) {
                Some(text) => o.string("content", text),
                None => o.array("content", |array| {
                    for piece in &pieces {
                        write_piece(piece, array, ids, losses);
                    }
                }),
            }
            for native in natives {
                write_native(o, Some(native));
            }
        });
    }

    fn collect<'p>(
        &mut self,
        message: &'p Message,
        known: &KnownMessage<'p>,
        place: Place,
        pieces: &mut Vec<Piece<'p>>,
    ) {
        for (at, part) in message.parts.iter().enumerate() {
            if fits(part, place, self.losses) {
                pieces.push(Piece {
                    part: Cow::Borrowed(part),
                    known: known.parts.get(at).copied().unwrap_or_default(),
                });
            }
        }
    }

    /// The beginning of an answer that the model must go on with may not end
    /// in white space.
    fn trim_end(&mut self, pieces: &mut [Piece<'_>]) {
        let Some(Piece { part, known }) = pieces.last_mut() else {
            return;
        };
        if let Part::Text(text) = &**part
            && text.text.ends_with(char::is_whitespace)
        {
            self.losses.add(
                "text",
                "white space at the end of the last answer is refused",
            );
            let mut text = text.clone();
            text.text.truncate(text.text.trim_end().len());
            *part = Cow::Owned(Part::Text(text));
            *known = KnownPart::Nothing;
        }
    }
}

fn results_first(pieces: &mut [Piece<'_>]) {
    pieces.sort_by_key(|piece| !matches!(*piece.part, Part::ToolResult(_)));
}

fn place(role: Role) -> Place {
    match role {
        Role::Assistant => Place::Assistant,
        Role::System => Place::System,
        Role::User | Role::Tool => Place::User,
    }
}

/// The turns. An instruction between a call and its answer comes after both.
fn order(messages: &[Message]) -> Vec<(Role, Range<usize>)> {
    let mut turns = turns(messages);
    for at in 1..turns.len().saturating_sub(1) {
        let calls = matches!(turns[at - 1].parts.last(), Some(Part::ToolCall(_)));
        let answers = matches!(turns[at + 1].parts.first(), Some(Part::ToolResult(_)));
        if turns[at].role == Role::System && calls && answers {
            turns.swap(at, at + 1);
        }
    }
    let turns = turns.into_iter().map(|turn| (turn.role, turn.messages));
    turns.collect()
}

fn write_role(object: &mut Object<'_>, role: Role, natives: &[&Native]) {
    match natives.iter().find_map(|native| native.get("role")) {
        Some(word) => object.raw("role", word.as_str()),
        None => object.string(
            "role",
            match role {
                Role::Assistant => "assistant",
                Role::System => "system",
                Role::User | Role::Tool => "user",
            },
        ),
    }
}

/// The text of content that is nothing but one plain text.
fn plain_text<'p>(pieces: &'p [Piece<'_>], losses: &mut Losses) -> Option<&'p str> {
    let [only] = pieces else { return None };
    match &*only.part {
        Part::Text(text) => losses
            .own(text.native.as_deref(), &MESSAGES)
            .is_none()
            .then_some(&text.text),
        _ => None,
    }
}

fn write_piece(piece: &Piece<'_>, array: &mut Array<'_>, ids: &mut CallIds, losses: &mut Losses) {
    match (&*piece.part, piece.known) {
        (Part::ToolCall(call), known) => {
            let id = ids.call(&call_id::write(&call.id));
            match known {
                KnownPart::Same(raw) if id == call.id => array.raw(raw),
                _ => array.object(|o| write_call(call, &id, o, losses)),
            }
        }
        (Part::ToolResult(result), known) => {
            let written = call_id::write(&result.call_id);
            let id = ids.result(&written);
            match known {
                KnownPart::Same(raw) if id == result.call_id => array.raw(raw),
                KnownPart::Was(raw, Part::ToolResult(old)) if id == result.call_id => {
                    splice_result(old, result, raw, array, losses);
                }
                _ => array.object(|o| write_result(result, &id, o, losses)),
            }
        }
        (_, KnownPart::Same(raw)) => array.raw(raw),
        (part, _) => write_part(part, array, losses),
    }
}

/// A tool's answer of which only the content changed keeps everything else.
fn splice_result(
    old: &ToolResult,
    new: &ToolResult,
    raw: &str,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let elements = splice::member(raw, "content").and_then(splice::elements);
    let same_shell =
        (&old.call_id, old.is_error, &old.native) == (&new.call_id, new.is_error, &new.native);
    let elements = match elements {
        Some(elements) if same_shell && elements.len() == old.parts.len() => elements,
        _ => return array.object(|o| write_result(new, &new.call_id, o, losses)),
    };
    let origins = splice::align(&old.parts, &new.parts);
    let mut content = |key: &str, _: &str, out: &mut bytes::BytesMut| {
        if key != "content" {
            return Fate::Keep;
        }
        write_array(out, |array| {
            for (part, origin) in new.parts.iter().zip(&origins) {
                match origin {
                    Origin::Same(from) => array.raw(elements[*from]),
                    _ => {
                        for part in fitting(std::slice::from_ref(part), losses) {
                            write_part(part, array, losses);
                        }
                    }
                }
            }
        });
        Fate::Replace
    };
    splice::object(raw, array.value(), &mut content);
}
