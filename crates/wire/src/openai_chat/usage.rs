//! Reads and writes `usage`.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};

/// Reads a `usage` object; none for anything else, such as null.
pub(super) fn read_usage(cursor: &mut Cursor<'_>) -> ReadResult<Option<Usage>> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.raw().map(|_| None);
    }
    let mut usage = Usage::default();
    let mut total = 0;
    cursor.loose_object(|key, cursor| {
        match &**key {
            "prompt_tokens" => read_count(&mut usage.input, cursor)?,
            "completion_tokens" => read_count(&mut usage.output, cursor)?,
            "total_tokens" => read_count(&mut total, cursor)?,
            "prompt_cache_hit_tokens" => read_count(&mut usage.cache_read, cursor)?,
            "prompt_tokens_details" | "completion_tokens_details" => {
                read_details(&mut usage, cursor)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    // Some servers count reasoning in `total_tokens` but not in `completion_tokens`.
    let counted = usage.input.saturating_add(usage.output);
    if total > counted {
        usage.reasoning = usage.reasoning.max(total - counted);
        usage.output = total - usage.input;
    }
    Ok(Some(usage))
}

fn read_details(usage: &mut Usage, cursor: &mut Cursor<'_>) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(());
    }
    cursor.loose_object(|key, cursor| match &**key {
        "cached_tokens" => read_count(&mut usage.cache_read, cursor),
        "cache_write_tokens" => read_count(&mut usage.cache_write, cursor),
        "reasoning_tokens" => read_count(&mut usage.reasoning, cursor),
        _ => Ok(()),
    })
}

fn read_count(count: &mut u64, cursor: &mut Cursor<'_>) -> ReadResult<()> {
    if let Some(value) = cursor.count()? {
        *count = value;
    }
    Ok(())
}

/// Writes the fields of a `usage` object.
pub(super) fn write_usage(usage: &Usage, object: &mut Object<'_>) {
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
