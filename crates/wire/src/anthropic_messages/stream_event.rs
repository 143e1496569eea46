//! One parsed event of a stream.

use std::borrow::Cow;

use majordomo_llm::Part;

use super::read_part;
use super::response::MessagesResponseBody;
use super::usage::MessagesUsageCounts;
use crate::json::{self, Cursor, JsonKind, ReadResult};

/// The fields of an event; which ones are present depends on its kind.
#[derive(Default)]
pub(super) struct MessagesStreamEvent<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: u64,
    pub(super) message: MessagesResponseBody<'a>,
    /// A starting block, and its text.
    pub(super) block: Option<(Part, &'a str)>,
    pub(super) delta: MessagesDelta<'a>,
    pub(super) usage: MessagesUsageCounts,
}

/// A delta of a block, or the end of the message.
#[derive(Default)]
pub(super) struct MessagesDelta<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) partial_json: Option<Cow<'a, str>>,
    pub(super) citation: Option<&'a str>,
    /// Text deltas of blocks that the contract does not model.
    pub(super) others: Vec<(String, Cow<'a, str>)>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) stop_sequence: Option<Cow<'a, str>>,
    pub(super) stop_details: Option<&'a str>,
}

impl<'a> MessagesStreamEvent<'a> {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("type", JsonKind::String) => self.kind = Some(cursor.string()?),
            ("index", JsonKind::Number) => self.index = cursor.count()?.unwrap_or_default(),
            ("message", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| self.message.read_field(key, cursor))?;
            }
            ("content_block", JsonKind::Object) => {
                let block = cursor.with_raw(read_part::read_part)?;
                self.block = Some(block).filter(|(_, raw)| !json::is_empty(raw));
            }
            ("delta", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| self.delta.read_field(key, cursor))?;
            }
            ("usage", JsonKind::Object) => self.usage = MessagesUsageCounts::read(cursor)?,
            _ => {}
        }
        Ok(())
    }
}

impl<'a> MessagesDelta<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("type", _) => {}
            ("text", JsonKind::String) => self.text = Some(cursor.string()?),
            ("thinking", JsonKind::String) => self.thinking = Some(cursor.string()?),
            ("signature", JsonKind::String) => self.signature = Some(cursor.string()?),
            ("partial_json", JsonKind::String) => self.partial_json = Some(cursor.string()?),
            ("citation", JsonKind::Object) => self.citation = Some(cursor.raw()?),
            ("stop_reason", JsonKind::String) => self.stop_reason = Some(cursor.string()?),
            ("stop_sequence", JsonKind::String) => self.stop_sequence = Some(cursor.string()?),
            ("stop_details", JsonKind::Object) => self.stop_details = Some(cursor.raw()?),
            (other, JsonKind::String) => self.others.push((other.to_owned(), cursor.string()?)),
            _ => {}
        }
        Ok(())
    }
}
