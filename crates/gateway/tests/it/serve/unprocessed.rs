//! Embeddings and token counts use routes, rules and permits as completions do.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

const SOON: Duration = Duration::from_secs(10);
const EMBED: &str = r#"{"model":"r","input":"a"}"#;

fn answering(body: &'static str) -> Script {
    let script = Script::new().read_request();
    script.respond(200, "application/json", body).times(9)
}

/// A route over `first` and `second`, with a rule that routes one team to `special`.
fn config(protocol: Protocol, capacity: u32, upstreams: [&Upstream; 3]) -> String {
    let names = ["first", "second", "special"];
    let providers = names.iter().zip(upstreams);
    let providers: String = providers
        .map(|(name, upstream)| wires::provider(name, protocol, upstream.address()))
        .collect();
    format!(
        r#"{providers}
[[routes]]
model = "r"
balance = "tier"
services = [
  {{ spec = "first/m", tier = 0, capacity = {capacity} }},
  {{ spec = "second/m", tier = 1 }},
]
[[routes.smart]]
name = "team"
when = [ {{ position = "header", op = "equals", name = "x-team", value = "red" }} ]
services = [ {{ spec = "special/m" }} ]
"#
    )
}

#[tokio::test]
async fn an_embedding_takes_a_permit_of_its_service() {
    let first = Upstream::start([Script::new().read_request().stall()]).await;
    let second = Upstream::start([answering(r#"{"data":[]}"#)]).await;
    let special = Upstream::start([]).await;
    let config = config(Protocol::Chat, 1, [&first, &second, &special]);
    let gateway = TestGateway::start(&config).await;
    let _waiting = gateway.begin("/v1/embeddings", EMBED.as_bytes()).await;
    first.posted(1, SOON).await;
    let response = gateway.post("/v1/embeddings", EMBED).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("x-majordomo-target"), Some("second/m"));
    assert_eq!(first.requests().len(), 1);
}

#[tokio::test]
async fn rules_send_embeddings_and_counts_to_their_services() {
    for (protocol, path, body, output) in [
        (Protocol::Chat, "/v1/embeddings", EMBED, r#"{"data":[]}"#),
        (
            Protocol::Messages,
            "/v1/messages/count_tokens",
            r#"{"model":"r","messages":[{"role":"user","content":"hi"}]}"#,
            r#"{"input_tokens":42}"#,
        ),
    ] {
        let first = Upstream::start([answering(output)]).await;
        let second = Upstream::start([]).await;
        let special = Upstream::start([answering(output)]).await;
        let config = config(protocol, 9, [&first, &second, &special]);
        let gateway = TestGateway::start(&config).await;
        let response = gateway.request(path, &[("x-team", "red")], body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(special.requests().len(), 1, "{path}");
        assert_eq!(first.requests().len(), 0, "{path}");
        gateway.request(path, &[("x-team", "blue")], body).await;
        assert_eq!(first.requests().len(), 1, "{path}");
    }
}

#[tokio::test]
async fn a_benched_target_does_not_count_tokens() {
    let sick = Script::new().read_request();
    let sick = sick.respond(500, "application/json", "{}").times(99);
    let first = Upstream::start([sick]).await;
    let others = [Upstream::start([]).await, Upstream::start([]).await];
    let config = config(Protocol::Messages, 9, [&first, &others[0], &others[1]]);
    let gateway = TestGateway::start(&config).await;
    let send_request =
        r#"{"model":"first/m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    for _ in 0..3 {
        gateway.post("/v1/messages", send_request).await;
    }
    let before = first.requests().len();
    let response = gateway
        .post("/v1/messages/count_tokens", send_request)
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(
        response.text().contains("input_tokens"),
        "{}",
        response.text()
    );
    assert_eq!(first.requests().len(), before);
}

#[tokio::test]
async fn counting_tokens_sends_no_image_to_a_text_only_destination() {
    let by_rule = r#"
[[routes.smart]]
name = "eyes"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]
"#;
    for (describe, rule) in [("", by_rule), (", describe = \"demo/vision\"", "")] {
        let upstream = Upstream::start([answering(r#"{"input_tokens":42}"#)]).await;
        let config = format!(
            r#"
[providers.blind]
kind = "anthropic"
base_url = "http://{}"
api_key = "canary"
[providers.blind.models."m"]
images = false
[[routes]]
model = "r"
services = [ {{ spec = "blind/m"{describe} }} ]
{rule}"#,
            upstream.address()
        );
        let gateway = TestGateway::start(&config).await;
        let body = r#"{"model":"r","messages":[{"role":"user","content":[
            {"type":"text","text":"see"},
            {"type":"image","source":{"type":"file","file_id":"CANARY"}},
            {"type":"image","source":{"type":"base64","media_type":"image/gif",
                "data":"R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="}}]}]}"#;
        let reply = gateway.post("/v1/messages/count_tokens", body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.text(), r#"{"input_tokens":42}"#);
        let sent = upstream.requests();
        let sent = String::from_utf8_lossy(&sent[0].body).into_owned();
        assert!(
            !sent.contains("CANARY") && !sent.contains("base64"),
            "{sent}"
        );
        assert!(sent.contains("[image: "), "{sent}");
        let changes = reply.header("x-majordomo-changes");
        assert_eq!(changes, Some("image:2 undescribed"), "{describe}");
    }
}
