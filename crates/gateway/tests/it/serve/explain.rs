//! `POST /api/explain`: a dry run that calls no target.

use std::time::Duration;

use majordomo::{Part, Request};
use majordomo_testkit::{Script, Upstream, files};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::serve::routes::{CONFIG, body, with_image};
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires::path;

/// Timeout that only a broken gateway reaches.
const SOON: Duration = Duration::from_secs(20);

async fn explained(gateway: &TestGateway, query: &str, body: &[u8]) -> Value {
    let response = gateway
        .send_to_operator(&format!("/api/explain{query}"), &[], body)
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// A configuration over one upstream that must never be called.
async fn untouched() -> (Upstream, TestGateway) {
    let upstream = Upstream::start([Script::new()]).await;
    let address = upstream.address();
    let config = format!(
        r#"
[providers.up]
kind = "openai"
base_url = "http://{address}/v1"
api_key = "canary"
[providers.up.models.blind]
images = false
[providers.up.models.small]
images = {{ max = 1, max_px = 16 }}
[providers.up.models.described]
images = false
describe = "up/eyes"
[providers.cloud]
kind = "anthropic"
base_url = "http://{address}"
api_key = "canary"

[[keys]]
name = "laptop"
key = "CANARY-laptop"
[[keys]]
name = "intern-1"
key = "CANARY-intern"
models = ["coder"]

[[routes]]
model = "coder"
balance = "round_robin"
services = [
  {{ spec = "up/blind" }},
  {{ spec = "up/described" }},
  {{ spec = "up/off", active = false }},
]
[[routes.smart]]
name = "team blue"
when = [ {{ position = "header", op = "equals", name = "x-team", value = "blue" }} ]
services = [ {{ spec = "cloud/blue" }} ]
[[routes.smart]]
name = "interns"
when = [
  {{ position = "key", op = "glob", value = "intern-*" }},
  {{ not = {{ position = "images", op = "ge", value = 1 }} }},
]
services = [ {{ spec = "up/small" }} ]
[[routes.smart]]
name = "eyes"
when = [ {{ position = "proxy_vision", op = "enabled" }} ]
services = [ {{ spec = "up/eyes" }} ]
"#
    );
    (upstream, TestGateway::start(&config).await)
}

#[tokio::test]
async fn explain_calls_no_target_and_reports_every_decision() {
    let (upstream, gateway) = untouched().await;
    let chat = body(Protocol::Chat, &with_image(), "coder");
    let reported = explained(&gateway, "", &chat).await;
    assert_eq!(reported["dialect"], "openai-chat");
    assert_eq!(reported["dialect_from"], "guess");
    assert_eq!(
        (&reported["model"], &reported["route"]),
        (&json!("coder"), &json!("coder"))
    );
    assert_eq!(reported["images"], 1);

    let rules = reported["rules"].as_array().expect("rules");
    let verdicts: Vec<_> = rules
        .iter()
        .map(|rule| (&rule["name"], &rule["matched"]))
        .collect();
    assert_eq!(
        verdicts,
        [
            (&json!("team blue"), &json!(false)),
            (&json!("interns"), &json!(false)),
            (&json!("eyes"), &json!(true)),
        ]
    );
    assert_eq!(rules[0]["conditions"][0]["actual"], "none");
    assert_eq!(
        (&rules[1]["evaluated"], &rules[1]["total"]),
        (&json!(1), &json!(2))
    );

    assert_eq!(
        reported["processors"],
        json!([{
            "position": "proxy_vision", "op": "enabled",
            "services": ["up/eyes"], "changes": ["image:1 described"],
        }])
    );
    assert_eq!(
        reported["candidates"],
        json!([
            {"service": "up/blind", "targets": ["up/blind"]},
            {"service": "up/described", "targets": ["up/described"]},
        ]),
        "the describers are never the destination"
    );
    assert_eq!(
        reported["left_out"],
        json!([{"service": "up/off", "why": "inactive"}])
    );
    assert_eq!(
        reported["pick"],
        json!({"service": "up/blind", "because": "tactic", "tactic": "round_robin"})
    );
    // Round robin does not advance: the next dry run picks the same.
    assert_eq!(
        explained(&gateway, "", &chat).await["pick"],
        reported["pick"]
    );
    assert!(upstream.connections().is_empty());
}

#[tokio::test]
async fn each_target_reports_how_it_would_receive_the_request() {
    let (upstream, gateway) = untouched().await;
    let mut request = Request::user("what is it?").part(Part::image("image/png", picture(64, 64)));
    request.edit().seed = Some(7);
    let spec = "up/blind,up/described,up/small,up/any,cloud/any,openai/any";
    let reported = explained(&gateway, "", &body(Protocol::Chat, &request, spec)).await;
    assert_eq!(
        reported["targets"],
        json!([
            {
                "target": "up/blind", "dialect": "openai-chat", "changes": [],
                "passed_over": "it takes no images",
            },
            {"target": "up/described", "dialect": "openai-chat", "changes": ["image:1 described"]},
            {"target": "up/small", "dialect": "openai-chat", "changes": ["image:1 resized"]},
            {"target": "up/any", "dialect": "openai-chat", "changes": []},
            {"target": "cloud/any", "dialect": "anthropic-messages", "changes": ["max_tokens set", "seed dropped"]},
            {
                "target": "openai/any", "dialect": "openai-chat", "changes": [],
                "passed_over": "no key is configured: set OPENAI_API_KEY",
            },
        ])
    );
    assert!(upstream.connections().is_empty());
}

/// A grey PNG image.
fn picture(width: u32, height: u32) -> Vec<u8> {
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    let pixels = vec![128; (width * height) as usize];
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    data
}

#[tokio::test]
async fn headers_and_keys_are_evaluated_as_the_clients() {
    let (upstream, gateway) = untouched().await;
    let plain = body(Protocol::Chat, &Request::user("hi"), "coder");
    let blue = gateway
        .send_to_operator("/api/explain", &[("x-team", "blue")], &plain)
        .await
        .json();
    assert_eq!(blue["pick"]["service"], "cloud/blue");
    assert_eq!(blue["candidates"][0]["rule"], "team blue");
    assert_eq!(
        blue["candidates"][1]["service"], "up/blind",
        "the route's own come after"
    );

    let intern = explained(&gateway, "?as=intern-1", &plain).await;
    assert_eq!(intern["key"], "intern-1");
    assert_eq!(intern["pick"]["service"], "up/small");
    let not = &intern["rules"][1]["conditions"][1];
    assert_eq!(
        (&not["matched"], &not["not"]["actual"]),
        (&json!(true), &json!("0"))
    );

    // The same in the envelope of recorded requests.
    let body: Value = serde_json::from_slice(&plain).expect("JSON");
    let envelope = json!({"key": "intern-1", "headers": [["x-team", "blue"]], "body": body});
    let reported = explained(&gateway, "", envelope.to_string().as_bytes()).await;
    assert_eq!(
        (&reported["key"], &reported["pick"]["service"]),
        (&json!("intern-1"), &json!("cloud/blue"))
    );

    for (query, status, output) in [
        ("?as=intern", 400, "did you mean `intern-1`?"),
        ("?route=codr", 404, "did you mean `coder`?"),
        ("?dialect=messges", 400, "did you mean `messages`?"),
        ("?path=/v1/models", 400, "is not an endpoint"),
    ] {
        let response = gateway
            .send_to_operator(&format!("/api/explain{query}"), &[], &plain)
            .await;
        assert_eq!(response.status, status, "{query}: {}", response.text());
        assert!(
            response.text().contains(output),
            "{query}: {}",
            response.text()
        );
    }
    let unreadable = gateway
        .send_to_operator("/api/explain", &[], br#"{"model":"coder","messages":3}"#)
        .await;
    assert_eq!(unreadable.status, 400);
    let hint = "specify another with `path` or `dialect`";
    assert!(unreadable.text().contains(hint), "{}", unreadable.text());
    let other = body_of("thinking");
    let refused = gateway
        .send_to_operator("/api/explain?as=intern-1", &[], &other)
        .await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(upstream.connections().is_empty());
}

fn body_of(model: &str) -> Vec<u8> {
    body(Protocol::Chat, &Request::user("hi"), model).to_vec()
}

#[tokio::test]
async fn a_route_can_be_chosen_explicitly() {
    let (_upstream, gateway) = untouched().await;
    let reported = explained(&gateway, "?route=coder", &body_of("up/small")).await;
    assert_eq!(
        (&reported["route"], &reported["model"]),
        (&json!("coder"), &json!("up/small"))
    );
    let reported = explained(&gateway, "", &body_of("up/small")).await;
    assert_eq!(
        (&reported["route"], &reported["pick"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(reported["targets"][0]["target"], "up/small");
    let unknown = gateway
        .send_to_operator("/api/explain", &[], &body_of("gpt-9"))
        .await;
    assert_eq!(unknown.status, 404);
    assert!(
        unknown.text().contains("does not query providers"),
        "{}",
        unknown.text()
    );
}

#[tokio::test]
async fn every_dialect_is_detected_by_path_name_and_shape() {
    let gateway = TestGateway::start(CONFIG).await;
    for protocol in Protocol::ALL {
        let request = with_image().system("You are terse.");
        let sent = body(protocol, &request, "blind");
        let route = "route=blind";
        let by_path = path(protocol, "blind", false);
        let dialect = protocol.dialect();
        for (query, from) in [
            (format!("?path={by_path}"), "path"),
            (format!("?{route}&dialect={dialect}"), "name"),
            (format!("?{route}"), "guess"),
        ] {
            let reported = explained(&gateway, &query, &sent).await;
            assert_eq!(reported["dialect"], dialect.as_str(), "{query}");
            assert_eq!(reported["dialect_from"], from);
            assert_eq!(reported["processors"][0]["changes"][0], "image:1 described");
        }
    }
    let generate = json!({"model": "blind", "prompt": "hi"}).to_string();
    let reported = explained(&gateway, "", generate.as_bytes()).await;
    assert_eq!(reported["dialect"], "ollama-chat");
    let response = gateway
        .send_to_operator("/api/explain", &[], b"{\"model\":\"blind\"}")
        .await;
    assert_eq!(response.status, 400);
    assert!(
        response.text().contains("specify its `path`"),
        "{}",
        response.text()
    );
}

/// Recorded requests, whose paths determine their dialect. Ambiguous bodies are
/// detected as OpenAI's.
#[tokio::test]
async fn recorded_requests_are_detected_as_their_own_dialect() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_CLIENT_REQUESTS") else {
        return;
    };
    let gateway = TestGateway::start(CONFIG).await;
    let mut seen = 0;
    for file in files(&folder) {
        let text = std::fs::read(&file).expect("a readable file");
        let Ok(mut capture) = serde_json::from_slice::<Value>(&text) else {
            continue;
        };
        let of_a_model = [
            "/chat/completions",
            "/api/chat",
            "/messages",
            "/responses",
            "enerateContent",
        ];
        let path = capture["path"].as_str().unwrap_or_default().to_owned();
        let path = path.split('?').next().unwrap_or_default();
        if !of_a_model.iter().any(|end| path.ends_with(end)) {
            continue;
        }
        capture["route"] = json!("blind");
        let named = gateway
            .send_to_operator("/api/explain", &[], capture.to_string().as_bytes())
            .await;
        if named.status != 200 {
            // Skip deliberately invalid recordings.
            continue;
        }
        capture.as_object_mut().expect("an object").remove("path");
        let guessed = gateway
            .send_to_operator("/api/explain", &[], capture.to_string().as_bytes())
            .await;
        assert_eq!(
            guessed.status,
            200,
            "{}: {}",
            file.display(),
            guessed.text()
        );
        let (named, guessed) = (named.json(), guessed.json());
        assert_eq!(named["dialect"], guessed["dialect"], "{}", file.display());
        assert_eq!(named["images"], guessed["images"], "{}", file.display());
        seen += 1;
    }
    assert!(seen > 50, "only {seen} requests");
}

#[tokio::test]
async fn explain_accepts_only_same_origin_json() {
    let gateway = TestGateway::start(CONFIG).await;
    let body = body_of("blind");
    let own = format!("http://{}", gateway.operator);
    for (headers, status) in [
        (&[("origin", "https://evil.example")][..], 403),
        (&[("origin", "null")], 403),
        (&[("sec-fetch-site", "cross-site")], 403),
        (&[("content-type", "text/plain")], 415),
        (
            &[("content-type", "application/x-www-form-urlencoded")],
            415,
        ),
        (&[("origin", &*own), ("sec-fetch-site", "same-origin")], 200),
        (&[], 200),
    ] {
        let response = gateway
            .send_to_operator("/api/explain", headers, &body)
            .await;
        assert_eq!(response.status, status, "{headers:?}");
    }
    assert_eq!(
        gateway
            .send_to_operator("/api/explain", &[], b"")
            .await
            .status,
        405
    );
    assert_eq!(
        gateway
            .send_to_operator("/api/requests", &[], &body)
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn image_urls_that_would_be_refused_are_refused_by_explain() {
    let config = "[fetch]\nenabled = true\n[providers.eyes]\nkind = \"ollama\"\n\
                  base_url = \"http://127.0.0.1:9\"\n[providers.eyes.models.m]\nimages = { max = 4 }\n";
    let gateway = TestGateway::start(config).await;
    for (url, expected) in [
        ("http://203.0.114.1/x.png", "fetched"),
        ("http://example.com/x.png", "fetched"),
        ("http://127.0.0.1/x.png", "is not public"),
        ("http://[::1]/x.png", "is not public"),
        ("http://example.com:22/x.png", "ports 80 and 443"),
        ("file:///x.png", "must begin with http"),
        ("http://a@example.com/x.png", "must begin with http"),
    ] {
        let body = json!({"model": "eyes/m", "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}}
        ]}]});
        let reported = explained(&gateway, "", body.to_string().as_bytes()).await;
        let target = &reported["targets"][0];
        let (changes, refused) = (
            target["changes"].to_string(),
            target["passed_over"].as_str(),
        );
        assert_eq!(
            changes.contains("fetched"),
            refused.is_none(),
            "{url}: {reported}"
        );
        assert!(
            refused.unwrap_or(&changes).contains(expected),
            "{url}: {reported}"
        );
    }
}

#[tokio::test]
async fn explain_bodies_count_against_the_byte_budget() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!(
        "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"1MiB\"\n\
         [providers.up]\nkind = \"openai\"\nbase_url = \"http://{}\"\napi_key = \"canary\"\n\
         [providers.demo]\n",
        upstream.address()
    );
    let gateway = TestGateway::start(&config).await;
    let body = |model: &str, length: usize| {
        let text = "x".repeat(length);
        let body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
        body.to_string()
    };
    let large = body("demo/text", 700 << 10);
    explained(&gateway, "", large.as_bytes()).await;
    let served = gateway
        .begin("/v1/chat/completions", body("up/m", 700 << 10).as_bytes())
        .await;
    upstream.posted(1, SOON).await;
    let full = gateway
        .send_to_operator("/api/explain", &[], large.as_bytes())
        .await;
    assert_eq!(full.status, 503, "{}", full.text());
    assert_eq!(full.header("retry-after"), Some("1"));
    // Small ones still fit.
    explained(&gateway, "", body("demo/text", 10).as_bytes()).await;
    drop(served);
    while gateway
        .send_to_operator("/api/explain", &[], large.as_bytes())
        .await
        .status
        != 200
    {
        tokio::task::yield_now().await;
    }
}
