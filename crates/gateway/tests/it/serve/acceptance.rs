//! Rules and descriptions through the whole gateway.

use std::time::Duration;

use bytes::Bytes;
use majordomo::{Event, Part, Request, Response};
use majordomo_gateway::config::Config;
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use serde_json::json;

use crate::serve::routes::{CONFIG, PIXEL, body, send_request, with_image};
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

/// Timeout that only a broken gateway reaches.
const SOON: Duration = Duration::from_secs(20);

/// A text-only demo model whose images this provider describes.
fn blind(describers: std::net::SocketAddr, more: &str) -> String {
    format!(
        r#"
[providers.eyes]
kind = "openai"
base_url = "http://{describers}/v1"
api_key = "canary"
[[routes]]
model = "blind"
services = [ {{ spec = "demo/text" }} ]
[[routes.smart]]
name = "eyes"
when = [ {{ position = "proxy_vision", op = "enabled" }} ]
services = [ {{ spec = "eyes/sharp" }} ]
{more}
"#
    )
}

#[tokio::test]
async fn the_describer_never_serves_the_request_itself() {
    let config = r#"
[[routes]]
model = "blind"
services = [ { spec = "demo/text" } ]
affinity = "30m"
[[routes.smart]]
name = "eyes"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]
"#;
    let gateway = TestGateway::start(config).await;
    for _ in 0..100 {
        let reply = send_request(&gateway, Protocol::Chat, "blind", &with_image()).await;
        assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
    }
    let reported = gateway
        .send_to_operator("/api/requests", &[], b"")
        .await
        .json();
    for request in reported["requests"].as_array().into_iter().flatten() {
        assert_eq!(request["candidates"], json!(["demo/text"]));
    }
}

#[tokio::test]
async fn images_are_removed_regardless_of_outcome_and_a_failing_describer_is_502() {
    let repeats = r#"{"error":{"message":"what is MARKER-of-a-prompt?"}}"#;
    let refuse = || {
        let read = Script::new().read_request();
        read.respond(400, "application/json", repeats)
    };
    let describers = Upstream::start([refuse(), refuse()]).await;
    let destination = Upstream::start([refuse(), refuse()]).await;
    let other = format!(
        "[providers.other]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n",
        destination.address()
    );
    let fail = format!("{other}[vision]\non_failure = \"fail\"\n");
    let config = blind(describers.address(), &fail);
    let gateway = TestGateway::start(&config.replace("demo/text", "other/text")).await;
    let body = body(Protocol::Chat, &with_image(), "blind");
    let reply = gateway.post("/v1/chat/completions", body).await;
    assert_eq!(reply.status, 502, "{}", reply.text());
    assert!(reply.text().contains("an image could not be described"));
    assert_eq!(destination.requests().len(), 0, "no image is sent on");
    let reported = gateway.send_to_operator("/api/requests", &[], b"").await;
    assert!(!reported.text().contains("MARKER"), "{}", reported.text());
}

#[tokio::test]
async fn the_first_matching_rule_is_the_only_one_applied() {
    let later = r#"
[[routes.smart]]
name = "everything"
when = [ { position = "token", op = "ge", value = 0 } ]
services = [ { spec = "demo/flaky" } ]
"#;
    let config = r#"
[[routes]]
model = "blind"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "eyes"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]
"#;
    let gateway = TestGateway::start(&format!("{config}{later}")).await;
    let reply = send_request(&gateway, Protocol::Chat, "blind", &with_image()).await;
    assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
    let reported = gateway
        .send_to_operator("/api/requests", &[], b"")
        .await
        .json();
    let rules = &reported["requests"][0]["rules"];
    assert_eq!(rules.as_array().map(Vec::len), Some(1), "{rules}");
}

#[tokio::test]
async fn a_rule_whose_services_are_all_inactive_falls_back_to_the_route() {
    let config = CONFIG.replace(
        "services = [ { spec = \"other/text\" } ]",
        "services = [ { spec = \"other/text\", active = false } ]",
    );
    let gateway = TestGateway::start(&config).await;
    let request = Request::user("word ".repeat(500)).max_tokens(50);
    let reply = send_request(&gateway, Protocol::Chat, "long", &request).await;
    assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
    let reported = gateway
        .send_to_operator("/api/requests", &[], b"")
        .await
        .json();
    let first = &reported["requests"][0];
    assert_eq!(first["rules"][0]["matched"], true);
    assert_eq!(first["candidates"], json!(["demo/text"]));
}

#[test]
fn an_unknown_describer_is_a_configuration_error() {
    for describe in ["", "nobody", "nobody/m", "demo/", "/m"] {
        for route in [
            format!("services = [ {{ spec = \"demo/text\" }} ]\ndescribe = \"{describe}\""),
            format!("services = [ {{ spec = \"demo/text\", describe = \"{describe}\" }} ]"),
        ] {
            let text = format!("[[routes]]\nmodel = \"blind\"\n{route}\n");
            let read = Config::parse("m.toml", &text, &Default::default());
            assert!(read.is_err(), "{text}");
        }
    }
}

#[tokio::test]
async fn a_describer_that_hangs_leaves_a_marker_and_does_not_count_against_the_target() {
    let stalls = Script::new().read_request().stall();
    let upstream = Upstream::start(vec![stalls; 4]).await;
    let config = blind(upstream.address(), "[vision]\ntimeout = \"200ms\"\n");
    let gateway = TestGateway::start(&config).await;
    let reply = send_request(&gateway, Protocol::Chat, "blind", &with_image()).await;
    assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
    let changes = reply.header("x-majordomo-changes").unwrap_or_default();
    assert!(changes.contains("image:1 undescribed"), "{changes}");
    let marker = "[image: (description unavailable)]";
    assert!(reply.text().contains(marker), "{}", reply.text());
    upstream.closed(0, SOON).await;
    let health = gateway
        .send_to_operator("/api/health", &[], b"")
        .await
        .json();
    for target in health["targets"].as_array().into_iter().flatten() {
        let own = target["target"] == "demo/text" || target["target"] == "demo";
        assert!(!own || target["state"] == "usable", "{target}");
    }
}

#[tokio::test]
async fn a_disconnect_cancels_the_describers_call() {
    let stalls = Script::new().read_request().stream_head().stall();
    let upstream = Upstream::start([stalls]).await;
    let gateway = TestGateway::start(&blind(upstream.address(), "")).await;
    let body = body(Protocol::Chat, &with_image(), "blind");
    let client = gateway.begin("/v1/chat/completions", &body).await;
    upstream.wait_for_requests(1, SOON).await;
    drop(client);
    upstream.closed(0, SOON).await;
    let reported = loop {
        let reported = gateway
            .send_to_operator("/api/requests", &[], b"")
            .await
            .json();
        if reported["requests"][0].is_object() {
            break reported;
        }
        tokio::task::yield_now().await;
    };
    let request = &reported["requests"][0];
    assert_eq!(request["outcome"], "client_gone");
    assert_eq!(request["descriptions"][0]["outcome"], "cancelled");
    assert_eq!(request["attempts"], json!([]), "the target was not called");
    let metrics = gateway.send_to_operator("/metrics", &[], b"").await;
    let line = "majordomo_descriptions_total{target=\"\",outcome=\"cancelled\"} 1";
    assert!(metrics.text().contains(line), "{}", metrics.text());
}

/// An image of one pixel in the `number`th colour.
fn pixel(number: u8) -> Bytes {
    let mut pixel = PIXEL.to_vec();
    pixel[13] = number;
    pixel.into()
}

#[tokio::test]
async fn each_describer_call_is_recorded_under_the_callers_key() {
    let response =
        Response::new(vec![Part::text("a dot")]).with_usage(majordomo::Usage::new(30, 4));
    let events: Vec<Event> = response.to_events();
    let reply = Script::new().read_request().respond(
        200,
        "text/event-stream",
        wires::streamed(Protocol::Chat, &events),
    );
    let upstream = Upstream::start(vec![reply; 30]).await;
    let keys = "[[keys]]\nname = \"laptop\"\nkey = \"CANARY-laptop\"\n";
    let gateway = TestGateway::start(&blind(upstream.address(), keys)).await;
    let mut request = Request::user("what are they?").max_tokens(50);
    for number in 0..20 {
        request = request.part(Part::image("image/gif", pixel(number)));
    }
    let body = body(Protocol::Chat, &request, "blind");
    let body = std::str::from_utf8(&body).expect("text");
    let headers = [
        ("authorization", "Bearer CANARY-laptop"),
        ("content-type", "application/json"),
    ];
    let reply = gateway
        .request("/v1/chat/completions", &headers, body)
        .await;
    let changes = reply.header("x-majordomo-changes").unwrap_or_default();
    assert!(changes.contains("image:20 described"), "{changes}");
    let reported = gateway
        .send_to_operator("/api/requests", &[], b"")
        .await
        .json();
    let request = &reported["requests"][0];
    assert_eq!(request["key"], "laptop");
    let rows = request["descriptions"].as_array().expect("rows");
    assert_eq!(rows.len(), 20);
    for row in rows {
        assert_eq!(
            (&row["input_tokens"], &row["output_tokens"]),
            (&json!(30), &json!(4))
        );
        assert_eq!(row["attempts"][0]["target"], "eyes/sharp");
    }
    let metrics = gateway.send_to_operator("/metrics", &[], b"").await;
    for line in [
        "majordomo_descriptions_total{target=\"eyes/sharp\",outcome=\"described\"} 20",
        "majordomo_describe_tokens_total{target=\"eyes/sharp\",kind=\"input\"} 600",
        "majordomo_describe_tokens_total{target=\"eyes/sharp\",kind=\"output\"} 80",
    ] {
        assert!(
            metrics.text().lines().any(|l| l == line),
            "{line}: {}",
            metrics.text()
        );
    }
}
