//! Compares conversations aspect by aspect, ignoring equivalent representations:
//!
//! - system texts are equivalent in any position;
//! - consecutive messages of one side are one turn, tool results first; empty
//!   content is ignored;
//! - consecutive texts may be joined, with or without a line break;
//! - calls are identified by position, not by id; arguments are JSON values;
//! - where tool results are text-only, their images follow in the same turn, each
//!   with a caption.

use std::collections::BTreeMap;

use majordomo_llm::{Json, Message, Native, OutputFormat, Part, Prompt, Role, Tool};
use serde_json::Value;

/// Aspects by name. A text is a list of fragments that may be joined.
pub(crate) type Aspects = BTreeMap<String, AspectValue>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AspectValue {
    Value(String),
    Texts(Vec<String>),
}

/// All aspects of a request.
pub(crate) fn of_prompt(prompt: &Prompt) -> Aspects {
    let mut aspects = settings(prompt);
    let mut system: Vec<String> = prompt.system.iter().map(|t| t.text.clone()).collect();
    let mut places = Vec::new();
    let mut turns: Vec<(Role, Vec<&Part>)> = Vec::new();
    for message in &prompt.messages {
        if message.role == Role::System {
            system.push(message.text());
            if !turns.is_empty() {
                places.push(turns.len());
            }
            continue;
        }
        let parts: Vec<&Part> = message.parts.iter().filter(|p| !is_empty(p)).collect();
        let role = side(message);
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, parts_so_far)) if *last == role => parts_so_far.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    system.retain(|text| !text.is_empty() && !is_json_instruction(text));
    aspects.insert("system".into(), AspectValue::Texts(system));
    put(&mut aspects, "position of system", places);
    put(
        &mut aspects,
        "turns",
        turns.iter().map(|(role, _)| *role).collect::<Vec<_>>(),
    );
    let calls: Vec<&str> = turns
        .iter()
        .flat_map(|(_, parts)| parts.iter())
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    for (n, (_, parts)) in turns.into_iter().enumerate() {
        of_turn(&format!("turn {n}: "), parts, &calls, &mut aspects);
    }
    aspects
}

fn side(message: &Message) -> Role {
    match message.role {
        Role::Tool => Role::User,
        role => role,
    }
}

fn is_empty(part: &Part) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.text.is_empty(),
        _ => false,
    }
}

/// The aspects of one turn, or of a whole response.
pub(crate) fn of_turn(prefix: &str, parts: Vec<&Part>, calls: &[&str], aspects: &mut Aspects) {
    let texts = |wanted: &dyn Fn(&Part) -> bool| -> Vec<String> {
        let spoken = parts.iter().filter(|part| wanted(part));
        spoken.filter_map(|part| text_of(part)).collect()
    };
    let text = texts(&|part| matches!(part, Part::Text(_) | Part::Refusal(_)));
    let text = text.into_iter().filter(|text| !is_caption(text)).collect();
    aspects.insert(format!("{prefix}text"), AspectValue::Texts(text));
    let refusals = texts(&|part| matches!(part, Part::Refusal(_)));
    put(aspects, &format!("{prefix}refusal"), refusals);

    let mut results = Vec::new();
    let mut failed = Vec::new();
    let mut images = Vec::new();
    let (mut reasoning_texts, mut states, mut called, mut others) =
        (vec![], vec![], vec![], vec![]);
    for part in &parts {
        states.extend(state(part.native()));
        match part {
            Part::ToolResult(result) => {
                let call = calls.iter().rposition(|id| *id == result.call_id);
                failed.push(result.is_error);
                let texts: Vec<String> = result.parts.iter().filter_map(text_of).collect();
                results.push((call, texts));
                images.extend(result.parts.iter().filter_map(image_key));
            }
            Part::Reasoning(reasoning) => {
                reasoning_texts.extend(Some(&reasoning.text).filter(|text| !text.is_empty()));
            }
            Part::ToolCall(call) => {
                let arguments: Value = call
                    .parse()
                    .unwrap_or_else(|_| call.arguments.clone().into());
                called.push((call.name.clone(), arguments));
            }
            Part::File(file) => others.push(format!("{file:?}")),
            Part::Opaque(block) => others.push(block.raw.as_str().to_owned()),
            part => images.extend(image_key(part)),
        }
    }
    for (n, (call, texts)) in results.into_iter().enumerate() {
        put(aspects, &format!("{prefix}result {n} call"), call);
        let texts = texts
            .into_iter()
            .filter(|t| !t.is_empty() && !is_caption(t));
        aspects.insert(
            format!("{prefix}result {n}"),
            AspectValue::Texts(texts.collect()),
        );
    }
    put(aspects, &format!("{prefix}is_error"), failed);
    put(aspects, &format!("{prefix}image"), images);
    put(aspects, &format!("{prefix}reasoning"), reasoning_texts);
    put(aspects, &format!("{prefix}state"), states);
    put(aspects, &format!("{prefix}tool_call"), called);
    put(aspects, &format!("{prefix}other"), others);
    put(aspects, &format!("{prefix}order"), order(&parts));
}

/// The order of content kinds. Next to results, images may belong to them and
/// come anywhere.
fn order(parts: &[&Part]) -> Vec<&'static str> {
    let has_results = parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
    let mut kinds: Vec<&'static str> = Vec::new();
    for part in parts.iter().filter(|part| !is_empty(part)) {
        let kind = match part {
            Part::Text(text) if is_caption(&text.text) => continue,
            Part::Text(_) | Part::Refusal(_) => "text",
            part if is_image(part) && !has_results => "image",
            Part::ToolCall(_) => "call",
            _ => continue,
        };
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// The instruction that replaces JSON output in Messages.
fn is_json_instruction(text: &str) -> bool {
    text.starts_with("Answer with one JSON object")
}

/// Captions that the Chat Completions writer adds to images of tools.
fn is_caption(text: &str) -> bool {
    text == "see image below" || text.starts_with("Image from the tool call ")
}

fn is_image(part: &Part) -> bool {
    image_key(part).is_some()
}

fn image_key(part: &Part) -> Option<String> {
    match part {
        Part::Image(image) => Some(format!("{} {:?}", image.media_type, &image.data[..])),
        Part::RemoteImage(image) => Some(image.url.clone()),
        _ => None,
    }
}

fn text_of(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text.text.clone()),
        _ => None,
    }
}

/// Dialect-specific state, without fields that only describe the
/// representation or repeat the text.
fn state(native: Option<&Native>) -> Option<String> {
    const HOW: &[&str] = &["field", "id", "status", "summary", "item.id", "item.status"];
    let fields = native?.fields().filter(|(name, _)| !HOW.contains(name));
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by_key(|(name, _)| *name);
    (!fields.is_empty()).then(|| format!("{fields:?}"))
}

fn settings(prompt: &Prompt) -> Aspects {
    let mut aspects = Aspects::new();
    let tools: Vec<_> = prompt.tools.iter().map(tool).collect();
    put(&mut aspects, "tools", tools);
    let strict: Vec<_> = prompt.tools.iter().map(|tool| tool.strict).collect();
    put(&mut aspects, "strict of tools", strict);
    let hosted: Vec<_> = prompt.hosted_tools.iter().map(|t| t.raw.as_str()).collect();
    put(&mut aspects, "hosted tools", hosted);
    put(&mut aspects, "tool_choice", &prompt.tool_choice);
    put(
        &mut aspects,
        "parallel_tool_calls",
        prompt.parallel_tool_calls,
    );
    let (output, strict) = match &prompt.output {
        OutputFormat::Text => (Value::Null, None),
        OutputFormat::Json => ("json".into(), None),
        OutputFormat::Schema(output) => (value(&output.schema), output.strict),
    };
    put(&mut aspects, "output", output);
    put(&mut aspects, "strict of output", strict);
    put(&mut aspects, "max_tokens", prompt.max_tokens);
    put(&mut aspects, "temperature", prompt.temperature);
    put(&mut aspects, "top_p", prompt.top_p);
    put(&mut aspects, "top_k", prompt.top_k);
    put(&mut aspects, "presence_penalty", prompt.presence_penalty);
    put(&mut aspects, "frequency_penalty", prompt.frequency_penalty);
    put(&mut aspects, "seed", prompt.seed);
    put(&mut aspects, "stop", &prompt.stop);
    put(&mut aspects, "effort", prompt.effort);
    put(&mut aspects, "reasoning_budget", prompt.reasoning_budget);
    put(&mut aspects, "cache_key", &prompt.cache_key);
    put(&mut aspects, "user", &prompt.user);
    aspects
}

fn tool(tool: &Tool) -> (String, Option<String>, Value) {
    let none = Json::parse(r#"{"type":"object","properties":{}}"#).expect("valid JSON");
    let parameters = tool.parameters.as_ref().unwrap_or(&none);
    (
        tool.name.clone(),
        tool.description.clone(),
        value(parameters),
    )
}

fn value(json: &Json) -> Value {
    json.to().expect("it was read")
}

pub(crate) fn put(aspects: &mut Aspects, name: &str, value: impl std::fmt::Debug) {
    aspects.insert(name.to_owned(), AspectValue::Value(format!("{value:?}")));
}
