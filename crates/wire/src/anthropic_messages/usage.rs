//! Token usage. On the wire, the input excludes cached tokens; the contract
//! includes them.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};

/// Cache writes by how long they are kept, in `cache_creation`.
const FIVE_MINUTES: &str = "ephemeral_5m_input_tokens";
const ONE_HOUR: &str = "ephemeral_1h_input_tokens";

/// Counts as on the wire; later ones override earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessagesUsageCounts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_5m: Option<u64>,
    cache_write_1h: Option<u64>,
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
                ("cache_creation", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                    match &**key {
                        FIVE_MINUTES => counts.cache_write_5m = cursor.count()?,
                        ONE_HOUR => counts.cache_write_1h = cursor.count()?,
                        _ => {}
                    }
                    Ok(())
                })?,
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
        self.cache_write_5m = later.cache_write_5m.or(self.cache_write_5m);
        self.cache_write_1h = later.cache_write_1h.or(self.cache_write_1h);
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
        let five_minutes = self.cache_write_5m.unwrap_or_default();
        let one_hour = self.cache_write_1h.unwrap_or_default();
        let split = five_minutes.saturating_add(one_hour);
        let cache_write = self.cache_write.unwrap_or(split);
        let input = self.input.unwrap_or_default();
        let mut usage = Usage::new(
            input.saturating_add(cache_read).saturating_add(cache_write),
            self.output.unwrap_or_default(),
        )
        .with_cache_read(cache_read)
        .with_cache_write(cache_write)
        .with_reasoning(self.thinking.unwrap_or_default());
        // Portions that contradict their sum are ignored.
        if split <= cache_write {
            usage.cache_write_5m = five_minutes;
            usage.cache_write_1h = one_hour;
        }
        usage
    }
}

/// Writes the fields of a `usage` object.
pub(super) fn write_usage(usage: &Usage, object: &mut Object<'_>) {
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    object.number("input_tokens", usage.input.saturating_sub(cached));
    object.number("cache_creation_input_tokens", usage.cache_write);
    object.number("cache_read_input_tokens", usage.cache_read);
    if usage.cache_write_5m > 0 || usage.cache_write_1h > 0 {
        object.object("cache_creation", |o| {
            o.number(FIVE_MINUTES, usage.cache_write_5m);
            o.number(ONE_HOUR, usage.cache_write_1h);
        });
    }
    object.number("output_tokens", usage.output);
    if usage.reasoning > 0 {
        object.object("output_tokens_details", |o| {
            o.number("thinking_tokens", usage.reasoning);
        });
    }
}
