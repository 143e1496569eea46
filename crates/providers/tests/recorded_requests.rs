//! Requests that real programs sent to real providers, written anew by us.
//!
//! `MAJORDOMO_RECORDINGS` names a folder with an `INDEX.tsv`. Each recorded
//! request is read into the contract, its bytes are forgotten, and it is written
//! from scratch: every key must come back with the same type, and none may be
//! added, but for what the lists below say.

use std::collections::BTreeSet;
use std::path::Path;

use majordomo_llm::Request;
use majordomo_wire::{Outgoing, Protocol};
use serde_json::Value;

/// What we write otherwise than the recording, by dialect (`*` is any) and path,
/// with the reason. A path covers what is below it.
const DIFFERENT: &[(&str, &str, &str)] = &[];

fn protocol(name: &str) -> Option<Protocol> {
    Some(match name {
        "openai-chat" => Protocol::Chat,
        "openai-responses" => Protocol::Responses,
        "anthropic-messages" => Protocol::Messages,
        "gemini" => Protocol::Gemini,
        "ollama-chat" => Protocol::Ollama,
        _ => return None,
    })
}

/// Every path of a value with the type found there; list elements share a path.
fn shape(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => return,
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            for item in items {
                shape(item, &format!("{path}[]"), found);
            }
            "list"
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                shape(value, &format!("{path}.{key}"), found);
            }
            "object"
        }
    };
    found.insert(format!("{path}: {kind}"));
}

fn listed(dialect: &str, difference: &str) -> bool {
    let path = &difference[1..];
    DIFFERENT.iter().any(|(of, listed, _)| {
        let below = path.strip_prefix(listed);
        (*of == "*" || *of == dialect)
            && below.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// The differences of one recording: `-` is missing in ours, `+` is added.
fn differences(protocol: Protocol, body: &Value) -> Result<Vec<String>, String> {
    let bytes = body.to_string();
    let read = protocol.codec().read_request(bytes.into());
    let read = read.map_err(|error| error.to_string())?;
    let fresh = Request::from((*read.request).clone());
    let model = read.model.unwrap_or_default();
    let legacy = body.get("max_tokens").is_some();
    let to = Outgoing {
        legacy_max_tokens: legacy,
        ..Outgoing::new(&model).stream(read.stream)
    };
    let written = protocol.codec().write_request(&fresh, &to);
    let ours: Value = serde_json::from_slice(&written.body).map_err(|error| error.to_string())?;
    let (mut theirs, mut written) = (BTreeSet::new(), BTreeSet::new());
    shape(body, "", &mut theirs);
    shape(&ours, "", &mut written);
    let missing = theirs.difference(&written).map(|path| format!("-{path}"));
    let added = written.difference(&theirs).map(|path| format!("+{path}"));
    Ok(missing.chain(added).collect())
}

fn body_of(file: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    let exchange: Value = serde_json::from_str(&text).ok()?;
    let body = exchange.get("request")?.get("body")?;
    let body = match body {
        Value::String(text) => serde_json::from_str(text).ok()?,
        body => body.clone(),
    };
    body.is_object().then_some(body)
}

#[test]
fn what_we_write_has_the_keys_and_types_of_what_was_recorded() {
    let Some(folder) = std::env::var_os("MAJORDOMO_RECORDINGS") else {
        println!("recorded requests: skipped, MAJORDOMO_RECORDINGS is not set");
        return;
    };
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("an index");
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in index.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (path, dialect) = (cells[0], cells[1]);
        // What a provider refused shows how not to ask.
        let refused = cells[4].parse::<u16>().is_ok_and(|status| status >= 400);
        let Some(protocol) = protocol(dialect).filter(|_| !refused) else {
            continue;
        };
        let Some(body) = body_of(&folder.join(path)) else {
            continue;
        };
        compared += 1;
        match differences(protocol, &body) {
            Ok(differences) => wrong.extend(
                differences
                    .iter()
                    .filter(|difference| !listed(dialect, difference))
                    .map(|difference| format!("{dialect}\t{difference}\t{path}")),
            ),
            Err(error) => wrong.push(format!("{dialect}\t{error}\t{path}")),
        }
    }
    println!("recorded requests: {compared} compared");
    assert!(compared > 100, "only {compared} requests were found");
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
