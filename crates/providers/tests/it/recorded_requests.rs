//! Recorded requests of real programs, decoded and encoded again.
//!
//! `MAJORDOMO_RECORDINGS` names a folder with an `INDEX.tsv`. Each recorded request
//! is decoded and encoded without its original bytes. Every key must reappear with
//! the same type and none may be added, except as listed below.

use std::collections::BTreeSet;
use std::path::Path;

use majordomo_llm::Request;
use majordomo_wire::{Outgoing, Protocol};
use serde_json::Value;

/// Accepted differences by dialect and path, with the reason: `-` is only in the
/// recording, `+` only in our encoding, and a trailing `*` includes everything
/// below.
const ACCEPTED_DIFFERENCES: &[(&str, &str, &str)] = &[
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
        "an effort implies thinking, which some models need enabled",
    ),
    (
        "openai-chat",
        "+.stream_options*",
        "usage is always requested, which streams need an option for",
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
        "required, but missing in the recording",
    ),
    (
        "openai-chat",
        "-.messages[].content[].image_url",
        "a bare URL, where an object is documented",
    ),
    (
        "openai-chat",
        "+.messages[].content[].image_url*",
        "a bare URL, where an object is documented",
    ),
    (
        "openai-chat",
        "-.messages[].tool_calls[].index",
        "belongs to responses only",
    ),
    (
        "openai-chat",
        "-.stop",
        "a single text is encoded as a list of one",
    ),
    (
        "openai-chat",
        "+.stop",
        "a single text is encoded as a list of one",
    ),
    (
        "openai-chat",
        "+.stop[]",
        "a single text is encoded as a list of one",
    ),
    (
        "openai-chat",
        "+.response_format.json_schema.name",
        "required, but missing in the recording",
    ),
    (
        "openai-chat",
        "-.top_k",
        "not a field of Chat Completions; recorded as a loss",
    ),
    (
        "openai-responses",
        "+.input[].type",
        "optional in messages; always encoded",
    ),
    (
        "openai-responses",
        "-.input",
        "a single text is encoded as a list with one message",
    ),
    (
        "openai-responses",
        "+.input",
        "a single text is encoded as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[]",
        "a single text is encoded as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[].role",
        "a single text is encoded as a list with one message",
    ),
    (
        "openai-responses",
        "+.input[].content",
        "a single text is encoded as a list with one message",
    ),
    (
        "gemini",
        "-.systemInstruction.role",
        "instructions have no role",
    ),
    (
        "gemini",
        "-.tools[].functionDeclarations[].parameters*",
        "encoded as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "+.tools[].functionDeclarations[].parametersJsonSchema*",
        "encoded as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "-.generationConfig.responseSchema*",
        "encoded as JSON Schema, the newer field",
    ),
    (
        "gemini",
        "+.generationConfig.responseJsonSchema*",
        "encoded as JSON Schema, the newer field",
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
        "calls and results are matched by id from Gemini 3 on",
    ),
    (
        "gemini",
        "+.contents[].parts[].functionResponse.id",
        "calls and results are matched by id from Gemini 3 on",
    ),
    (
        "gemini",
        "+.contents[].parts[].thoughtSignature",
        "Gemini 3 rejects a call without one; Google documents the placeholder",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_name",
        "newer servers match results by name and id",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_call_id",
        "newer servers match results by name and id",
    ),
    (
        "ollama-chat",
        "+.messages[].tool_calls[].id",
        "newer servers match results by name and id",
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

/// Normalizes equivalent forms; applied to both sides.
fn normalize(value: Value, key: &str) -> Value {
    match value {
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().map(|item| normalize(item, "")).collect();
            match only_text(&items) {
                Some(text) if matches!(key, "content" | "system" | "output" | "input") => text,
                _ => Value::Array(items),
            }
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let key = canonical_name(&key).to_owned();
                let value = normalize(value, &key);
                (key, value)
            });
            Value::Object(
                fields
                    .filter(|(key, value)| is_not_default(key, value))
                    .collect(),
            )
        }
        other => other,
    }
}

/// The text of a list that contains a single text part.
fn only_text(items: &[Value]) -> Option<Value> {
    let [Value::Object(only)] = items else {
        return None;
    };
    let kind = only.get("type").and_then(Value::as_str);
    let is_text = matches!(kind, Some("text" | "input_text" | "output_text"));
    (is_text && only.len() == 2).then(|| only.get("text").cloned())?
}

/// Normalizes keys that Gemini accepts in two spellings.
fn canonical_name(key: &str) -> &str {
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

/// Whether a field differs from its default.
fn is_not_default(key: &str, value: &Value) -> bool {
    let auto = value == "auto" || value.get("type").is_some_and(|kind| kind == "auto");
    match key {
        "description" | "instructions" | "reasoning_content" => value != "",
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

/// Collects all paths of a value with their types; list elements share a path.
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
    ACCEPTED_DIFFERENCES.iter().any(|(of, listed, _)| {
        let found = match listed.strip_suffix('*') {
            Some(above) => path
                .strip_prefix(above)
                .is_some_and(|below| below.is_empty() || below.starts_with(['.', '['])),
            None => path == *listed,
        };
        *of == dialect && found
    })
}

/// The differences for one recording: `-` is missing in ours, `+` is added.
fn differences(protocol: Protocol, model: &str, body: &Value) -> Result<Vec<String>, String> {
    let bytes = body.to_string();
    let decoded = protocol.codec().read_request(bytes.into());
    let decoded = decoded.map_err(|error| error.to_string())?;
    let fresh = Request::from(decoded.request.prompt().clone());
    let model = decoded.model.unwrap_or_else(|| model.to_owned());
    let legacy = body.get("max_tokens").is_some();
    let to = Outgoing {
        legacy_max_tokens: legacy,
        ..Outgoing::new(&model).stream(decoded.stream)
    };
    let encoded = protocol.codec().write_request(&fresh, &to);
    let ours: Value = serde_json::from_slice(&encoded.body).map_err(|error| error.to_string())?;
    let (mut theirs, mut written) = (BTreeSet::new(), BTreeSet::new());
    shape(&normalize(body.clone(), ""), "", &mut theirs);
    shape(&normalize(ours, ""), "", &mut written);
    let missing = theirs.difference(&written).map(|path| format!("-{path}"));
    let added = written.difference(&theirs).map(|path| format!("+{path}"));
    Ok(missing.chain(added).collect())
}

fn body_of(file: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    let exchange: Value = serde_json::from_str(&text).ok()?;
    let request = exchange.get("request")?;
    // Token counts and batches are not generation requests.
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
fn encoded_requests_have_the_keys_and_types_of_the_recordings() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_RECORDINGS") else {
        return;
    };
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("an index");
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in index.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (path, dialect) = (cells[0], cells[1]);
        // Rejected requests are not examples to follow.
        let rejected = cells[4].parse::<u16>().is_ok_and(|status| status >= 400);
        let Some(protocol) = protocol(dialect).filter(|_| !rejected) else {
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
