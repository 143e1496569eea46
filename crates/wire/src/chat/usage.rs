//! Token counts, made canonical.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};

/// Reads a `usage` object; none for `null` and whatever else is no object.
pub(super) fn read(cursor: &mut Cursor<'_>) -> ReadResult<Option<Usage>> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.raw().map(|_| None);
    }
    let mut usage = Usage::default();
    let mut total = 0;
    cursor.loose_object(|key, cursor| {
        match &**key {
            "prompt_tokens" => set(&mut usage.input, cursor)?,
            "completion_tokens" => set(&mut usage.output, cursor)?,
            "total_tokens" => set(&mut total, cursor)?,
            "prompt_cache_hit_tokens" => set(&mut usage.cache_read, cursor)?,
            "prompt_tokens_details" | "completion_tokens_details" => {
                details(&mut usage, cursor)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    // Some servers leave reasoning out of the completion but not out of the total.
    let counted = usage.input.saturating_add(usage.output);
    if total > counted {
        usage.reasoning = usage.reasoning.max(total - counted);
        usage.output = total - usage.input;
    }
    Ok(Some(usage))
}

fn details(usage: &mut Usage, cursor: &mut Cursor<'_>) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(());
    }
    cursor.loose_object(|key, cursor| match &**key {
        "cached_tokens" => set(&mut usage.cache_read, cursor),
        "cache_write_tokens" => set(&mut usage.cache_write, cursor),
        "reasoning_tokens" => set(&mut usage.reasoning, cursor),
        _ => Ok(()),
    })
}

fn set(count: &mut u64, cursor: &mut Cursor<'_>) -> ReadResult<()> {
    if let Some(value) = cursor.count()? {
        *count = value;
    }
    Ok(())
}

/// Writes the fields of a `usage` object.
pub(super) fn write(usage: &Usage, object: &mut Object<'_>) {
    object.number("prompt_tokens", usage.input);
    object.number("completion_tokens", usage.output);
    object.number("total_tokens", usage.total());
    object.object("prompt_tokens_details", |o| {
        o.number("cached_tokens", usage.cache_read);
        if usage.cache_write > 0 {
            o.number("cache_write_tokens", usage.cache_write);
        }
    });
    object.object("completion_tokens_details", |o| {
        o.number("reasoning_tokens", usage.reasoning);
    });
}
