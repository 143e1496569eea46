//! Absent, null and empty are distinct within a dialect and the same in all others.
//!
//! Every field of every shape below is removed, set to null and emptied. A request
//! keeps the difference byte for byte in its own dialect, also when something else
//! is edited, and means the same in every other dialect. Responses, whole and
//! streamed, mean the same in all three forms.

mod shapes;
mod variants;

use bytes::Bytes;
use majordomo_llm::{Assembler, Event, FinishReason, Message, Part, Response, Usage};
use majordomo_wire::{Codec, Outgoing, Protocol, Reply};
use serde_json::Value;

use variants::{Variant, variants};

/// Keys that are essential to a value: they state its kind, pair it with another value, or
/// hold its content.
const CONTENT: &[&str] = &[
    "type",
    "role",
    "name",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "text",
    "thinking",
    "data",
    "url",
    "fileUri",
    "mimeType",
    "source",
    "model",
    "function",
    "functionCall",
    "functionResponse",
    "fileData",
];

/// Fields whose empty value differs in meaning from an absent one.
const MEANINGFUL: &[(&str, &str)] = &[
    // A schema that accepts everything.
    ("openai-chat", "/parameters"),
    ("openai-chat", "/schema"),
    ("openai-responses", "/parameters"),
    ("openai-responses", "/schema"),
    ("anthropic-messages", "/input_schema"),
    ("anthropic-messages", "/schema"),
    ("gemini", "/parametersJsonSchema"),
    ("gemini", "/responseJsonSchema"),
    ("ollama-chat", "/parameters"),
    ("ollama-chat", "/format"),
    // Content of a tool's call and result.
    ("anthropic-messages", "/input/a"),
    ("gemini", "/response/output"),
    // Some servers end a stream with an empty reason.
    ("openai-chat", "/finish_reason"),
    ("gemini", "/finishReason"),
    // A response without these is of another API.
    ("openai-responses", "/output"),
    ("openai-responses", "/response"),
    ("anthropic-messages", "/content"),
];

/// Whether the forms of a field may differ: it states the kind of a value, or is listed.
fn says_something(dialect: &str, pointer: &str) -> bool {
    let key = pointer.rsplit('/').next().unwrap_or_default();
    let listed = |(of, field): &(&str, &str)| *of == dialect && pointer.ends_with(field);
    CONTENT.contains(&key) || MEANINGFUL.iter().any(listed)
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

fn report(failures: &[String], checked: usize) {
    println!("emptiness: {checked} variants");
    assert!(checked > 100, "only {checked} variants");
    assert!(
        failures.is_empty(),
        "{} of {checked}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn a_request_keeps_absent_null_and_empty_fields_in_its_own_dialect() {
    let (mut failures, mut checked) = (Vec::new(), 0);
    for (protocol, shape) in shapes::requests() {
        let codec = protocol.codec();
        for Variant { name, value, .. } in variants(&shape) {
            let body = bytes(&value);
            let Ok(incoming) = codec.read_request(body.clone()) else {
                continue;
            };
            checked += 1;
            let model = incoming.model.clone().unwrap_or_default();
            let to = Outgoing::new(&model).stream(incoming.stream);
            if !name.starts_with("/model") && !name.starts_with("/stream ") {
                let written = codec.write_request(&incoming.request, &to);
                if written.body != body || !written.losses.is_empty() {
                    failures.push(format!("{} {name}: not its own bytes", protocol.dialect()));
                }
            }
            // An edited request gets the ids that its calls lack.
            if name.contains("/id ") {
                continue;
            }
            let mut edited = incoming.request.clone();
            edited.edit().messages.push(Message::assistant("one more"));
            let written = codec.write_request(&edited, &to);
            let written: Value = serde_json::from_slice(&written.body).unwrap();
            if let Some(why) = more_than_a_message(protocol, &value, written) {
                failures.push(format!("{} {name}: edited: {why}", protocol.dialect()));
            }
        }
    }
    report(&failures, checked);
}

/// Removes the added message and reports any other difference.
fn more_than_a_message(protocol: Protocol, before: &Value, mut after: Value) -> Option<String> {
    let list = match protocol {
        Protocol::Chat | Protocol::Messages | Protocol::Ollama => "messages",
        Protocol::Responses => "input",
        Protocol::Gemini => "contents",
    };
    let kept = before.get(list).and_then(Value::as_array)?.len();
    // Without messages, a request is written from scratch.
    if kept == 0 {
        return None;
    }
    if let Some(messages) = after.get_mut(list).and_then(Value::as_array_mut) {
        messages.truncate(kept);
    }
    let mut before = before.clone();
    for key in ["model", "stream"] {
        for value in [&mut before, &mut after] {
            let fields = value.as_object_mut();
            fields.expect("a request is an object").remove(key);
        }
    }
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (before, after) = (fields(&before), fields(&after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let differs = names
        .into_iter()
        .find(|n| before.get(*n) != after.get(*n))?;
    Some(format!(
        "{differs}: {:?} became {:?}",
        before.get(differs).map(Value::to_string),
        after.get(differs).map(Value::to_string)
    ))
}

#[test]
fn absent_null_and_empty_mean_the_same_in_every_other_dialect() {
    let (mut failures, mut checked) = (Vec::new(), 0);
    for (protocol, shape) in shapes::requests() {
        let translations = |value: &Value| {
            let read = protocol.codec().read_request(bytes(value));
            let request = read.map_err(|error| error.to_string())?.request;
            let others = Protocol::ALL.into_iter().filter(|p| *p != protocol);
            Ok::<_, String>(
                others
                    .map(move |other| {
                        let written = other.codec().write_request(&request, &Outgoing::new("m"));
                        let listed = written.losses.into_iter();
                        let mut listed: Vec<_> =
                            listed.map(|loss| (loss.field, loss.verb)).collect();
                        listed.sort_by(|a, b| a.0.cmp(&b.0));
                        let body = String::from_utf8_lossy(&written.body).into_owned();
                        format!("{} {body} {listed:?}", other.dialect())
                    })
                    .collect::<Vec<_>>(),
            )
        };
        let dialect = protocol.dialect().to_string();
        for field in variants::fields(&shape) {
            if says_something(&dialect, &field) {
                continue;
            }
            let forms = variants::forms(&shape, &field);
            let read: Vec<_> = forms.iter().map(|v| (v, translations(&v.value))).collect();
            let Some((first, Ok(expected))) = read.first() else {
                failures.push(format!("{dialect} {field}: cannot be absent"));
                continue;
            };
            for (variant, given) in &read[1..] {
                checked += 1;
                match given {
                    Err(error) => failures.push(format!("{dialect} {}: {error}", variant.name)),
                    Ok(given) => {
                        let pairs = expected.iter().zip(given);
                        for (expected, given) in pairs.filter(|(a, b)| a != b) {
                            failures.push(format!(
                                "{dialect} {} is not {}:\n  {expected}\n  {given}",
                                variant.name, first.name
                            ));
                        }
                    }
                }
            }
        }
    }
    report(&failures, checked);
}

/// The parts of a response that a client would see.
type Meaning = (Vec<Part>, FinishReason, Usage);

fn meaning(mut response: Response) -> Meaning {
    // An empty text says nothing.
    response.parts.retain(|part| match part {
        Part::Text(text) | Part::Refusal(text) => !text.text.is_empty(),
        _ => true,
    });
    for part in &mut response.parts {
        match part {
            Part::Text(p) | Part::Refusal(p) => p.native = None,
            Part::Reasoning(p) => p.native = None,
            Part::ToolCall(p) => p.native = None,
            _ => {}
        }
    }
    (response.parts, response.finish, response.usage)
}

fn whole(codec: &dyn Codec, value: &Value) -> Result<Meaning, String> {
    let read = codec.read_response(bytes(value), 0);
    let response = read.map_err(|error| error.to_string())?;
    let written = codec.write_response(&response, &reply());
    let again = codec.read_response(written.body, 0);
    let again = again.map_err(|error| format!("read again: {error}"))?;
    let (first, again) = (meaning(response), meaning(again));
    match first == again {
        true => Ok(first),
        false => Err(format!("read again:\n  {first:?}\n  {again:?}")),
    }
}

fn streamed(protocol: Protocol, chunks: &Value) -> Result<Meaning, String> {
    let codec = protocol.codec();
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    for chunk in chunks.as_array().into_iter().flatten() {
        let frame = match protocol {
            Protocol::Ollama => format!("{chunk}\n"),
            _ => format!("data: {chunk}\n\n"),
        };
        let read = reader.push(frame.as_bytes(), &mut events);
        read.map_err(|error| error.to_string())?;
    }
    let finished = reader.finish(&mut events);
    finished.map_err(|error| error.to_string())?;
    let first = meaning(assemble(&events));
    let mut writer = codec.stream_writer(&reply());
    let mut out = bytes::BytesMut::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    let (mut reader, mut again) = (codec.stream_reader(), Vec::new());
    let read = reader.push(&out, &mut again);
    let read = read.and_then(|()| reader.finish(&mut again));
    read.map_err(|error| format!("read again: {error}"))?;
    let again = meaning(assemble(&again));
    match first == again {
        true => Ok(first),
        false => Err(format!("read again:\n  {first:?}\n  {again:?}")),
    }
}

fn assemble(events: &[Event]) -> Response {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event.clone());
    }
    assembler.into_response()
}

fn reply() -> Reply {
    Reply {
        id: "id-1".into(),
        model: "m".into(),
        created: 1,
        stream_usage: true,
        ..Reply::default()
    }
}

/// Compares the three forms of every field that may be absent.
fn same_meaning(
    shapes: Vec<(Protocol, Value)>,
    read: impl Fn(Protocol, &Value) -> Result<Meaning, String>,
) {
    let (mut failures, mut checked) = (Vec::new(), 0);
    for (protocol, shape) in shapes {
        let dialect = protocol.dialect().to_string();
        for field in variants::fields(&shape) {
            if says_something(&dialect, &field) {
                continue;
            }
            let forms = variants::forms(&shape, &field);
            let outcomes: Vec<_> = forms.iter().map(|v| read(protocol, &v.value)).collect();
            for (variant, outcome) in forms.iter().zip(&outcomes).skip(1) {
                checked += 1;
                // An error is the same if all forms have one.
                let same = match (&outcomes[0], outcome) {
                    (Err(_), Err(_)) => true,
                    (expected, given) => expected == given,
                };
                if !same {
                    let name = &variant.name;
                    let expected = &outcomes[0];
                    failures.push(format!("{dialect} {name}:\n  {expected:?}\n  {outcome:?}"));
                }
            }
        }
    }
    report(&failures, checked);
}

#[test]
fn absent_null_and_empty_fields_of_a_whole_response_mean_the_same() {
    same_meaning(shapes::responses(), |protocol, value| {
        whole(protocol.codec(), value)
    });
}

#[test]
fn absent_null_and_empty_fields_of_a_streamed_response_mean_the_same() {
    same_meaning(shapes::streams(), streamed);
}
