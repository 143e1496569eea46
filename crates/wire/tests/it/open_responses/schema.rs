//! The part of the specification's schema that our writers use: required fields and their
//! types, of the response object, of its items and of every event.

use serde_json::Value;

/// The type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Integer,
    Number,
    Bool,
    Object,
    List,
    /// Present, and of any type.
    Any,
    /// Null, or this type.
    Nullable(&'static Kind),
    /// Absent, or this type.
    Optional(&'static Kind),
}

impl Kind {
    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Integer => value.is_u64(),
            Self::Number => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::Any => true,
            Self::Nullable(kind) => value.is_null() || kind.accepts(value),
            Self::Optional(kind) => kind.accepts(value),
        }
    }
}

type Fields = &'static [(&'static str, Kind)];

const STATUS: Kind = Kind::OneOf(&["in_progress", "completed", "incomplete", "failed"]);
const ITEM_STATUS: Kind = Kind::OneOf(&["in_progress", "completed", "incomplete"]);

const RESPONSE: Fields = &[
    ("id", Kind::Text),
    ("object", Kind::OneOf(&["response"])),
    ("created_at", Kind::Integer),
    ("completed_at", Kind::Nullable(&Kind::Integer)),
    ("status", STATUS),
    ("incomplete_details", Kind::Nullable(&Kind::Object)),
    ("model", Kind::Text),
    ("previous_response_id", Kind::Nullable(&Kind::Text)),
    ("instructions", Kind::Nullable(&Kind::Text)),
    ("output", Kind::List),
    ("error", Kind::Nullable(&Kind::Object)),
    ("tools", Kind::List),
    ("tool_choice", Kind::Any),
    ("truncation", Kind::OneOf(&["auto", "disabled"])),
    ("parallel_tool_calls", Kind::Bool),
    ("text", Kind::Object),
    ("top_p", Kind::Number),
    ("presence_penalty", Kind::Number),
    ("frequency_penalty", Kind::Number),
    ("top_logprobs", Kind::Integer),
    ("temperature", Kind::Number),
    ("reasoning", Kind::Nullable(&Kind::Object)),
    ("user", Kind::Optional(&Kind::Text)),
    ("usage", Kind::Nullable(&Kind::Object)),
    ("max_output_tokens", Kind::Nullable(&Kind::Integer)),
    ("max_tool_calls", Kind::Nullable(&Kind::Integer)),
    ("store", Kind::Bool),
    ("background", Kind::Bool),
    ("service_tier", Kind::Text),
    ("metadata", Kind::Object),
    ("safety_identifier", Kind::Nullable(&Kind::Text)),
    ("prompt_cache_key", Kind::Nullable(&Kind::Text)),
];

const USAGE: Fields = &[
    ("input_tokens", Kind::Integer),
    ("output_tokens", Kind::Integer),
    ("total_tokens", Kind::Integer),
    ("input_tokens_details", Kind::Object),
    ("output_tokens_details", Kind::Object),
];

const FUNCTION_TOOL: Fields = &[
    ("type", Kind::OneOf(&["function"])),
    ("name", Kind::Text),
    ("description", Kind::Nullable(&Kind::Text)),
    ("parameters", Kind::Nullable(&Kind::Object)),
    ("strict", Kind::Nullable(&Kind::Bool)),
];

const JSON_SCHEMA: Fields = &[
    ("type", Kind::OneOf(&["json_schema"])),
    ("name", Kind::Text),
    ("description", Kind::Nullable(&Kind::Text)),
    ("schema", Kind::Nullable(&Kind::Object)),
    ("strict", Kind::Bool),
];

const REASONING: Fields = &[
    ("effort", Kind::Nullable(&Kind::Text)),
    ("summary", Kind::Nullable(&Kind::Text)),
];

const ITEMS: &[(&str, Fields)] = &[
    (
        "message",
        &[
            ("id", Kind::Text),
            ("status", ITEM_STATUS),
            ("role", Kind::OneOf(&["assistant"])),
            ("content", Kind::List),
        ],
    ),
    (
        "function_call",
        &[
            ("id", Kind::Text),
            ("call_id", Kind::Text),
            ("name", Kind::Text),
            ("arguments", Kind::Text),
            ("status", ITEM_STATUS),
        ],
    ),
    ("reasoning", &[("id", Kind::Text), ("summary", Kind::List)]),
];

const PARTS: &[(&str, Fields)] = &[
    (
        "output_text",
        &[
            ("text", Kind::Text),
            ("annotations", Kind::List),
            ("logprobs", Kind::List),
        ],
    ),
    ("refusal", &[("refusal", Kind::Text)]),
    ("summary_text", &[("text", Kind::Text)]),
];

const OF_RESPONSE: Fields = &[("response", Kind::Object)];
const OF_ITEM: Fields = &[("output_index", Kind::Integer), ("item", Kind::Object)];
const OF_PART: Fields = &[
    ("item_id", Kind::Text),
    ("output_index", Kind::Integer),
    ("content_index", Kind::Integer),
    ("part", Kind::Object),
];
const OF_SUMMARY_PART: Fields = &[
    ("item_id", Kind::Text),
    ("output_index", Kind::Integer),
    ("summary_index", Kind::Integer),
    ("part", Kind::Object),
];

const EVENTS: &[(&str, Fields)] = &[
    ("response.created", OF_RESPONSE),
    ("response.in_progress", OF_RESPONSE),
    ("response.completed", OF_RESPONSE),
    ("response.incomplete", OF_RESPONSE),
    ("response.output_item.added", OF_ITEM),
    ("response.output_item.done", OF_ITEM),
    ("response.content_part.added", OF_PART),
    ("response.content_part.done", OF_PART),
    (
        "response.output_text.delta",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("content_index", Kind::Integer),
            ("delta", Kind::Text),
            ("logprobs", Kind::List),
        ],
    ),
    (
        "response.output_text.done",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("content_index", Kind::Integer),
            ("text", Kind::Text),
            ("logprobs", Kind::List),
        ],
    ),
    (
        "response.function_call_arguments.delta",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("delta", Kind::Text),
        ],
    ),
    (
        "response.function_call_arguments.done",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("arguments", Kind::Text),
        ],
    ),
    ("response.reasoning_summary_part.added", OF_SUMMARY_PART),
    ("response.reasoning_summary_part.done", OF_SUMMARY_PART),
    (
        "response.reasoning_summary_text.delta",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("summary_index", Kind::Integer),
            ("delta", Kind::Text),
        ],
    ),
    (
        "response.reasoning_summary_text.done",
        &[
            ("item_id", Kind::Text),
            ("output_index", Kind::Integer),
            ("summary_index", Kind::Integer),
            ("text", Kind::Text),
        ],
    ),
];

fn check(place: &str, value: &Value, fields: Fields, faults: &mut Vec<String>) {
    for (name, kind) in fields {
        match value.get(name) {
            None if matches!(kind, Kind::Optional(_)) => {}
            None => faults.push(format!("{place}: {name} is missing")),
            Some(found) if !kind.accepts(found) => {
                faults.push(format!("{place}: {name} is {found}"));
            }
            Some(_) => {}
        }
    }
}

/// Checks a value by its `type`.
fn check_typed(place: &str, value: &Value, types: &[(&str, Fields)], faults: &mut Vec<String>) {
    let kind = value["type"].as_str().unwrap_or_default();
    match types.iter().find(|(name, _)| *name == kind) {
        Some((_, fields)) => check(&format!("{place} {kind}"), value, fields, faults),
        None => faults.push(format!("{place}: unknown type {kind:?}")),
    }
}

fn check_item(place: &str, item: &Value, faults: &mut Vec<String>) {
    check_typed(place, item, ITEMS, faults);
    for list in ["content", "summary"] {
        for part in item[list].as_array().into_iter().flatten() {
            check_typed(place, part, PARTS, faults);
        }
    }
}

/// The faults of a response object.
pub(super) fn response(response: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check("response", response, RESPONSE, &mut faults);
    if response["usage"].is_object() {
        check("usage", &response["usage"], USAGE, &mut faults);
    }
    if response["reasoning"].is_object() {
        check("reasoning", &response["reasoning"], REASONING, &mut faults);
    }
    if response["text"]["format"]["type"] == "json_schema" {
        check(
            "text.format",
            &response["text"]["format"],
            JSON_SCHEMA,
            &mut faults,
        );
    }
    for tool in response["tools"].as_array().into_iter().flatten() {
        check("tool", tool, FUNCTION_TOOL, &mut faults);
    }
    for item in response["output"].as_array().into_iter().flatten() {
        check_item("item", item, &mut faults);
    }
    faults
}

/// The faults of a stream: of each event, and of their order.
pub(super) fn stream(events: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open = Vec::new();
    for (number, event) in events.iter().enumerate() {
        check_typed("event", event, EVENTS, &mut faults);
        if event["sequence_number"] != number {
            faults.push(format!(
                "event {number} has number {}",
                event["sequence_number"]
            ));
        }
        let kind = event["type"].as_str().unwrap_or_default();
        if event["response"].is_object() {
            faults.extend(response(&event["response"]));
        }
        if event["item"].is_object() {
            check_item(kind, &event["item"], &mut faults);
        }
        if event["part"].is_object() {
            check_typed(kind, &event["part"], PARTS, &mut faults);
        }
        match kind {
            "response.output_item.added" => open.push(event["output_index"].clone()),
            "response.output_item.done" => open.retain(|index| *index != event["output_index"]),
            _ => {}
        }
    }
    let kind = |at: Option<&Value>| at.and_then(|event| event["type"].as_str().map(str::to_owned));
    if kind(events.first()).as_deref() != Some("response.created") {
        faults.push("the stream does not begin with response.created".into());
    }
    let last = kind(events.last()).unwrap_or_default();
    if !matches!(&*last, "response.completed" | "response.incomplete") {
        faults.push(format!("the stream ends with {last}"));
    }
    if !open.is_empty() {
        faults.push(format!("items {open:?} are not closed"));
    }
    faults
}
