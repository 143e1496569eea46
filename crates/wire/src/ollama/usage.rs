//! Reads and writes token counts and durations.

use std::time::Duration;

use majordomo_llm::{Native, Usage};

use crate::json::{Cursor, Object, ReadResult};
use crate::loss::Losses;

/// Durations, in nanoseconds.
const DURATIONS: [&str; 4] = [
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
];

/// Reads a field of a response if it is a token count; returns whether it is.
pub(super) fn read_count(
    usage: &mut Option<Usage>,
    key: &str,
    cursor: &mut Cursor<'_>,
) -> ReadResult<bool> {
    let count: fn(&mut Usage) -> &mut u64 = match key {
        "prompt_eval_count" => |usage| &mut usage.input,
        "prompt_eval_cached_count" => |usage| &mut usage.cache_read,
        "eval_count" => |usage| &mut usage.output,
        _ => return Ok(false),
    };
    if let Some(value) = cursor.count()? {
        *count(usage.get_or_insert_default()) = value;
    }
    Ok(true)
}

/// Whether a field is a duration.
pub(super) fn is_duration(key: &str) -> bool {
    DURATIONS.contains(&key)
}

/// Measured durations, in place of those that an Ollama server reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OllamaDurations {
    /// The time until the first content.
    pub(super) first: Duration,
    pub(super) total: Duration,
}

impl OllamaDurations {
    fn nanoseconds(self, name: &str) -> u128 {
        let duration = match name {
            "total_duration" => self.total,
            "prompt_eval_duration" => self.first,
            "eval_duration" => self.total.saturating_sub(self.first),
            // No model is loaded here.
            _ => Duration::ZERO,
        };
        duration.as_nanos()
    }
}

/// Writes the counts and durations of a complete response.
pub(super) fn write_usage(
    usage: &Usage,
    native: Option<&Native>,
    measured: OllamaDurations,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    for (field, count) in [
        ("usage.cache_write", usage.cache_write),
        ("usage.reasoning", usage.reasoning),
    ] {
        if count > 0 {
            losses.add(field, "Ollama does not report it separately");
        }
    }
    let write_duration = |name: &str, object: &mut Object<'_>| {
        let duration = native.and_then(|native| native.get(name));
        match duration {
            Some(value) => object.raw(name, value.as_str()),
            None => object.raw(name, &measured.nanoseconds(name).to_string()),
        }
    };
    let [total, load, prompt_eval, eval] = DURATIONS;
    write_duration(total, object);
    write_duration(load, object);
    object.number("prompt_eval_count", usage.input);
    if usage.cache_read > 0 {
        object.number("prompt_eval_cached_count", usage.cache_read);
    }
    write_duration(prompt_eval, object);
    object.number("eval_count", usage.output);
    write_duration(eval, object);
}
