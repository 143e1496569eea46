//! Reads and writes `usageMetadata`.

use majordomo_llm::Usage;

use crate::json::{Cursor, JsonKind, Object, ReadResult};
use crate::loss::Losses;

/// Reads `usageMetadata`; none without counts, as in most chunks of some streams.
pub(super) fn read_usage(cursor: &mut Cursor<'_>) -> ReadResult<Option<Usage>> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.raw().map(|_| None);
    }
    let (mut prompt, mut tool_use, mut total) = (None, None, None);
    let (mut cached, mut candidates, mut thoughts) = (None, None, None);
    cursor.loose_object(|key, cursor| {
        let count = match &**key {
            "promptTokenCount" => &mut prompt,
            "toolUsePromptTokenCount" => &mut tool_use,
            "cachedContentTokenCount" => &mut cached,
            "candidatesTokenCount" => &mut candidates,
            "thoughtsTokenCount" => &mut thoughts,
            "totalTokenCount" => &mut total,
            _ => return Ok(()),
        };
        *count = cursor.count()?.or(*count);
        Ok(())
    })?;
    if [prompt, candidates, thoughts, total]
        .iter()
        .all(Option::is_none)
    {
        return Ok(None);
    }
    let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0).saturating_add(b.unwrap_or(0));
    let input = sum(prompt, tool_use);
    // A missing count follows from the total.
    let candidates = candidates.or_else(|| {
        total?
            .checked_sub(input)?
            .checked_sub(thoughts.unwrap_or(0))
    });
    Ok(Some(
        Usage::new(input, sum(candidates, thoughts))
            .with_cache_read(cached.unwrap_or(0))
            .with_reasoning(thoughts.unwrap_or(0)),
    ))
}

/// Writes the fields of `usageMetadata`.
pub(super) fn write_usage(usage: &Usage, object: &mut Object<'_>, losses: &mut Losses) {
    object.number("promptTokenCount", usage.input);
    object.number(
        "candidatesTokenCount",
        usage.output.saturating_sub(usage.reasoning),
    );
    object.number("totalTokenCount", usage.total());
    if usage.cache_read > 0 {
        object.number("cachedContentTokenCount", usage.cache_read);
    }
    if usage.reasoning > 0 {
        object.number("thoughtsTokenCount", usage.reasoning);
    }
    if usage.cache_write > 0 {
        losses.add("usage.cache_write", "Gemini does not report it");
    }
}
