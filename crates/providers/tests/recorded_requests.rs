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

/// What we write otherwise than the recording, by dialect and path, with the
/// reason: `-` is only there, `+` only here, and `*` covers what is below.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "anthropic-messages",
        "-.output_format*",
        "the name before it moved into output_config",
    ),
    (
        "anthropic-messages",
        "+.output_config*",
        "the name before it moved into output_config",
    ),
    (
        "anthropic-messages",
        "+.thinking*",
        "an effort asks for thought, which some models must be told",
    ),
    (
        "openai-chat",
        "+.stream_options*",
        "usage is always wanted, and must be asked for in streams",
    ),
    (
        "openai-chat",
        "-.reasoning*",
        "OpenRouter's own form of reasoning_effort",
    ),
    (
        "openai-chat",
        "+.reasoning_effort",
        "OpenRouter's own form of reasoning_effort",
    ),
    (
        "openai-chat",
        "+.tools[].type",
        "it was left out, but must be there",
    ),
    (
        "openai-chat",
        "-.messages[].content[].image_url",
        "an address alone, where an object is documented",
    ),
    (
        "openai-chat",
        "+.messages[].content[].image_url*",
        "an address alone, where an object is documented",
    ),
    (
        "openai-chat",
        "-.messages[].tool_calls[].index",
        "belongs to answers only",
    ),
    (
        "openai-chat",
        "-.stop",
        "one text is written as a list of one",
    ),
    (
        "openai-chat",
        "+.stop",
        "one text is written as a list of one",
    ),
    (
        "openai-chat",
        "+.stop[]",
        "one text is written as a list of one",
    ),
    (
        "openai-chat",
        "+.response_format.json_schema.name",
        "it was left out, but must be there",
    ),
    (
        "openai-chat",
        "-.top_k",
        "not a field of Chat Completions; noted as a loss",
    ),
    (
        "openai-responses",
        "+.input[].type",
        "may be left out of messages; we always say it",
    ),
    (
        "openai-responses",
        "-.input",
        "one text is written as a list with one message",
    ),
    (
        "openai-responses",
        "+.input",
        "one text is written as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[]",
        "one text is written as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[].role",
        "one text is written as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[].content",
        "one text is written as a list with one message",
    ),
    (
        "gemini",
        "-.systemInstruction.role",
        "instructions have no role",
    ),
    (
        "gemini",
        "-.tools[].functionDeclarations[].parameters*",
        "written as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "+.tools[].functionDeclarations[].parametersJsonSchema*",
        "written as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "-.generationConfig.responseSchema*",
        "written as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "+.generationConfig.responseJsonSchema*",
        "written as JSON Schema, the newer field",
    ),
    ("gemini", "-.tools", "an object, where a list is documented"),
    (
        "gemini",
        "-.tools.functionDeclarations*",
        "an object, where a list is documented",
    ),
    ("gemini", "+.tools", "an object, where a list is documented"),
    (
        "gemini",
        "+.tools[]",
        "an object, where a list is documented",
    ),
    (
        "gemini",
        "+.tools[].functionDeclarations*",
        "an object, where a list is documented",
    ),
    (
        "gemini",
        "+.contents[].parts[].functionCall.id",
        "calls and answers are matched by ids from Gemini 3 on",
    ),
    (
        "gemini",
        "+.contents[].parts[].functionResponse.id",
        "calls and answers are matched by ids from Gemini 3 on",
    ),
    (
        "gemini",
        "+.contents[].parts[].thoughtSignature",
        "Gemini 3 refuses a call without one; Google names the stand-in",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_name",
        "newer servers match answers by name and id",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_call_id",
        "newer servers match answers by name and id",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_calls[].id",
        "newer servers match answers by name and id",
    ),
];

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

/// Other ways to say the same, in one form; done to both sides.
fn plain(value: Value, key: &str) -> Value {
    match value {
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().map(|item| plain(item, "")).collect();
            match only_text(&items) {
                Some(text) if matches!(key, "content" | "system" | "output" | "input") => text,
                _ => Value::Array(items),
            }
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let key = same_name(&key).to_owned();
                let value = plain(value, &key);
                (key, value)
            });
            Value::Object(
                fields
                    .filter(|(key, value)| says_something(key, value))
                    .collect(),
            )
        }
        other => other,
    }
}

/// A list of one text, which may as well be the text.
fn only_text(items: &[Value]) -> Option<Value> {
    let [Value::Object(only)] = items else {
        return None;
    };
    let kind = only.get("type").and_then(Value::as_str);
    let is_text = matches!(kind, Some("text" | "input_text" | "output_text"));
    (is_text && only.len() == 2).then(|| only.get("text").cloned())?
}

/// Keys that have two names: Gemini takes both spellings of each, and a schema
/// in the older place.
fn same_name(key: &str) -> &str {
    match key {
        "parameters_json_schema" => "parametersJsonSchema",
        "function_declarations" => "functionDeclarations",
        "system_instruction" => "systemInstruction",
        "generation_config" => "generationConfig",
        "inline_data" => "inlineData",
        "mime_type" => "mimeType",
        "function_call" => "functionCall",
        "function_response" => "functionResponse",
        "include_thoughts" => "includeThoughts",
        "thinking_budget" => "thinkingBudget",
        "thought_signature" => "thoughtSignature",
        "file_uri" => "fileUri",
        key => key,
    }
}

/// What may be left out, since silence means the same.
fn says_something(key: &str, value: &Value) -> bool {
    let auto = value == "auto" || value.get("type").is_some_and(|kind| kind == "auto");
    match key {
        "reasoning_content" => value != "",
        "stream" | "is_error" => *value != Value::Bool(false),
        "tool_choice" => !auto || value.as_object().is_some_and(|object| object.len() > 1),
        "annotations" | "responseModalities" => !is_default_list(value),
        "format" => *value != serde_json::json!({"type": "text"}) && value != "",
        "functionCallingConfig" => *value != serde_json::json!({"mode": "AUTO"}),
        "tools" | "tool_calls" | "generationConfig" | "toolConfig" | "options" | "text" => {
            !is_empty(value)
        }
        _ => true,
    }
}

fn is_default_list(value: &Value) -> bool {
    is_empty(value) || *value == serde_json::json!(["TEXT"])
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
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
    let path = difference.split(": ").next().unwrap_or_default();
    DIFFERENT.iter().any(|(of, listed, _)| {
        let found = match listed.strip_suffix('*') {
            Some(above) => path
                .strip_prefix(above)
                .is_some_and(|below| below.is_empty() || below.starts_with(['.', '['])),
            None => path == *listed,
        };
        *of == dialect && found
    })
}

/// The differences of one recording: `-` is missing in ours, `+` is added.
fn differences(protocol: Protocol, model: &str, body: &Value) -> Result<Vec<String>, String> {
    let bytes = body.to_string();
    let read = protocol.codec().read_request(bytes.into());
    let read = read.map_err(|error| error.to_string())?;
    let fresh = Request::from((*read.request).clone());
    let model = read.model.unwrap_or_else(|| model.to_owned());
    let legacy = body.get("max_tokens").is_some();
    let to = Outgoing {
        legacy_max_tokens: legacy,
        ..Outgoing::new(&model).stream(read.stream)
    };
    let written = protocol.codec().write_request(&fresh, &to);
    let ours: Value = serde_json::from_slice(&written.body).map_err(|error| error.to_string())?;
    let (mut theirs, mut written) = (BTreeSet::new(), BTreeSet::new());
    shape(&plain(body.clone(), ""), "", &mut theirs);
    shape(&plain(ours, ""), "", &mut written);
    let missing = theirs.difference(&written).map(|path| format!("-{path}"));
    let added = written.difference(&theirs).map(|path| format!("+{path}"));
    Ok(missing.chain(added).collect())
}

fn body_of(file: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    let exchange: Value = serde_json::from_str(&text).ok()?;
    let request = exchange.get("request")?;
    // These ask for a number, or for many answers later.
    let url = request
        .get("url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if url.contains("countTokens") || url.contains("count_tokens") || url.contains("/batches") {
        return None;
    }
    let body = request.get("body")?;
    let body = match body {
        Value::String(text) => serde_json::from_str(text).ok()?,
        body => body.clone(),
    };
    body.is_object().then_some(body)
}

#[test]
fn what_we_write_has_the_keys_and_types_of_what_was_recorded() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_RECORDINGS") else {
        return;
    };
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
        match differences(protocol, cells[3], &body) {
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
