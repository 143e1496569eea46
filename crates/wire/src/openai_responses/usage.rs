//! Token usage. As in the contract, totals include their portions.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};

/// Reads a `usage` object; `None` for anything else.
pub(super) fn read_usage(cursor: &mut Cursor<'_>) -> ReadResult<Option<Usage>> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.raw().map(|_| None);
    }
    let mut usage = Usage::default();
    let mut total = 0;
    cursor.loose_object(|key, cursor| {
        match &**key {
            "input_tokens" => read_count(&mut usage.input, cursor)?,
            "output_tokens" => read_count(&mut usage.output, cursor)?,
            "total_tokens" => read_count(&mut total, cursor)?,
            "input_tokens_details" | "output_tokens_details" => read_details(&mut usage, cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    // Some servers exclude reasoning from the output but not from the total.
    let counted = usage.total();
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

/// Writes the fields of a `usage` object. Clients require the details.
pub(super) fn write_usage(usage: &Usage, object: &mut Object<'_>) {
    object.number("input_tokens", usage.input);
    object.object("input_tokens_details", |o| {
        o.number("cached_tokens", usage.cache_read);
        o.number("cache_write_tokens", usage.cache_write);
    });
    object.number("output_tokens", usage.output);
    object.object("output_tokens_details", |o| {
        o.number("reasoning_tokens", usage.reasoning);
    });
    object.number("total_tokens", usage.total());
}
