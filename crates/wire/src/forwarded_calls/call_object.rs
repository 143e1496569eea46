//! The id of an object that may be a call.

use std::ops::Range;

use super::Edit;
use crate::json::{self, Cursor, ReadResult};

/// Whether a call has an id, and where one can be added.
#[derive(Debug)]
pub(super) struct CallObject {
    /// The offset of the first field.
    inside: usize,
    fields: usize,
    has_id: bool,
    /// An id that is empty or null.
    empty_id: Option<Range<usize>>,
}

impl CallObject {
    /// Reads an object whose id is in `field`; `other` receives all other fields.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        field: &str,
        mut other: impl FnMut(&str, &mut Cursor<'_>) -> ReadResult<()>,
    ) -> ReadResult<Self> {
        let mut call = Self {
            inside: cursor.offset() + 1,
            fields: 0,
            has_id: false,
            empty_id: None,
        };
        cursor.loose_object(|key, cursor| {
            call.fields += 1;
            if &**key != field {
                return other(key, cursor);
            }
            let at = cursor.offset();
            let raw = cursor.raw()?;
            match json::is_empty(raw) {
                true => call.empty_id = Some(at..at + raw.len()),
                false => call.has_id = true,
            }
            Ok(())
        })?;
        Ok(call)
    }

    pub(super) fn has_id(&self) -> bool {
        self.has_id
    }

    /// The edit that gives the call an id, unless it has one.
    pub(super) fn completed(self, field: &str, id: &str) -> Option<Edit> {
        if self.has_id {
            return None;
        }
        Some(match self.empty_id {
            Some(range) => Edit {
                range,
                text: format!("\"{id}\""),
            },
            None => {
                let comma = if self.fields == 0 { "" } else { "," };
                Edit {
                    range: self.inside..self.inside,
                    text: format!("\"{field}\":\"{id}\"{comma}"),
                }
            }
        })
    }
}
