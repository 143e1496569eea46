//! Rules, processors and balancing, as clients see them.

use bytes::Bytes;
use majordomo::{Part, Request};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{Outgoing, Protocol};

use crate::serve::test_gateway::{TestGateway, TestResponse};
use crate::serve::wires::path;

pub(crate) const CONFIG: &str = r#"
[providers.other]
kind = "demo"

[[routes]]
model = "long"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "long prompts"
when = [ { position = "token", op = "ge", value = 100 } ]
services = [ { spec = "other/text" } ]

[[routes]]
model = "blind"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "eyes for a blind model"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]

[[routes]]
model = "mixed"
services = [ { spec = "demo/vision", active = false }, { spec = "demo/text", describe = "demo/vision" } ]

[[routes]]
model = "described"
services = [ { spec = "demo/text" }, { spec = "other/text", describe = "other/vision" } ]
balance = "round_robin"
describe = "demo/vision"

[[routes]]
model = "pinned"
balance = "random"
affinity = "30m"
services = [ { spec = "demo/text" }, { spec = "other/text" } ]
[[routes.smart]]
name = "eyes"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]
"#;

/// An image of one pixel.
pub(crate) const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

pub(crate) fn body(protocol: Protocol, request: &Request, model: &str) -> Bytes {
    let written = protocol
        .codec()
        .write_request(request, &Outgoing::new(model));
    written.body
}

pub(crate) async fn send_request(
    gateway: &TestGateway,
    protocol: Protocol,
    model: &str,
    request: &Request,
) -> TestResponse {
    let path = path(protocol, model, false);
    let reply = gateway.post(&path, body(protocol, request, model)).await;
    assert_eq!(reply.status, 200, "{protocol:?}: {}", reply.text());
    reply
}

pub(crate) fn with_image() -> Request {
    Request::user("what is it?")
        .part(Part::image("image/gif", PIXEL))
        .max_tokens(50)
}

#[tokio::test]
async fn a_rule_narrows_a_request_to_its_own_services() {
    let gateway = TestGateway::start(CONFIG).await;
    for (words, target) in [(1, "demo/text"), (500, "other/text")] {
        let request = Request::user("word ".repeat(words)).max_tokens(50);
        let reply = send_request(&gateway, Protocol::Chat, "long", &request).await;
        assert_eq!(reply.header("x-majordomo-target"), Some(target));
    }
}

#[tokio::test]
async fn a_text_only_route_accepts_images_in_every_dialect() {
    let gateway = TestGateway::start(CONFIG).await;
    for protocol in Protocol::ALL {
        let reply = send_request(&gateway, protocol, "blind", &with_image()).await;
        assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
        let changes = reply.header("x-majordomo-changes").unwrap_or_default();
        assert!(
            changes.contains("image:1 described"),
            "{protocol:?}: {changes}"
        );
        let response = protocol
            .codec()
            .read_response(reply.body.clone(), 0)
            .unwrap();
        assert!(response.text().contains("[image: "), "{}", response.text());
    }
}

#[tokio::test]
async fn a_text_only_target_gets_a_description_from_its_own_describer() {
    let gateway = TestGateway::start(CONFIG).await;
    let reply = send_request(&gateway, Protocol::Chat, "mixed", &with_image()).await;
    assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
    let changes = reply.header("x-majordomo-changes").unwrap_or_default();
    assert!(changes.contains("image:1 described"), "{changes}");
}

#[tokio::test]
async fn a_routes_describer_serves_only_services_without_their_own() {
    let gateway = TestGateway::start(CONFIG).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let reply = send_request(&gateway, Protocol::Chat, "described", &with_image()).await;
        let changes = reply.header("x-majordomo-changes").unwrap_or_default();
        assert!(changes.contains("image:1 described"), "{changes}");
    }
    let reported = gateway
        .send_to_operator("/api/requests", &[], b"")
        .await
        .json();
    for request in reported["requests"].as_array().into_iter().flatten() {
        let described = &request["descriptions"][0]["attempts"][0]["target"];
        seen.push((request["pick"].clone(), described.clone()));
    }
    seen.sort_by_key(|(pick, _)| pick.to_string());
    let pair = |a: &str, b: &str| (serde_json::json!(a), serde_json::json!(b));
    assert_eq!(
        seen,
        [
            pair("demo/text", "demo/vision"),
            pair("other/text", "other/vision"),
        ]
    );
}

#[tokio::test]
async fn a_pinned_session_keeps_its_service_and_is_still_processed() {
    let gateway = TestGateway::start(CONFIG).await;
    let body = body(Protocol::Chat, &with_image(), "pinned");
    let body = std::str::from_utf8(&body).unwrap();
    let mut seen = Vec::new();
    for session in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let mut of_session = Vec::new();
        for _ in 0..5 {
            let headers = [
                ("x-session-id", session),
                ("content-type", "application/json"),
            ];
            let reply = gateway
                .request("/v1/chat/completions", &headers, body)
                .await;
            let changes = reply.header("x-majordomo-changes").unwrap_or_default();
            assert!(changes.contains("image:1 described"), "{changes}");
            let target = reply.header("x-majordomo-target").unwrap_or_default();
            of_session.push(target.to_owned());
        }
        of_session.dedup();
        assert_eq!(of_session.len(), 1, "{session} moved: {of_session:?}");
        seen.extend(of_session);
    }
    assert_eq!(seen.len(), 8);
}

/// A describer is called directly: neither its own describer nor its route's rules
/// apply.
#[tokio::test]
async fn describers_that_name_each_other_are_not_called_in_a_cycle() {
    let output = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"an answer"},"finish_reason":"stop"}]}"#;
    let script = Script::new()
        .read_request()
        .respond(200, "application/json", output)
        .times(9);
    let upstream = Upstream::start([script]).await;
    let config = format!(
        r#"
[providers.up]
kind = "openai"
base_url = "http://{}/v1"
api_key = "canary"
[providers.up.models.one]
images = false
describe = "up/other"
[providers.up.models.other]
images = false
describe = "up/one"

[[routes]]
model = "circle"
services = [ {{ spec = "up/one" }} ]
describe = "circle"
[[routes.smart]]
name = "eyes"
when = [ {{ position = "proxy_vision", op = "enabled" }} ]
services = [ {{ spec = "up/other" }}, {{ spec = "up/one" }} ]
"#,
        upstream.address()
    );
    let gateway = TestGateway::start(&config).await;
    for (received, model) in ["up/one", "circle"].into_iter().enumerate() {
        let reply = send_request(&gateway, Protocol::Chat, model, &with_image()).await;
        assert_eq!(reply.status, 200, "{model}: {}", reply.text());
        let requests = upstream.requests();
        let posts = requests.iter().filter(|it| it.head.starts_with("POST "));
        let posts: Vec<_> = posts.collect();
        assert_eq!(posts.len(), received + 1, "{model}");
        let body = String::from_utf8_lossy(&posts[received].body);
        assert!(body.contains("description unavailable"), "{model}: {body}");
    }
}

/// The chains of the guide read as fallback orders, and so do lists of services.
#[tokio::test]
async fn without_balance_the_services_are_tried_in_the_order_of_the_list() {
    let config = r#"
[providers.first]
kind = "demo"
[providers.second]
kind = "demo"
[[routes]]
model = "plain"
services = [ { spec = "first/text" }, { spec = "second/text" } ]
[[routes]]
model = "tiers"
services = [ { spec = "first/text", tier = 1 }, { spec = "second/text" } ]
"#;
    let gateway = TestGateway::start(config).await;
    let request = Request::user("hello").max_tokens(20);
    for (model, target) in [("plain", "first/text"), ("tiers", "second/text")] {
        for _ in 0..12 {
            let reply = send_request(&gateway, Protocol::Chat, model, &request).await;
            assert_eq!(reply.header("x-majordomo-target"), Some(target), "{model}");
        }
    }
}
