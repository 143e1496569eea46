//! Each dialect from both sides: client requests and provider responses.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use majordomo::llm::Assembler;
use majordomo::{Error, Event, Request, Response, Result};
use majordomo_testkit::Script;
use majordomo_wire::{Outgoing, Protocol, Reply};

/// The model name in provider responses.
pub(crate) const REPORTED: &str = "sharp-2026";

/// What Chat servers send before the first token.
const CHAT_PREAMBLE: &[u8] = br#"data: {"id":"answer-1","object":"chat.completion.chunk","created":1700000000,"model":"sharp-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

"#;

/// The name of a dialect's provider in these tests.
pub(crate) fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "chat",
        Protocol::Responses => "responses",
        Protocol::Messages => "messages",
        Protocol::Gemini => "gemini",
        Protocol::Ollama => "ollama",
    }
}

/// A provider of this dialect whose declared models `m0` to `m9` support everything,
/// so that its model list is never fetched.
pub(crate) fn provider(name: &str, protocol: Protocol, at: SocketAddr) -> String {
    let (kind, base) = match protocol {
        Protocol::Chat => ("openai", "/v1"),
        Protocol::Responses => ("openai-responses", "/v1"),
        Protocol::Messages => ("anthropic", ""),
        Protocol::Gemini => ("google", ""),
        Protocol::Ollama => ("ollama", ""),
    };
    let mut text = format!(
        "[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"http://{at}{base}\"\napi_key = \"canary-of-{name}\"\n"
    );
    for model in 0..10 {
        let entry = format!("[providers.{name}.models.m{model}]\nimages = true\ntools = true\n");
        text.push_str(&entry);
    }
    text
}

/// The path that a client of this dialect uses.
pub(crate) fn path(protocol: Protocol, model: &str, stream: bool) -> String {
    match (protocol, stream) {
        (Protocol::Chat, _) => "/v1/chat/completions".into(),
        (Protocol::Responses, _) => "/v1/responses".into(),
        (Protocol::Messages, _) => "/v1/messages".into(),
        (Protocol::Gemini, false) => format!("/v1beta/models/{model}:generateContent"),
        (Protocol::Gemini, true) => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
        (Protocol::Ollama, _) => "/api/chat".into(),
    }
}

/// The body that a client of this dialect sends.
pub(crate) fn request_for(
    protocol: Protocol,
    request: &Request,
    model: &str,
    stream: bool,
) -> Bytes {
    let mut to = Outgoing::new(model).stream(stream);
    // Ollama always gets these two, unless the client sets them.
    to.ollama.num_ctx = Some(8_192);
    to.ollama.refuse_overlong = true;
    protocol.codec().write_request(request, &to).body
}

/// The media type of a stream.
pub(crate) fn stream_type(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    }
}

fn reply() -> Reply {
    Reply {
        id: "answer-1".into(),
        model: REPORTED.into(),
        created: 1_700_000_000,
        stream_usage: true,
        ..Reply::default()
    }
}

/// A buffered provider response.
pub(crate) fn whole(protocol: Protocol, response: &Response) -> Bytes {
    protocol.codec().write_response(response, &reply()).body
}

/// A streamed provider response, event by event; some events have no bytes.
pub(crate) fn frames(protocol: Protocol, events: &[Event]) -> Vec<Bytes> {
    let mut writer = protocol.codec().stream_writer(&reply());
    let written = events.iter().map(|event| {
        let mut out = BytesMut::new();
        writer.write(event, &mut out);
        out
    });
    let mut frames: Vec<BytesMut> = written.collect();
    begin_at_once(protocol, &mut frames);
    frames.into_iter().map(BytesMut::freeze).collect()
}

/// Providers start their stream before the first token; two of our writers wait for
/// it.
fn begin_at_once(protocol: Protocol, frames: &mut [BytesMut]) {
    match protocol {
        Protocol::Chat => frames[0] = CHAT_PREAMBLE.into(),
        Protocol::Messages => {
            let first = frames.iter_mut().find(|frame| !frame.is_empty());
            let first = first.expect("an answer says something");
            let end = first.windows(2).position(|pair| pair == b"\n\n");
            frames[0] = first.split_to(end.expect("a whole event") + 2);
        }
        Protocol::Responses | Protocol::Gemini | Protocol::Ollama => {}
    }
}

/// A streamed provider response.
pub(crate) fn streamed(protocol: Protocol, events: &[Event]) -> Bytes {
    frames(protocol, events).concat().into()
}

/// A streamed provider response that ends with an error event.
pub(crate) fn broken_off(protocol: Protocol, events: &[Event], error: &Error) -> Bytes {
    let mut writer = protocol.codec().stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    writer.fail(error, &mut out);
    out.freeze()
}

/// An upstream that always sends this response.
pub(crate) fn answering(protocol: Protocol, response: &Response, stream: bool) -> Script {
    let script = Script::new().read_request();
    let script = match stream {
        true => script.respond(
            200,
            stream_type(protocol),
            streamed(protocol, &response.to_events()),
        ),
        false => script.respond(200, "application/json", whole(protocol, response)),
    };
    script.times(20)
}

/// Decodes a response as a client of this dialect does.
pub(crate) fn understood(protocol: Protocol, body: &Bytes, stream: bool) -> Result<Response> {
    if !stream {
        return protocol.codec().read_response(body.clone(), 0);
    }
    let mut reader = protocol.codec().stream_reader();
    let mut events = Vec::new();
    let read = reader.push(body, &mut events);
    let read = read.and_then(|()| reader.finish(&mut events));
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    let response = assembler.into_response();
    match read {
        Ok(()) => Ok(response),
        Err(error) => Err(error.with_partial(response)),
    }
}
