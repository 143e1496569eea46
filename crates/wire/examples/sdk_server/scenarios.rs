//! The canned responses, by model name.
//!
//! They are canonical, so the same content comes out of every SDK. Only reasoning
//! state has the dialect's own form, since only its origin can read it.

use std::time::Duration;

use majordomo_llm::{
    Error, ErrorKind, Event, FinishReason, Json, KeyOwner, Native, OutputFormat, Part, Prompt,
    Reasoning, Response, Text, ToolCall, Usage,
};
use majordomo_wire::Protocol;

use crate::echo;

/// The id of every response.
pub(crate) const ID: &str = "answer_1";

/// The listed models; `error-<status>` exists for each status as well.
pub(crate) const NAMES: [&str; 14] = [
    "breaks",
    "cut-short",
    "filtered",
    "foreign-reasoning",
    "heard",
    "reasoning",
    "reasoning-tools",
    "refusal",
    "silence",
    "stopped",
    "structured",
    "text",
    "too-long",
    "tools",
];

/// Umlauts, an emoji outside the BMP, and characters that JSON must escape.
const TEXT: &str = "Grüße, 你好 🎩\n\"quoted\" \\ done.";

const USAGE: Usage = Usage::new(120, 45)
    .with_cache_read(80)
    .with_cache_write(16)
    .with_reasoning(12);

/// A response, and the error that interrupts it.
pub(crate) struct ScriptedResponse {
    pub(crate) response: Response,
    pub(crate) breaks: Option<Error>,
}

/// Returns a model's response to a request.
pub(crate) fn find(
    model: &str,
    protocol: Protocol,
    prompt: &Prompt,
) -> Result<ScriptedResponse, Error> {
    let parts = match model {
        "text" | "breaks" | "cut-short" | "filtered" | "stopped" => vec![Part::text(TEXT)],
        "silence" => vec![],
        "refusal" => vec![Part::Refusal(Text::new("I would rather not."))],
        "heard" => vec![Part::text(echo::describe(prompt))],
        "tools" => tool_calls(),
        "reasoning" => vec![reasoning(state(protocol)), Part::text("42")],
        "foreign-reasoning" => vec![reasoning(None), Part::text("42")],
        "reasoning-tools" => vec![reasoning(state(protocol)), signed_call(protocol)],
        "structured" => vec![Part::text(structured(prompt)?)],
        other => return Err(failure(other)),
    };
    let mut response = Response::new(parts).with_usage(USAGE);
    match model {
        "cut-short" => response.finish = FinishReason::Length,
        "filtered" => response.finish = FinishReason::ContentFilter,
        "refusal" => response.finish = FinishReason::Refusal,
        "stopped" => response.finish = FinishReason::StopSequence(Some("END".into())),
        _ => {}
    }
    let breaks = (model == "breaks")
        .then(|| Error::http(500, "the model fell over").with_code("server_error"));
    Ok(ScriptedResponse { response, breaks })
}

fn reasoning(state: Option<Box<Native>>) -> Part {
    Part::Reasoning(Reasoning {
        text: "Six times seven.".into(),
        native: state,
    })
}

/// A tool call after reasoning; Gemini signs the call as well.
fn signed_call(protocol: Protocol) -> Part {
    let call = ToolCall::new("call_paris", "get_weather", r#"{"city":"Paris","days":3}"#);
    Part::ToolCall(ToolCall {
        native: (protocol == Protocol::Gemini)
            .then(|| state(protocol))
            .flatten(),
        ..call
    })
}

/// A text and three parallel calls: two of one tool, one without arguments.
fn tool_calls() -> Vec<Part> {
    vec![
        Part::text("Let me look."),
        Part::ToolCall(ToolCall::new(
            "call_paris",
            "get_weather",
            r#"{"city":"Paris","days":3}"#,
        )),
        Part::ToolCall(ToolCall::new(
            "call_oslo",
            "get_weather",
            r#"{"city":"Zoë's \"Oslo\"","days":1}"#,
        )),
        Part::ToolCall(ToolCall::new("call_clock", "read_clock", "")),
    ]
}

/// JSON, only if the request asks for it.
fn structured(prompt: &Prompt) -> Result<String, Error> {
    match &prompt.output {
        OutputFormat::Schema(schema) if schema.schema.as_str().contains("population") => {
            Ok(r#"{"city":"Paris","population":2102650}"#.to_owned())
        }
        other => {
            let text = format!("no schema with a population arrived, but {other:?}");
            Err(Error::http(400, text))
        }
    }
}

/// Reasoning state that clients of the dialect must send back.
fn state(protocol: Protocol) -> Option<Box<Native>> {
    let native = Native::new(protocol.dialect());
    let native = match protocol {
        Protocol::Chat => {
            let details = r#"[{"type":"reasoning.encrypted","data":"state-1"}]"#;
            let details = Json::parse(details).expect("valid JSON");
            native
                .with("field", Json::string("reasoning_content"))
                .with("reasoning_details", details)
        }
        Protocol::Responses => native.with("encrypted_content", Json::string("state-1")),
        Protocol::Messages => native.with("signature", Json::string("state-1")),
        // Base64 of the same text, since the SDK decodes it.
        Protocol::Gemini => native.with("thoughtSignature", Json::string("c3RhdGUtMQ==")),
        // Ollama has no reasoning state.
        Protocol::Ollama => native,
    };
    native.into_option()
}

/// `error-<status>`, as returned by a provider for the client's own key.
fn failure(model: &str) -> Error {
    if model == "too-long" {
        return Error::new(ErrorKind::ContextLength, "9 tokens do not fit into 8");
    }
    let status = model.strip_prefix("error-").and_then(|s| s.parse().ok());
    let Some(status) = status else {
        return Error::new(ErrorKind::ModelNotFound, format!("no model {model}"));
    };
    let wait = matches!(status, 429).then_some(Duration::from_secs(7));
    Error::http(status, format!("this is what {status} looks like"))
        .with_key_owner(KeyOwner::Client)
        .with_retry_after(wait)
}

impl ScriptedResponse {
    /// The response as a stream: small chunks, with the arguments of all calls
    /// interleaved.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Start {
            id: Some("upstream_1".into()),
            model: Some("upstream-model".into()),
        }];
        let mut calls = Vec::new();
        for part in &self.response.parts {
            match part {
                Part::Text(text) => {
                    events.extend(chunks(&text.text).map(Event::Text));
                    events.push(Event::EndPart(None));
                }
                Part::Refusal(text) => events.extend(chunks(&text.text).map(Event::Refusal)),
                Part::Reasoning(reasoning) => {
                    events.extend(chunks(&reasoning.text).map(Event::Reasoning));
                    events.push(Event::EndPart(reasoning.native.clone()));
                }
                Part::ToolCall(call) => calls.push(call),
                other => events.push(Event::Part(other.clone())),
            }
        }
        events.extend(mixed(&calls));
        if self.breaks.is_none() {
            events.push(Event::Usage(self.response.usage));
            events.push(Event::Finish(self.response.finish.clone()));
        }
        events
    }
}

/// Starts all calls, interleaves their arguments, then ends them.
fn mixed(calls: &[&ToolCall]) -> Vec<Event> {
    let starts = calls
        .iter()
        .enumerate()
        .map(|(index, call)| Event::ToolCallStart {
            index,
            id: Some(call.id.clone()),
            name: call.name.clone(),
            native: call.native.clone(),
        });
    let mut events: Vec<Event> = starts.collect();
    let mut open: Vec<_> = calls.iter().map(|call| chunks(&call.arguments)).collect();
    loop {
        let before = events.len();
        for (index, rest) in open.iter_mut().enumerate() {
            let next = rest.next();
            events.extend(next.map(|fragment| Event::ToolCallArguments { index, fragment }));
        }
        if events.len() == before {
            break;
        }
    }
    events.extend((0..calls.len()).map(|index| Event::ToolCallEnd { index }));
    events
}

/// Splits a text into chunks of five characters.
fn chunks(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let chunks: Vec<String> = characters.chunks(5).map(|c| c.iter().collect()).collect();
    chunks.into_iter()
}
