//! One parsed event of a stream.

use std::borrow::Cow;

use crate::json::{Cursor, JsonKind, ReadResult};

/// The fields of an event; which ones are present depends on its type.
#[derive(Default)]
pub(super) struct ResponsesStreamEvent<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    /// The item's index in the output.
    pub(super) output_index: Option<u64>,
    /// The item's id.
    pub(super) item_id: Option<Cow<'a, str>>,
    /// The index of the text within the item's content or summary.
    pub(super) text_index: u64,
    pub(super) delta: Option<Cow<'a, str>>,
    pub(super) item: Option<&'a str>,
    pub(super) response: Option<&'a str>,
    /// Whether the data is an error instead of an event.
    pub(super) has_error: bool,
    /// Whether the data is a whole response instead of an event.
    pub(super) is_whole_response: bool,
}

impl<'a> ResponsesStreamEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut event = Self::default();
        cursor.loose_object(|key, cursor| event.read_field(key, cursor))?;
        Ok(event)
    }

    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("type", JsonKind::String) => self.kind = Some(cursor.string()?),
            ("delta", JsonKind::String) => self.delta = Some(cursor.string()?),
            ("output_index", JsonKind::Number) => self.output_index = cursor.count()?,
            ("item_id", JsonKind::String) => self.item_id = Some(cursor.string()?),
            ("content_index" | "summary_index", JsonKind::Number) => {
                self.text_index = cursor.count()?.unwrap_or_default();
            }
            ("item", JsonKind::Object) => self.item = Some(cursor.raw()?),
            ("response", JsonKind::Object) => self.response = Some(cursor.raw()?),
            ("error", JsonKind::Object | JsonKind::String) => self.has_error = true,
            ("object", JsonKind::String) => self.is_whole_response = cursor.string()? == "response",
            _ => {}
        }
        Ok(())
    }
}
