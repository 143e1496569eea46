//! Token usage. On the wire, the input excludes cached tokens; the contract
//! includes them.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};

/// Counts as on the wire; later ones override earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessagesUsageCounts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl MessagesUsageCounts {
    /// Reads a `usage` object; anything else counts as empty.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> ReadResult<Self> {
        let mut counts = Self::default();
        if cursor.peek()? != JsonKind::Object {
            return cursor.raw().map(|_| counts);
        }
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("input_tokens", _) => counts.input = cursor.count()?,
                ("cache_read_input_tokens", _) => counts.cache_read = cursor.count()?,
                ("cache_creation_input_tokens", _) => counts.cache_write = cursor.count()?,
                ("output_tokens", _) => counts.output = cursor.count()?,
                ("output_tokens_details", JsonKind::Object) => {
                    cursor.loose_object(|key, cursor| {
                        if key == "thinking_tokens" {
                            counts.thinking = cursor.count()?;
                        }
                        Ok(())
                    })?
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Applies the counts of a later event.
    pub(super) fn overlay(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.output = later.output.or(self.output);
        self.thinking = later.thinking.or(self.thinking);
    }

    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.input.is_none() && self.output.is_none()
    }

    /// The contract's totals.
    pub(super) fn usage(&self) -> Usage {
        let cache_read = self.cache_read.unwrap_or_default();
        let cache_write = self.cache_write.unwrap_or_default();
        let input = self.input.unwrap_or_default();
        Usage {
            input: input.saturating_add(cache_read).saturating_add(cache_write),
            output: self.output.unwrap_or_default(),
            cache_read,
            cache_write,
            reasoning: self.thinking.unwrap_or_default(),
        }
    }
}

/// Writes the fields of a `usage` object.
pub(super) fn write_usage(usage: &Usage, object: &mut Object<'_>) {
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    object.number("input_tokens", usage.input.saturating_sub(cached));
    object.number("cache_creation_input_tokens", usage.cache_write);
    object.number("cache_read_input_tokens", usage.cache_read);
    object.number("output_tokens", usage.output);
    if usage.reasoning > 0 {
        object.object("output_tokens_details", |o| {
            o.number("thinking_tokens", usage.reasoning);
        });
    }
}
