//! Asserts that a conversion preserves everything but the listed losses.

use majordomo_llm::{Part, Prompt, Response};
use majordomo_wire::Loss;

use super::aspects::{AspectValue, Aspects, of_prompt, of_turn, put};

/// Losses that explain an aspect of another name.
const EXPLAINS: &[(&str, &[&str])] = &[
    ("position of system", &["system"]),
    ("strict of tools", &["strict", "tools"]),
    ("strict of output", &["output.strict"]),
    ("tool_choice", &["tools"]),
    // State of another dialect is sealed in the last three, and lost with them.
    (
        "state",
        &["reasoning", "encrypted_content", "signature", "data"],
    ),
    ("other", &["file"]),
    ("order", &["image"]),
    ("finish", &["stop_sequence"]),
];

/// Compares requests.
pub(crate) fn prompts(expected: &Prompt, actual: &Prompt, losses: &[Loss]) -> Result<(), String> {
    differences(of_prompt(expected), of_prompt(actual), losses)
}

/// Compares responses.
pub(crate) fn responses(
    expected: &Response,
    actual: &Response,
    losses: &[Loss],
) -> Result<(), String> {
    differences(of_response(expected), of_response(actual), losses)
}

fn of_response(response: &Response) -> Aspects {
    let mut aspects = Aspects::new();
    let parts: Vec<&Part> = response.parts.iter().collect();
    of_turn("", parts, &[], &mut aspects);
    put(&mut aspects, "finish", &response.finish);
    let usage = response.usage;
    put(&mut aspects, "usage", (usage.input, usage.output));
    put(&mut aspects, "usage.cache_read", usage.cache_read);
    put(&mut aspects, "usage.cache_write", usage.cache_write);
    put(&mut aspects, "usage.reasoning", usage.reasoning);
    aspects
}

fn differences(expected: Aspects, mut actual: Aspects, losses: &[Loss]) -> Result<(), String> {
    let mut unexplained = Vec::new();
    for (name, before) in expected {
        let after = actual.remove(&name);
        let same = after
            .as_ref()
            .is_some_and(|after| same(&name, &before, after, losses));
        if !same && !explained(&name, &before, losses) {
            unexplained.push(format!("{name}: {before:?} became {after:?}"));
        }
    }
    for (name, after) in actual {
        if !explained(&name, &after, losses) {
            unexplained.push(format!("{name}: {after:?} out of nothing"));
        }
    }
    match unexplained.is_empty() {
        true => Ok(()),
        false => {
            let listed: Vec<&str> = losses.iter().map(|loss| loss.field.as_str()).collect();
            Err(format!("{} (listed: {listed:?})", unexplained.join("; ")))
        }
    }
}

fn same(name: &str, before: &AspectValue, after: &AspectValue, losses: &[Loss]) -> bool {
    let (AspectValue::Texts(before), AspectValue::Texts(after)) = (before, after) else {
        // A mandatory limit may be added, and every dialect may add state.
        let adds = match name {
            "max_tokens" => *before == AspectValue::Value("None".into()),
            name => name.ends_with("state") && *before == AspectValue::Value("[]".into()),
        };
        return before == after || adds;
    };
    let after = after.concat();
    // A failure without a flag must be in the text.
    let in_text = name.contains("result ") && losses.iter().any(|loss| loss.field == "is_error");
    let after = match in_text {
        true => after
            .strip_prefix("ERROR: ")
            .unwrap_or("nothing about a failure"),
        false => &after,
    };
    ["", "\n", "\n\n"]
        .iter()
        .any(|line| before.join(line) == after)
}

fn explained(name: &str, before: &AspectValue, losses: &[Loss]) -> bool {
    let aspect = name.split_once(": ").map_or(name, |(_, aspect)| aspect);
    let others = EXPLAINS.iter().filter(|(wanted, _)| *wanted == aspect);
    losses.iter().any(|loss| {
        let field = loss.field.as_str();
        let named = field == aspect || others.clone().any(|(_, names)| names.contains(&field));
        // Blocks and state are lost by name.
        let inside = match before {
            AspectValue::Value(text) if matches!(aspect, "other" | "state" | "hosted tools") => {
                let own = field.rsplit('.').next().unwrap_or(field);
                text.contains(own)
            }
            _ => false,
        };
        named || inside
    })
}
