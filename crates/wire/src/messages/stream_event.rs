//! One event of a stream, parsed.

use std::borrow::Cow;

use majordomo_llm::Part;

use super::read_part;
use super::response::Answer;
use super::usage::Counts;
use crate::json::{Cursor, Kind, Read};

/// What an event says; which of it matters depends on its kind.
#[derive(Default)]
pub(super) struct StreamEvent<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: u64,
    pub(super) message: Answer<'a>,
    /// A block that begins, and its bytes.
    pub(super) block: Option<(Part, &'a str)>,
    pub(super) delta: Delta<'a>,
    pub(super) usage: Counts,
}

/// More of a block, or the end of the message.
#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) partial_json: Option<Cow<'a, str>>,
    pub(super) citation: Option<&'a str>,
    /// Texts of blocks that the contract does not model.
    pub(super) others: Vec<(String, Cow<'a, str>)>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) stop_sequence: Option<Cow<'a, str>>,
    pub(super) stop_details: Option<&'a str>,
}

impl<'a> StreamEvent<'a> {
    pub(super) fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("type", Kind::String) => self.kind = Some(cursor.string()?),
            ("index", Kind::Number) => self.index = cursor.count()?.unwrap_or_default(),
            ("message", Kind::Object) => {
                cursor.loose_object(|key, cursor| self.message.read(key, cursor))?;
            }
            ("content_block", Kind::Object) => {
                self.block = Some(cursor.with_raw(read_part::part)?);
            }
            ("delta", Kind::Object) => {
                cursor.loose_object(|key, cursor| self.delta.read(key, cursor))?;
            }
            ("usage", Kind::Object) => self.usage = Counts::read(cursor)?,
            _ => {}
        }
        Ok(())
    }
}

impl<'a> Delta<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("type", _) => {}
            ("text", Kind::String) => self.text = Some(cursor.string()?),
            ("thinking", Kind::String) => self.thinking = Some(cursor.string()?),
            ("signature", Kind::String) => self.signature = Some(cursor.string()?),
            ("partial_json", Kind::String) => self.partial_json = Some(cursor.string()?),
            ("citation", Kind::Object) => self.citation = Some(cursor.raw()?),
            ("stop_reason", Kind::String) => self.stop_reason = Some(cursor.string()?),
            ("stop_sequence", Kind::String) => self.stop_sequence = Some(cursor.string()?),
            ("stop_details", Kind::Object) => self.stop_details = Some(cursor.raw()?),
            (other, Kind::String) => self.others.push((other.to_owned(), cursor.string()?)),
            _ => {}
        }
        Ok(())
    }
}
