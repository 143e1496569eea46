//! Plays a provider: one response per case, in the provider's own dialect.

use majordomo::fake::picture;
use majordomo::providers::ProviderKind;
use majordomo::{Event, FinishReason, Part, Response, ToolCall, Usage};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{Protocol, Reply, images};

use super::cases::{CASES, LiveCase};
use super::providers::LiveProvider;

fn protocol(kind: ProviderKind) -> Protocol {
    match kind {
        ProviderKind::Anthropic => Protocol::Messages,
        ProviderKind::Google => Protocol::Gemini,
        ProviderKind::Ollama => Protocol::Ollama,
        _ => Protocol::Chat,
    }
}

/// A server that fails every request.
pub(super) async fn broken() -> Upstream {
    let script = Script::new().read_request();
    Upstream::start([script.respond(400, "application/json", "{}").times(99)]).await
}

/// A server for the cases that a provider offers, in order.
pub(super) async fn start(provider: &LiveProvider) -> Upstream {
    let mut scripts = Vec::new();
    for case in CASES {
        let offered = match case {
            LiveCase::ImageOut => provider.image.is_some(),
            LiveCase::Embedding => provider.embedding.is_some(),
            _ => provider.chat.is_some(),
        };
        if offered {
            scripts.extend(scripts_of(case, provider));
        }
    }
    Upstream::start(scripts).await
}

fn reply() -> Reply {
    Reply {
        id: "answer-1".into(),
        model: "stand-in".into(),
        stream_usage: true,
        ..Reply::default()
    }
}

fn whole(protocol: Protocol, response: &Response) -> Vec<u8> {
    let written = protocol.codec().write_response(response, &reply());
    written.body.to_vec()
}

fn streamed(protocol: Protocol, events: &[Event]) -> Vec<u8> {
    let mut writer = protocol.codec().stream_writer(&reply());
    let mut out = bytes::BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    out.to_vec()
}

fn answer(content_type: &str, body: Vec<u8>) -> Script {
    Script::new()
        .read_request()
        .respond(200, content_type, body)
}

fn scripts_of(case: LiveCase, provider: &LiveProvider) -> Vec<Script> {
    let protocol = protocol(provider.kind);
    let of = |parts: Vec<Part>| {
        let response = Response::new(parts).with_usage(Usage::new(9, 3));
        vec![answer("application/json", whole(protocol, &response))]
    };
    let text = |text: &str| of(vec![Part::text(text)]);
    match case {
        LiveCase::Chat => text("pear"),
        LiveCase::Stream => {
            let events = [
                Event::Start {
                    id: None,
                    model: None,
                },
                Event::Text("pe".to_owned()),
                Event::Text("ar".to_owned()),
                Event::Usage(Usage::new(9, 3)),
                Event::Finish(FinishReason::Stop),
            ];
            let body = streamed(protocol, &events);
            let kind = match protocol {
                Protocol::Ollama => "application/x-ndjson",
                _ => "text/event-stream",
            };
            vec![answer(kind, body)]
        }
        LiveCase::ToolCall => {
            let call = ToolCall::new("c1", "weather", r#"{"city":"Oslo"}"#);
            of(vec![Part::ToolCall(call)])
        }
        LiveCase::Schema => text(r#"{"age":36}"#),
        LiveCase::ImageIn => text("yes"),
        LiveCase::Failover => {
            let body = br#"{"error":{"message":"no such model","code":"model_not_found"}}"#;
            let missing = Script::new().read_request();
            let missing = missing.respond(404, "application/json", body.to_vec());
            let mut scripts = vec![missing];
            scripts.extend(text("pear"));
            scripts
        }
        LiveCase::ImageOut => drawing(provider.kind, protocol),
        LiveCase::Embedding => {
            let body: &[u8] = match protocol {
                Protocol::Gemini => br#"{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}"#,
                Protocol::Ollama => br#"{"embeddings":[[1,2],[3,4]]}"#,
                _ => br#"{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}"#,
            };
            vec![answer("application/json", body.to_vec())]
        }
    }
}

fn drawing(kind: ProviderKind, protocol: Protocol) -> Vec<Script> {
    let image = picture(1, 32, 32);
    let response = majordomo::ImageResponse::new(vec![image.clone()]);
    let written = images::write_response(&response, 1, false);
    let body = match kind {
        ProviderKind::Google => {
            let response = Response::new(vec![Part::Image(image)]);
            whole(protocol, &response)
        }
        ProviderKind::LlamaSwap => {
            let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
            let data = &written["data"][0]["b64_json"];
            serde_json::json!({ "images": [data] })
                .to_string()
                .into_bytes()
        }
        _ => written.to_vec(),
    };
    vec![answer("application/json", body)]
}
