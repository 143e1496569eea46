//! One event of a stream, as far as it is looked at.

use std::borrow::Cow;

use crate::json::{Cursor, Kind, Read};

/// What an event may carry. Which fields are there depends on its type.
#[derive(Default)]
pub(super) struct StreamEvent<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    /// Which item, by its place in the output.
    pub(super) output_index: Option<u64>,
    /// Which item, by its id.
    pub(super) item_id: Option<Cow<'a, str>>,
    /// Which text of the item: a block of its content, or of a summary.
    pub(super) text_index: u64,
    pub(super) delta: Option<Cow<'a, str>>,
    pub(super) item: Option<&'a str>,
    pub(super) response: Option<&'a str>,
    /// Whether there is an error where an event should be.
    pub(super) has_error: bool,
    /// Whether this is no event but a whole answer.
    pub(super) is_answer: bool,
}

impl<'a> StreamEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Read<Self> {
        let mut event = Self::default();
        cursor.loose_object(|key, cursor| event.field(key, cursor))?;
        Ok(event)
    }

    fn field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("type", Kind::String) => self.kind = Some(cursor.string()?),
            ("delta", Kind::String) => self.delta = Some(cursor.string()?),
            ("output_index", Kind::Number) => self.output_index = cursor.count()?,
            ("item_id", Kind::String) => self.item_id = Some(cursor.string()?),
            ("content_index" | "summary_index", Kind::Number) => {
                self.text_index = cursor.count()?.unwrap_or_default();
            }
            ("item", Kind::Object) => self.item = Some(cursor.raw()?),
            ("response", Kind::Object) => self.response = Some(cursor.raw()?),
            ("error", Kind::Object | Kind::String) => self.has_error = true,
            ("object", Kind::String) => self.is_answer = cursor.string()? == "response",
            _ => {}
        }
        Ok(())
    }
}
