//! Whether what arrived is what was said, but for the listed losses.

use majordomo_llm::{Message, Part, Prompt, Response, Role, Text};
use majordomo_wire::Loss;

use crate::aspects::{Aspects, Said, of_prompt, of_turn, put};

/// Losses by other names than that of the aspect that they explain.
const EXPLAINS: &[(&str, &[&str])] = &[
    ("place of system", &["system"]),
    ("strict of tools", &["strict", "tools"]),
    ("strict of output", &["output.strict"]),
    ("tool_choice", &["tools"]),
    ("state", &["reasoning"]),
    ("other", &["file"]),
    ("order", &["image"]),
    ("finish", &["stop_sequence"]),
];

/// Compares requests.
pub(crate) fn prompts(said: &Prompt, arrived: &Prompt, losses: &[Loss]) -> Result<(), String> {
    let mut arrived = arrived.clone();
    if losses.iter().any(|loss| loss.field == "system") {
        heard_as_instructions(said, &mut arrived);
    }
    differences(of_prompt(said), of_prompt(&arrived), losses)
}

/// Where a dialect has no instructions in the middle, the user says them.
fn heard_as_instructions(said: &Prompt, arrived: &mut Prompt) {
    let system = said.messages.iter().filter(|m| m.role == Role::System);
    for text in system.map(Message::text) {
        let users = arrived.messages.iter_mut().filter(|m| m.role == Role::User);
        let is_it = |part: &Part| part.as_text() == Some(&text);
        let told: Vec<_> = users.filter(|m| m.parts.iter().any(is_it)).collect();
        for message in told {
            message.parts.retain(|part| !is_it(part));
            arrived.system.push(Text::new(&text));
        }
    }
}

/// Compares answers.
pub(crate) fn responses(
    said: &Response,
    arrived: &Response,
    losses: &[Loss],
) -> Result<(), String> {
    differences(of_response(said), of_response(arrived), losses)
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

fn differences(said: Aspects, mut arrived: Aspects, losses: &[Loss]) -> Result<(), String> {
    let mut unexplained = Vec::new();
    for (name, before) in said {
        let after = arrived.remove(&name);
        let same = after
            .as_ref()
            .is_some_and(|after| same(&name, &before, after, losses));
        if !same && !explained(&name, &before, losses) {
            unexplained.push(format!("{name}: {before:?} became {after:?}"));
        }
    }
    for (name, after) in arrived {
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

fn same(name: &str, before: &Said, after: &Said, losses: &[Loss]) -> bool {
    let (Said::Texts(before), Said::Texts(after)) = (before, after) else {
        // A dialect that must have a limit gets one, and each may add its own state.
        let adds = match name {
            "max_tokens" => *before == Said::Value("None".into()),
            name => name.ends_with("state") && *before == Said::Value("[]".into()),
        };
        return before == after || adds;
    };
    let after = after.concat();
    // A failure that cannot be marked must be told.
    let told = name.contains("result ") && losses.iter().any(|loss| loss.field == "is_error");
    let after = match told {
        true => after
            .strip_prefix("ERROR: ")
            .unwrap_or("nothing about a failure"),
        false => &after,
    };
    ["", "\n", "\n\n"]
        .iter()
        .any(|line| before.join(line) == after)
}

fn explained(name: &str, before: &Said, losses: &[Loss]) -> bool {
    let aspect = name.split_once(": ").map_or(name, |(_, aspect)| aspect);
    let others = EXPLAINS.iter().filter(|(wanted, _)| *wanted == aspect);
    losses.iter().any(|loss| {
        let field = loss.field.as_str();
        let named = field == aspect || others.clone().any(|(_, names)| names.contains(&field));
        // A block or a state is lost by its own name.
        let inside = match before {
            Said::Value(text) if matches!(aspect, "other" | "state" | "hosted tools") => {
                let own = field.rsplit('.').next().unwrap_or(field);
                text.contains(own)
            }
            _ => false,
        };
        named || inside
    })
}
