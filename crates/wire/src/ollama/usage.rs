//! Token counts and times.

use majordomo_llm::{Native, Usage};

use crate::json::{Cursor, Object, ReadResult};
use crate::loss::Losses;

/// Measured times, in nanoseconds.
const DURATIONS: [&str; 4] = [
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
];

/// Reads one field of an answer if it is a count; tells whether it was.
pub(super) fn read(
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

/// Whether a field is a measured time.
pub(super) fn is_duration(key: &str) -> bool {
    DURATIONS.contains(&key)
}

/// Writes the counts and times of a complete answer; unknown times are zero.
pub(super) fn write(
    usage: &Usage,
    native: Option<&Native>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    for (field, count) in [
        ("usage.cache_write", usage.cache_write),
        ("usage.reasoning", usage.reasoning),
    ] {
        if count > 0 {
            losses.add(field, "Ollama does not tell it apart");
        }
    }
    let time = |name: &str, object: &mut Object<'_>| {
        let known = native.and_then(|native| native.get(name));
        object.raw(name, known.map_or("0", |value| value.as_str()));
    };
    let [total, load, prompt, answer] = DURATIONS;
    time(total, object);
    time(load, object);
    object.number("prompt_eval_count", usage.input);
    if usage.cache_read > 0 {
        object.number("prompt_eval_cached_count", usage.cache_read);
    }
    time(prompt, object);
    object.number("eval_count", usage.output);
    time(answer, object);
}
