//! Writes the conversation as alternating turns.
//!
//! Consecutive messages of one side become one message, tool results first, since
//! nothing may come between a call and its result. The client's own bytes are
//! reused where possible: for whole messages, and for blocks inside new ones.

use std::borrow::Cow;
use std::ops::Range;

use majordomo_llm::{Message, Native, Part, Role, ToolResult};

use super::write_part::{
    BlockPosition, fits, fitting, write_native, write_part, write_tool_result, write_tool_use,
};
use super::{MESSAGES, call_id};
use crate::conversation::{CallIds, turns};
use crate::json::{Array, Object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, ElementOrigin, FieldAction};

/// Sent as the user's message if the assistant speaks first.
const PLACEHOLDER: &str = "(no message)";

/// The reusable part of a message's original text.
#[derive(Default)]
pub(super) struct ReusableMessage<'s> {
    /// All of it: the message is unchanged.
    pub(super) whole: Option<&'s str>,
    /// Everything but the content.
    pub(super) shell: Option<&'s str>,
    /// The blocks, in order.
    pub(super) parts: Vec<ReusablePart<'s>>,
}

/// The reusable part of a block's original text.
#[derive(Clone, Copy, Default)]
pub(super) enum ReusablePart<'s> {
    #[default]
    Nothing,
    /// All of it.
    Same(&'s str),
    /// The text around the change, and the original block.
    Changed(&'s str, &'s Part),
}

/// A block about to be written.
struct PendingBlock<'p> {
    part: Cow<'p, Part>,
    reusable: ReusablePart<'p>,
}

/// Writes the elements of `messages`.
pub(super) struct MessagesMessageWriter<'w, 'a, 'l> {
    array: &'w mut Array<'a>,
    losses: &'l mut Losses,
    ids: CallIds,
    begun: bool,
}

impl<'w, 'a, 'l> MessagesMessageWriter<'w, 'a, 'l> {
    pub(super) fn new(array: &'w mut Array<'a>, losses: &'l mut Losses) -> Self {
        Self {
            array,
            losses,
            ids: CallIds::new(|_| true),
            begun: false,
        }
    }

    /// Writes all messages; `reusable` is parallel to them, or empty.
    pub(super) fn write(mut self, messages: &[Message], reusable: &[ReusableMessage<'_>]) {
        let keeps_form = |at| {
            let reusable: Option<&ReusableMessage<'_>> = reusable.get(at);
            reusable.is_some_and(|k| k.whole.is_some() || k.shell.is_some())
        };
        for (role, range) in turn_order(messages, self.losses) {
            if range.clone().all(keeps_form) {
                for at in range {
                    self.write_in_place(role, &messages[at], &reusable[at]);
                }
            } else {
                let last = range.end == messages.len();
                let reusable = reusable.get(range.clone()).unwrap_or_default();
                self.write_merged(role, &messages[range], reusable, last);
            }
        }
    }

    /// Writes a message in its original form.
    fn write_in_place(&mut self, role: Role, message: &Message, reusable: &ReusableMessage<'_>) {
        if let Some(raw) = reusable.whole {
            for call in message.tool_calls() {
                self.ids.keep(&call.id, call.id.clone());
            }
            self.begun = true;
            return self.array.raw(raw);
        }
        let mut blocks = Vec::new();
        self.collect(message, reusable, position(role), &mut blocks);
        results_first(&mut blocks);
        let Some(shell) = reusable.shell.filter(|_| !blocks.is_empty()) else {
            return;
        };
        self.begun = true;
        let was_list = splice::member(shell, "content").is_some_and(|c| c.starts_with('['));
        let (losses, ids) = (&mut *self.losses, &mut self.ids);
        let mut content = |key: &str, _: &str, out: &mut bytes::BytesMut| {
            if key != "content" {
                return FieldAction::Keep;
            }
            match plain_text(&blocks, losses).filter(|_| !was_list) {
                Some(text) => crate::json::write_string(out, text),
                None => write_array(out, |array| {
                    for block in &blocks {
                        write_block(block, array, ids, losses);
                    }
                }),
            }
            FieldAction::Replace
        };
        splice::object(shell, self.array.value(), &mut content);
    }

    /// Writes the messages of one side as one message.
    fn write_merged(
        &mut self,
        role: Role,
        messages: &[Message],
        reusable: &[ReusableMessage<'_>],
        last: bool,
    ) {
        let mut blocks = Vec::new();
        let nothing = ReusableMessage::default();
        for (at, message) in messages.iter().enumerate() {
            let reusable = reusable.get(at).unwrap_or(&nothing);
            self.collect(message, reusable, position(role), &mut blocks);
        }
        results_first(&mut blocks);
        if last && role == Role::Assistant {
            self.trim_end(&mut blocks);
        }
        let natives: Vec<&Native> = messages
            .iter()
            .filter_map(|message| self.losses.own(message.native.as_deref(), &MESSAGES))
            .collect();
        if blocks.is_empty() {
            return;
        }
        if !self.begun && role != Role::User {
            self.losses.record(
                LossVerb::Added,
                "messages",
                "the user must speak first, so a user message was added",
            );
            self.array.object(|o| {
                o.string("role", "user");
                o.string("content", PLACEHOLDER);
            });
        }
        self.begun = true;
        let (losses, ids) = (&mut *self.losses, &mut self.ids);
        self.array.object(|o| {
            write_role(o, role, &natives);
            match plain_text(&blocks, losses) {
                Some(text) => o.string("content", text),
                None => o.array("content", |array| {
                    for block in &blocks {
                        write_block(block, array, ids, losses);
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
        reusable: &ReusableMessage<'p>,
        position: BlockPosition,
        blocks: &mut Vec<PendingBlock<'p>>,
    ) {
        for (at, part) in message.parts.iter().enumerate() {
            if fits(part, position, self.losses) {
                blocks.push(PendingBlock {
                    part: Cow::Borrowed(part),
                    reusable: reusable.parts.get(at).copied().unwrap_or_default(),
                });
            }
        }
    }

    /// Trims a prefilled assistant message, which may not end in whitespace.
    fn trim_end(&mut self, blocks: &mut [PendingBlock<'_>]) {
        let Some(PendingBlock { part, reusable }) = blocks.last_mut() else {
            return;
        };
        if let Part::Text(text) = &**part
            && text.text.ends_with(char::is_whitespace)
        {
            self.losses.record(
                LossVerb::Trimmed,
                "text",
                "trailing whitespace of the last assistant message was removed",
            );
            let mut text = text.clone();
            text.text.truncate(text.text.trim_end().len());
            *part = Cow::Owned(Part::Text(text));
            *reusable = ReusablePart::Nothing;
        }
    }
}

fn results_first(blocks: &mut [PendingBlock<'_>]) {
    blocks.sort_by_key(|block| !matches!(*block.part, Part::ToolResult(_)));
}

fn position(role: Role) -> BlockPosition {
    match role {
        Role::Assistant => BlockPosition::Assistant,
        Role::System => BlockPosition::System,
        Role::User | Role::Tool => BlockPosition::User,
    }
}

/// Returns the turns. A system message must follow the user's turn, so one before
/// it moves behind it.
fn turn_order(messages: &[Message], losses: &mut Losses) -> Vec<(Role, Range<usize>)> {
    let mut turns = turns(messages);
    for at in 1..turns.len().saturating_sub(1) {
        let roles = [turns[at - 1].role, turns[at].role, turns[at + 1].role];
        if roles == [Role::Assistant, Role::System, Role::User] {
            turns.swap(at, at + 1);
            losses.record(
                LossVerb::Moved,
                "system",
                "a system message follows the user's message",
            );
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

/// The text of content that consists of a single plain text.
fn plain_text<'p>(blocks: &'p [PendingBlock<'_>], losses: &mut Losses) -> Option<&'p str> {
    let [only] = blocks else { return None };
    match &*only.part {
        Part::Text(text) => losses
            .own(text.native.as_deref(), &MESSAGES)
            .is_none()
            .then_some(&text.text),
        Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    }
}

fn write_block(
    block: &PendingBlock<'_>,
    array: &mut Array<'_>,
    ids: &mut CallIds,
    losses: &mut Losses,
) {
    match (&*block.part, block.reusable) {
        (Part::ToolCall(call), reusable) => {
            let id = ids.call(&call_id::encode(&call.id));
            match reusable {
                ReusablePart::Same(raw) if id == call.id => array.raw(raw),
                _ => array.object(|o| write_tool_use(call, &id, o, losses)),
            }
        }
        (Part::ToolResult(result), reusable) => {
            let written = call_id::encode(&result.call_id);
            let id = ids.result(&written);
            match reusable {
                ReusablePart::Same(raw) if id == result.call_id => array.raw(raw),
                ReusablePart::Changed(raw, Part::ToolResult(old)) if id == result.call_id => {
                    splice_result(old, result, raw, array, losses);
                }
                _ => array.object(|o| write_tool_result(result, &id, o, losses)),
            }
        }
        (_, ReusablePart::Same(raw)) => array.raw(raw),
        (part, _) => write_part(part, array, losses),
    }
}

/// Rewrites only the content of a tool result and keeps everything else.
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
        _ => return array.object(|o| write_tool_result(new, &new.call_id, o, losses)),
    };
    let origins = splice::align(&old.parts, &new.parts);
    let mut content = |key: &str, _: &str, out: &mut bytes::BytesMut| {
        if key != "content" {
            return FieldAction::Keep;
        }
        write_array(out, |array| {
            for (part, origin) in new.parts.iter().zip(&origins) {
                match origin {
                    ElementOrigin::Same(from) => array.raw(elements[*from]),
                    _ => {
                        for part in fitting(std::slice::from_ref(part), losses) {
                            write_part(part, array, losses);
                        }
                    }
                }
            }
        });
        FieldAction::Replace
    };
    splice::object(raw, array.value(), &mut content);
}
