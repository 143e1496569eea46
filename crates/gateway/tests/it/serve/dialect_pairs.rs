//! Every client dialect with every provider dialect.

use bytes::Bytes;
use majordomo::llm::Prompt;
use majordomo::{
    Error, Event, FinishReason, Json, Message, Part, Request, Response, Role, Tool, ToolCall,
    ToolResult, Usage,
};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{FailedResponse, Protocol, with_model};
use serde_json::Value;

use crate::serve::test_gateway::{TestGateway, TestResponse};
use crate::serve::wires;

/// A gateway with one provider of each dialect.
struct House {
    gateway: TestGateway,
    upstreams: Vec<(Protocol, Upstream)>,
}

impl House {
    async fn start(script: impl Fn(Protocol) -> Script) -> Self {
        let mut upstreams = Vec::new();
        let mut config = String::new();
        for protocol in Protocol::ALL {
            let upstream = Upstream::start([script(protocol)]).await;
            let name = wires::name(protocol);
            config.push_str(&wires::provider(name, protocol, upstream.address()));
            upstreams.push((protocol, upstream));
        }
        let gateway = TestGateway::start(&config).await;
        Self { gateway, upstreams }
    }

    /// Calls each provider in each dialect and passes on the request sent, the request
    /// that the provider received, and the response.
    async fn each_pair(&self, request: &Request, stream: bool, check: impl Fn(&Pair)) {
        for (upstream, server) in &self.upstreams {
            for (number, client) in Protocol::ALL.into_iter().enumerate() {
                let model = format!("{}/m{number}", wires::name(*upstream));
                let sent = wires::request_for(client, request, &model, stream);
                let path = wires::path(client, &model, stream);
                let reply = self.gateway.post(&path, sent.clone()).await;
                let received = server.requests().last().map(|it| it.body.clone());
                check(&Pair {
                    what: format!("{client:?} to {upstream:?}, stream: {stream}"),
                    client,
                    upstream: *upstream,
                    model,
                    sent,
                    received: received.unwrap_or_default(),
                    reply,
                });
            }
        }
    }
}

struct Pair {
    what: String,
    client: Protocol,
    upstream: Protocol,
    model: String,
    sent: Bytes,
    received: Bytes,
    reply: TestResponse,
}

impl Pair {
    /// The provider received the client's request; byte-identical in the same dialect.
    fn check_request(&self) {
        let what = &self.what;
        let id = self.model.split_once('/').expect("a target").1;
        if self.client == self.upstream {
            let expected = match self.client {
                Protocol::Gemini => self.sent.clone(),
                _ => with_model(&self.sent, id),
            };
            assert_eq!(self.received, expected, "{what}");
        }
        let sent = self.client.codec().read_request(self.sent.clone());
        let got = self.upstream.codec().read_request(self.received.clone());
        let (sent, got) = (sent.expect(what), got.expect(what));
        assert_eq!(
            gist(got.request.prompt()),
            gist(sent.request.prompt()),
            "{what}"
        );
        if self.upstream != Protocol::Gemini {
            assert_eq!(got.model.as_deref(), Some(id), "{what}");
        }
    }

    /// The client decodes the provider's response; byte-identical in the same dialect.
    fn check_answer(&self, response: &Response, stream: bool) {
        let what = &self.what;
        assert_eq!(self.reply.status, 200, "{what}: {}", self.reply.text());
        let target = self.reply.header("x-majordomo-target");
        assert_eq!(target, Some(&*self.model), "{what}");
        assert_eq!(
            self.reply.header("x-majordomo-attempts"),
            Some("1"),
            "{what}"
        );
        if self.client == self.upstream {
            let expected = match stream {
                true => wires::streamed(self.upstream, &response.to_events()),
                false => wires::whole(self.upstream, response),
            };
            assert_eq!(self.reply.body, expected, "{what}");
        }
        let understood = wires::understood(self.client, &self.reply.body, stream);
        let understood = understood.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(said(&understood), said(response), "{what}");
        assert_eq!(understood.finish, response.finish, "{what}");
        assert_eq!(understood.usage.total(), response.usage.total(), "{what}");
        let reported = understood.reported_model.as_deref();
        assert_eq!(reported, Some(wires::REPORTED), "{what}");
    }
}

/// The content of a request that all dialects share.
fn gist(prompt: &Prompt) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    let mut lines = vec![format!("system: {}", prompt.system_text())];
    lines.push(format!("max_tokens: {:?}", prompt.max_tokens));
    for tool in &prompt.tools {
        let schema = tool.parameters.as_ref().map(|json| value(json.as_str()));
        lines.push(format!(
            "tool {} {:?} {schema:?}",
            tool.name, tool.description
        ));
    }
    // Instructions may precede the conversation or be its first message.
    let conversation = prompt.messages.iter().filter(|it| it.role != Role::System);
    for message in conversation {
        for part in &message.parts {
            lines.push(match part {
                Part::Text(text) => format!("{:?}: {}", message.role, text.text),
                Part::Image(image) => format!("{:?}: {:?}", message.role, &image.data[..]),
                Part::ToolCall(call) => {
                    calls.push(call.id.clone());
                    format!("call {} {}", call.name, value(&call.arguments))
                }
                Part::ToolResult(result) => {
                    let of = calls.iter().position(|id| *id == result.call_id);
                    format!("result of call {of:?}: {}", result.text())
                }
                other => format!("{other:?}"),
            });
        }
    }
    lines
}

/// The content of a response that all dialects share.
fn said(response: &Response) -> Vec<String> {
    let parts = response.parts.iter().map(|part| match part {
        Part::Text(text) => text.text.clone(),
        Part::ToolCall(call) => format!("{} {}", call.name, value(&call.arguments)),
        other => format!("{other:?}"),
    });
    parts.collect()
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn response(part: Part) -> Response {
    Response::new(vec![part]).with_usage(Usage::new(11, 4))
}

fn weather() -> Tool {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}"#;
    Tool::new("weather")
        .description("Tells the weather.")
        .parameters(Json::parse(schema).expect("a schema"))
}

fn call() -> ToolCall {
    ToolCall::new("call_a1", "weather", r#"{"city":"Łódź","days":3}"#)
}

/// An image of one pixel.
fn picture() -> Part {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&[7]).expect("a pixel");
    writer.finish().expect("an end");
    Part::image("image/png", bytes)
}

async fn answered(request: Request, response: Response) {
    for stream in [false, true] {
        let house = House::start(|it| wires::answering(it, &response, stream)).await;
        let check = |pair: &Pair| {
            pair.check_answer(&response, stream);
            pair.check_request();
        };
        house.each_pair(&request, stream, check).await;
    }
}

#[tokio::test]
async fn text_gets_a_text_response() {
    let request = Request::user("How are you?")
        .system("You are terse.")
        .max_tokens(50);
    answered(request, response(Part::text("Well, “thank” you.\n"))).await;
}

#[tokio::test]
async fn a_request_with_a_tool_gets_a_tool_call() {
    let request = Request::user("Will it rain?")
        .tool(weather())
        .max_tokens(50);
    answered(request, response(Part::ToolCall(call()))).await;
}

#[tokio::test]
async fn a_tool_result_matches_its_call() {
    let request = Request::user("Will it rain?")
        .tool(weather())
        .max_tokens(50)
        .message(Message::assistant(Part::ToolCall(call())))
        .message(Message::tool_results_message([ToolResult::new(
            &call(),
            "rain, then sun",
        )]));
    answered(request, response(Part::text("Yes."))).await;
}

#[tokio::test]
async fn an_image_arrives_byte_for_byte() {
    let request = Request::user("What is this?")
        .part(picture())
        .max_tokens(50);
    answered(request, response(Part::text("A dot."))).await;
}

#[tokio::test]
async fn tool_call_argument_deltas_are_assembled() {
    let index = 0;
    let fragment = |text: &str| Event::ToolCallArguments {
        index,
        fragment: text.into(),
    };
    let events = [
        Event::Start {
            id: Some("answer-1".into()),
            model: Some(wires::REPORTED.into()),
        },
        Event::Text("Let me see.".into()),
        Event::ToolCallStart {
            index,
            id: Some("call_a1".into()),
            name: "weather".into(),
            native: None,
        },
        fragment(r#"{"city":"Łó"#),
        fragment(r#"dź","da"#),
        fragment(r#"ys":3}"#),
        Event::ToolCallEnd { index },
        Event::Usage(Usage::new(11, 4)),
        Event::Finish(FinishReason::ToolCalls),
    ];
    let script = |protocol| {
        let chunks = wires::frames(protocol, &events);
        let chunks = chunks.iter().filter(|chunk| !chunk.is_empty());
        let script = Script::new().read_request().stream_head();
        let script = chunks.fold(script, |script, chunk| script.chunk(chunk));
        script.last_chunk().times(20)
    };
    let house = House::start(script).await;
    let request = Request::user("Will it rain?").tool(weather());
    let check = |pair: &Pair| {
        let understood = wires::understood(pair.client, &pair.reply.body, true);
        let understood = understood.unwrap_or_else(|error| panic!("{}: {error}", pair.what));
        let expected = [
            "Let me see.".to_owned(),
            format!("weather {}", value(&call().arguments)),
        ];
        assert_eq!(said(&understood), expected, "{}", pair.what);
        assert_eq!(understood.finish, FinishReason::ToolCalls, "{}", pair.what);
    };
    house.each_pair(&request, true, check).await;
}

#[tokio::test]
async fn a_same_dialect_stream_is_byte_identical_for_any_chunking() {
    let text = response(Part::text("Well, “thank” you."));
    for protocol in Protocol::ALL {
        let mut body = wires::streamed(protocol, &text.to_events()).to_vec();
        if protocol != Protocol::Ollama {
            // Heartbeats are passed on.
            body.splice(..0, *b": still here\n\n");
        }
        for size in [1, 7, 100] {
            let script = Script::new().read_request().stream_head();
            let chunks = body.chunks(size);
            let script = chunks.fold(script, |script, chunk| script.chunk(chunk));
            let upstream = Upstream::start([script.last_chunk()]).await;
            let config = wires::provider("up", protocol, upstream.address());
            let gateway = TestGateway::start(&config).await;
            let sent = wires::request_for(protocol, &Request::user("hi"), "up/m0", true);
            let reply = gateway
                .post(&wires::path(protocol, "up/m0", true), sent)
                .await;
            assert_eq!(reply.body, body, "{protocol:?} in pieces of {size}");
            assert!(!reply.cut, "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_error_is_translated_to_the_clients_dialect() {
    for (status, shown) in [(400, 400), (500, 502)] {
        let script = |protocol: Protocol| {
            let error = Error::http(status, "no such colour");
            let body = protocol.codec().write_error(&error).body;
            let script = Script::new().read_request();
            script.respond(status, "application/json", body).times(20)
        };
        let house = House::start(script).await;
        let check = |pair: &Pair| {
            let (what, reply) = (&pair.what, &pair.reply);
            assert_eq!(reply.status, shown, "{what}: {}", reply.text());
            let header = |name: &str| reply.header(name);
            let error = pair.client.codec().read_error(&FailedResponse {
                status: shown,
                header: &header,
                body: &reply.body,
                now: std::time::SystemTime::UNIX_EPOCH,
            });
            let text = error.message();
            assert!(text.contains("no such colour"), "{what}: {text}");
            assert!(text.contains(&pair.model), "{what}: {text}");
        };
        for stream in [false, true] {
            house.each_pair(&Request::user("hi"), stream, check).await;
        }
    }
}
