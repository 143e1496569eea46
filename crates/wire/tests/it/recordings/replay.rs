//! The checks that every recording must pass.

use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{
    Assembler, ErrorKind, Event, FinishReason, Message, Native, OutputFormat, Part, Prompt,
    Request, Response, Role, Usage,
};
use majordomo_wire::{Codec, FailedResponse, Incoming, Outgoing, Protocol, Reply};
use serde_json::Value;

use super::exchange::Exchange;

pub(crate) type CheckResult = Result<(), String>;

pub(crate) fn replay(protocol: Protocol, exchange: &Exchange) -> CheckResult {
    let codec = protocol.codec();
    match &exchange.request {
        Some(body) if exchange.counts_tokens() => check_count_request(codec, body)?,
        Some(body) => request(codec, body)?,
        None => {}
    }
    match exchange.status {
        200..=299 if exchange.counts_tokens() => check_token_count(codec, &exchange.response_body),
        200..=299 if exchange.reports_error() => failed(codec, exchange),
        200..=299 if exchange.streamed => stream(codec, &exchange.response_body),
        200..=299 => whole(codec, &exchange.response_body),
        _ => error(codec, exchange),
    }
}

/// An error inside a success must be reported, with a message.
fn failed(codec: &dyn Codec, exchange: &Exchange) -> CheckResult {
    let error = match exchange.streamed {
        true => {
            let mut reader = codec.stream_reader();
            let mut events = Vec::new();
            let pushed = reader.push(&exchange.response_body, &mut events);
            pushed.and_then(|()| reader.finish(&mut events)).err()
        }
        false => codec
            .read_response(Bytes::copy_from_slice(&exchange.response_body), 0)
            .err(),
    };
    let Some(error) = error else {
        return Err("its error was missed".into());
    };
    check(
        !error.message().trim().is_empty(),
        "its error has no message",
    )
}

/// A response of another API is an error, never an empty response.
pub(crate) fn reject_other_api(protocol: Protocol, exchange: &Exchange) -> CheckResult {
    let body = Bytes::copy_from_slice(&exchange.response_body);
    match protocol.codec().read_response(body, 0) {
        Err(error) if error.kind() == ErrorKind::BadResponse => Ok(()),
        Err(error) => Err(format!("refused for another reason: {error}")),
        Ok(_) => Err("a response of another API was accepted".into()),
    }
}

/// A model list keeps its names through a round trip.
pub(crate) fn models(protocol: Protocol, exchange: &Exchange) -> CheckResult {
    let codec = protocol.codec();
    let read = |body: &[u8]| {
        let models = codec
            .read_models(body)
            .map_err(|e| format!("models: {e}"))?;
        let ids: Vec<String> = models.iter().map(|model| model.id.clone()).collect();
        Ok::<_, String>((models, ids))
    };
    let (models, ids) = read(&exchange.response_body)?;
    check(!ids.is_empty(), "models: none were read")?;
    let (_, again) = read(&codec.write_models(&models, 1))?;
    check(again == ids, "models: others when written and read again")
}

/// Byte for byte except for the model, and the same value when read again.
pub(crate) fn request(codec: &dyn Codec, body: &[u8]) -> CheckResult {
    let read = |body: &[u8]| {
        codec
            .read_request(Bytes::copy_from_slice(body))
            .map_err(|error| format!("request: {error}"))
    };
    let incoming = read(body)?;
    let model = incoming.model.as_deref().unwrap_or_default();
    let to = Outgoing::new(model).stream(incoming.stream);
    let written = codec.write_request(&incoming.request, &to);
    check(
        written.body == body,
        "request: rewritten to its own model, its bytes differ",
    )?;
    check(
        written.losses.is_empty(),
        "request: losses to its own dialect",
    )?;

    let to = Outgoing {
        model: "another-model",
        ..to
    };
    let renamed = codec.write_request(&incoming.request, &to).body;
    let again = read(&renamed)?;
    check(
        *again.request.prompt() == *incoming.request.prompt(),
        "request: another model changed its content",
    )?;
    if incoming.model.is_some() {
        let mut expected: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        expected["model"] = "another-model".into();
        let renamed: Value = serde_json::from_slice(&renamed).map_err(|e| e.to_string())?;
        check(renamed == expected, "request: more than the model changed")?;
    }
    from_scratch(codec, &incoming)
}

/// Written from scratch, a request reads the same, unless the writer lists
/// losses or its dialect must move the images of tools.
fn from_scratch(codec: &dyn Codec, incoming: &Incoming) -> CheckResult {
    let prompt = Prompt::clone(incoming.request.prompt());
    let to = Outgoing::new("a-model").stream(incoming.stream);
    let written = codec.write_request(&Request::from(prompt.clone()), &to);
    let again = codec
        .read_request(written.body)
        .map_err(|error| format!("request, written from scratch: {error}"))?;
    let moved = prompt.messages.iter().flat_map(Message::tool_results);
    let moved = codec.dialect() == Protocol::Chat.dialect()
        && moved
            .flat_map(|r| &r.parts)
            .any(|part| matches!(part, Part::Image(_)));
    let again = joined(codec, named(Prompt::clone(again.request.prompt())));
    let expected = joined(codec, named(prompt.clone()));
    if moved || !written.losses.is_empty() || again == expected {
        return Ok(());
    }
    Err(format!(
        "request, written from scratch, differs:\n  {again:?}\n  {prompt:?}"
    ))
}

/// Merges consecutive messages of one side where turns must alternate.
fn joined(codec: &dyn Codec, mut prompt: Prompt) -> Prompt {
    if codec.dialect() != Protocol::Messages.dialect() {
        return prompt;
    }
    let side = |role| match role {
        Role::Tool => Role::User,
        role => role,
    };
    let mut turns: Vec<Message> = Vec::new();
    for mut message in std::mem::take(&mut prompt.messages) {
        match turns.last_mut() {
            Some(last) if side(last.role) == side(message.role) && message.native.is_none() => {
                last.role = side(last.role);
                last.parts.append(&mut message.parts);
            }
            _ => turns.push(message),
        }
    }
    prompt.messages = turns;
    prompt
}

/// Names an unnamed schema if the dialect requires it, and sorts native fields, whose order
/// may change.
fn named(mut prompt: Prompt) -> Prompt {
    if let Some(native) = prompt.native.take() {
        let mut fields: Vec<_> = native.fields().collect();
        fields.sort_by_key(|(name, _)| *name);
        let mut sorted = Native::new(native.dialect().clone());
        for (name, value) in fields {
            sorted.push(name, value.clone());
        }
        prompt.native = sorted.into_option();
    }
    if let OutputFormat::Schema(schema) = &mut prompt.output {
        schema.name.get_or_insert_with(|| "response".into());
    }
    prompt
}

/// A token-counting request keeps its bytes, and reads the same when written
/// from scratch.
fn check_count_request(codec: &dyn Codec, body: &[u8]) -> CheckResult {
    let counter = codec.count_tokens().ok_or("count: not supported")?;
    let read = |body: Bytes| {
        counter
            .read_request(body)
            .map_err(|error| format!("count: {error}"))
    };
    let incoming = read(Bytes::copy_from_slice(body))?;
    let to = Outgoing::new(incoming.model.as_deref().unwrap_or_default());
    let written = counter.write_request(&incoming.request, &to);
    check(written.body == body, "count: its bytes differ")?;
    check(written.losses.is_empty(), "count: losses")?;
    let prompt = Prompt::clone(incoming.request.prompt());
    let written = counter.write_request(&Request::from(prompt.clone()), &to);
    let again = named(Prompt::clone(read(written.body)?.request.prompt()));
    check(
        !written.losses.is_empty() || again == named(prompt),
        "count: written from scratch, it differs",
    )
}

fn check_token_count(codec: &dyn Codec, body: &[u8]) -> CheckResult {
    let counter = codec.count_tokens().ok_or("count: not supported")?;
    let tokens = counter
        .read_response(body)
        .map_err(|error| format!("count: {error}"))?;
    let again = counter.read_response(&counter.write_response(tokens));
    check(
        tokens > 0 && again.is_ok_and(|again| again == tokens),
        "count: written and read again, it differs",
    )
}

pub(crate) fn whole(codec: &dyn Codec, body: &[u8]) -> CheckResult {
    let response = codec
        .read_response(Bytes::copy_from_slice(body), 0)
        .map_err(|error| format!("response: {error}"))?;
    check_response(&response)?;
    let recorded = serde_json::from_slice(body).map(|value| usage_of(&value));
    if let Ok(true) = recorded {
        check(
            response.usage.total() > 0,
            "response: its usage was not read",
        )?;
    }
    let written = codec.write_response(&response, &reply());
    let again = codec
        .read_response(written.body, 0)
        .map_err(|error| format!("response, written and read again: {error}"))?;
    same_response(&again, &response)
}

fn stream(codec: &dyn Codec, body: &[u8]) -> CheckResult {
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    reader
        .push(body, &mut events)
        .and_then(|()| reader.finish(&mut events))
        .map_err(|error| format!("stream: {error}"))?;
    let finishes = events
        .iter()
        .filter(|e| matches!(e, Event::Finish(_)))
        .count();
    check(finishes == 1, "stream: not exactly one finish")?;
    check(
        matches!(events.last(), Some(Event::Finish(_))),
        "stream: the finish is not the last event",
    )?;
    let response = assemble(&events);
    check_response(&response)?;
    if stream_has_usage(body) {
        check(response.usage.total() > 0, "stream: its usage was not read")?;
    }
    tapped(codec, body, &response.usage)?;
    rewritten(codec, &events, &response)
}

/// A tap sees the usage and the finish.
fn tapped(codec: &dyn Codec, body: &[u8], usage: &Usage) -> CheckResult {
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    reader
        .tap(body, &mut events)
        .map_err(|e| format!("tap: {e}"))?;
    reader
        .finish(&mut events)
        .map_err(|e| format!("tap: {e}"))?;
    let response = assemble(&events);
    check(response.usage == *usage, "tap: another usage")?;
    check(
        response.finish != FinishReason::Other("incomplete".into()),
        "tap: the end was not seen",
    )
}

/// Written to the same dialect and read again, the response is the same.
fn rewritten(codec: &dyn Codec, events: &[Event], response: &Response) -> CheckResult {
    let mut writer = codec.stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let mut reader = codec.stream_reader();
    let mut again = Vec::new();
    reader
        .push(&out, &mut again)
        .and_then(|()| reader.finish(&mut again))
        .map_err(|error| format!("stream, written and read again: {error}"))?;
    same_response(&assemble(&again), response)
}

fn error(codec: &dyn Codec, exchange: &Exchange) -> CheckResult {
    let error = codec.read_error(&FailedResponse {
        status: exchange.status,
        header: &|name| exchange.headers.get(name).map(String::as_str),
        body: &exchange.response_body,
        now: SystemTime::UNIX_EPOCH,
    });
    check(!error.message().trim().is_empty(), "error: no message")?;
    check(
        error.status() == Some(exchange.status),
        "error: another status",
    )?;
    let written = codec.write_error(&error);
    check(written.status >= 400, "error: written as a success")?;
    let read: Value = serde_json::from_slice(&written.body).map_err(|e| e.to_string())?;
    check(
        read.to_string().contains("error"),
        "error: written without saying so",
    )
}

/// What every response must keep.
fn check_response(response: &Response) -> CheckResult {
    for call in response.tool_calls() {
        check(!call.id.is_empty(), "a tool call has no id")?;
        check(!call.name.is_empty(), "a tool call has no name")?;
        call.parse::<Value>()
            .map_err(|error| format!("the arguments of {} do not parse: {error}", call.name))?;
    }
    Ok(())
}

fn same_response(again: &Response, first: &Response) -> CheckResult {
    let content = |response: &Response| {
        let texts: String = response.text();
        let reasoning: String = response
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
                _ => None,
            })
            .collect();
        let calls: Vec<_> = response
            .tool_calls()
            .map(|c| (c.id.clone(), c.name.clone(), c.arguments.trim().to_owned()))
            .collect();
        (texts, reasoning, calls)
    };
    check(
        content(again) == content(first),
        "written and read again, its content differs",
    )?;
    check(
        again.usage == first.usage,
        "written and read again, its usage differs",
    )?;
    check(
        again.finish == first.finish,
        "written and read again, its finish differs",
    )
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
        model: "a-model".into(),
        created: 1,
        stream_usage: true,
        ..Reply::default()
    }
}

/// Whether a body reports input tokens, in any dialect.
fn usage_of(body: &Value) -> bool {
    const COUNTS: [&str; 5] = [
        "/usage/prompt_tokens",
        "/usage/input_tokens",
        "/usageMetadata/promptTokenCount",
        "/prompt_eval_count",
        "/response/usage/input_tokens",
    ];
    COUNTS
        .iter()
        .any(|path| body.pointer(path).and_then(Value::as_u64).unwrap_or(0) > 0)
}

fn stream_has_usage(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    text.lines()
        .map(|line| line.strip_prefix("data:").unwrap_or(line).trim())
        .filter_map(|line| serde_json::from_str(line).ok())
        .any(|value| usage_of(&value))
}

pub(crate) fn check(is: bool, otherwise: &str) -> CheckResult {
    if is {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}
