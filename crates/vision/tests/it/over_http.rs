//! Describers of every dialect behind real sockets.

use bytes::BytesMut;
use majordomo::llm::RemoteImage;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Chain, Part, Registry, Request, Response, Usage};
use majordomo_testkit::{Script, Upstream};
use majordomo_vision::{Described, Scope, UNAVAILABLE, Vision, VisionConfig};
use majordomo_wire::{Protocol, Reply};

use crate::support::{question, texts};

const DIALECTS: [(ProviderKind, Protocol); 5] = [
    (ProviderKind::OpenAi, Protocol::Chat),
    (ProviderKind::OpenAiResponses, Protocol::Responses),
    (ProviderKind::Anthropic, Protocol::Messages),
    (ProviderKind::Google, Protocol::Gemini),
    (ProviderKind::OllamaCloud, Protocol::Ollama),
];

/// A server that streams one description, and the chain that calls it.
async fn describer(kind: ProviderKind, protocol: Protocol) -> (Upstream, Chain) {
    let response = Response::new(vec![Part::text("an apple")]).with_usage(Usage::new(9, 3));
    let reply = Reply {
        stream_usage: true,
        ..Reply::default()
    };
    let mut writer = protocol.codec().stream_writer(&reply);
    let mut body = BytesMut::new();
    for event in response.to_events() {
        writer.write(&event, &mut body);
    }
    let content_type = match protocol {
        Protocol::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    };
    let script = Script::new()
        .read_request()
        .respond(200, content_type, body.freeze());
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("eyes", transport)
        .base_url(format!("http://{}", upstream.address()))
        .key(Some("canary".to_owned().into()))
        .discovery(false);
    let registry = Registry::empty();
    registry.register(kind.provider(settings).expect("a base URL"));
    let chain = registry.model("eyes/sharp").expect("a valid spec");
    (upstream, chain)
}

async fn describe(request: Request, chain: &Chain) -> Described {
    let vision = Vision::new(VisionConfig::default());
    let scope = Scope::of_key("laptop");
    let described = vision.describe(request, Some(chain), &scope).await;
    described.expect("a failure becomes a marker")
}

#[tokio::test]
async fn describers_of_every_dialect_describe_over_http() {
    for (kind, protocol) in DIALECTS {
        let (upstream, chain) = describer(kind, protocol).await;
        let described = describe(question(&[1]), &chain).await;
        let text = &texts(&described.request)[1];
        assert_eq!(text, "[image: an apple]", "{protocol:?}: {described:?}");
        assert_eq!(described.usage.output, 3, "{protocol:?}");
        let received = &upstream.requests()[0];
        let read = protocol
            .codec()
            .read_request(received.body.clone())
            .unwrap();
        assert_eq!(read.request.prompt().image_count(), 1, "{protocol:?}");
        let streams = read.stream || received.head.contains("streamGenerateContent");
        assert!(streams, "{protocol:?}: a stream is requested");
    }
}

#[tokio::test]
async fn a_url_reaches_describers_whose_dialect_supports_urls() {
    let url = "https://pictures.example/apple.png";
    let remote = Part::RemoteImage(RemoteImage {
        url: url.into(),
        native: None,
    });
    for (kind, protocol) in DIALECTS {
        let (upstream, chain) = describer(kind, protocol).await;
        let described = describe(Request::user("look").part(remote.clone()), &chain).await;
        let text = &texts(&described.request)[1];
        if protocol == Protocol::Ollama {
            assert_eq!(text, UNAVAILABLE, "it guessed without the image");
            continue;
        }
        assert_eq!(text, "[image: an apple]", "{protocol:?}");
        let body = String::from_utf8_lossy(&upstream.requests()[0].body).into_owned();
        assert!(body.contains(url), "{protocol:?}: {body}");
    }
}
