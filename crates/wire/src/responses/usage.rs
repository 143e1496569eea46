//! Token counts, which are canonical here: totals that include their portions.

use majordomo_llm::Usage;

use crate::json::{Cursor, Kind, Object, Read};

/// Reads a `usage` object; none for `null` and whatever else is no object.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Read<Option<Usage>> {
    if cursor.peek()? != Kind::Object {
        return cursor.raw().map(|_| None);
    }
    let mut usage = Usage::default();
    let mut total = 0;
    cursor.loose_object(|key, cursor| {
        match &**key {
            "input_tokens" => set(&mut usage.input, cursor)?,
            "output_tokens" => set(&mut usage.output, cursor)?,
            "total_tokens" => set(&mut total, cursor)?,
            "input_tokens_details" | "output_tokens_details" => details(&mut usage, cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    // Some servers leave reasoning out of the output but not out of the total.
    let counted = usage.total();
    if total > counted {
        usage.reasoning = usage.reasoning.max(total - counted);
        usage.output = total - usage.input;
    }
    Ok(Some(usage))
}

fn details(usage: &mut Usage, cursor: &mut Cursor<'_>) -> Read<()> {
    if cursor.peek()? != Kind::Object {
        return Ok(());
    }
    cursor.loose_object(|key, cursor| match &**key {
        "cached_tokens" => set(&mut usage.cache_read, cursor),
        "cache_write_tokens" => set(&mut usage.cache_write, cursor),
        "reasoning_tokens" => set(&mut usage.reasoning, cursor),
        _ => Ok(()),
    })
}

fn set(count: &mut u64, cursor: &mut Cursor<'_>) -> Read<()> {
    if let Some(value) = cursor.count()? {
        *count = value;
    }
    Ok(())
}

/// Writes the fields of a `usage` object. Clients insist on the details.
pub(super) fn write(usage: &Usage, object: &mut Object<'_>) {
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
