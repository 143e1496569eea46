//! The images API: byte for byte to a target of the same dialect, translated to all others.

use bytes::Bytes;
use http_body_util::Full;
use majordomo_testkit::{Script, Upstream};
use serde_json::Value;

use crate::serve::test_gateway::{TestGateway, TestResponse};

const GENERATIONS: &str = "/v1/images/generations";
const EDITS: &str = "/v1/images/edits";
const DATA: &str = "iVBORw0KGgo=";

fn json(body: impl Into<String>) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", body.into())
}

fn config(kind: &str, upstream: &Upstream) -> String {
    let path = if kind == "openai" { "/v1" } else { "" };
    format!(
        "[providers.up]\nkind = \"{kind}\"\nbase_url = \"http://{}{path}\"\napi_key = \"upstream-canary\"\n",
        upstream.address()
    )
}

async fn up(kind: &str, script: Script, more: &str) -> (Upstream, TestGateway) {
    let upstream = Upstream::start([script]).await;
    let gateway = TestGateway::start(&format!("{}{more}", config(kind, &upstream))).await;
    (upstream, gateway)
}

fn form(parts: &[(&str, &[u8])]) -> Bytes {
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend_from_slice(b"--b0\r\nContent-Disposition: form-data; ");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b0--\r\n");
    body.into()
}

async fn edit(gateway: &TestGateway, parts: &[(&str, &[u8])]) -> TestResponse {
    let request = http::Request::post(EDITS)
        .header("host", "localhost")
        .header("content-type", "multipart/form-data; boundary=b0")
        .body(Full::new(form(parts)));
    gateway.send(request.expect("a request can be made")).await
}

#[tokio::test]
async fn a_target_of_the_same_dialect_gets_and_gives_bytes_unchanged() {
    let answer = format!(r#"{{"data" : [{{"b64_json":"{DATA}"}}],"odd":1.0}}"#);
    let (upstream, gateway) = up("openai", json(&*answer).times(2), "").await;
    let body = r#"{"prompt" : "a pear", "quality":"high", "model":"up/m0", "odd":[1.0]}"#;
    let reply = gateway.post(GENERATIONS, body).await;
    assert_eq!((reply.status.as_u16(), reply.text()), (200, &*answer));
    assert_eq!(reply.header("x-majordomo-target"), Some("up/m0"));
    assert_eq!(reply.header("x-majordomo-attempts"), Some("1"));
    assert_eq!(reply.header("x-majordomo-changes"), None);
    let request = upstream.requests()[0].clone();
    assert!(
        request.head.starts_with("POST /v1/images/generations "),
        "{}",
        request.head
    );
    assert_eq!(request.body, body.replace("up/m0", "m0"));

    let image: &[u8] = b"\x89PNG\r\n\x1A\n\r\n--b\0\xff";
    let parts = |model: &'static [u8]| -> [(&'static str, &'static [u8]); 4] {
        [
            (
                "name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png",
                image,
            ),
            ("name=\"prompt\"", b"greener"),
            ("name=\"model\"", model),
            ("name=\"input_fidelity\"", b"high"),
        ]
    };
    let reply = edit(&gateway, &parts(b"up/m0")).await;
    assert_eq!((reply.status.as_u16(), reply.text()), (200, &*answer));
    let request = upstream.requests()[1].clone();
    assert!(
        request.head.starts_with("POST /v1/images/edits "),
        "{}",
        request.head
    );
    assert_eq!(
        request.header("content-type"),
        Some("multipart/form-data; boundary=b0")
    );
    assert_eq!(request.body, form(&parts(b"m0")));
}

#[tokio::test]
async fn other_targets_are_translated_and_what_they_lack_is_listed() {
    let answer = format!(r#"{{"images":["{DATA}"],"info":"x"}}"#);
    let (upstream, gateway) = up("llama-swap", json(answer).times(3), "").await;
    let body = r#"{"model":"up/sd","prompt":"a pear","size":"512x768","seed":7,"quality":"high"}"#;
    let reply = gateway.post(GENERATIONS, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["data"][0]["b64_json"], DATA);
    assert!(reply.json()["created"].as_u64() > Some(1_700_000_000));
    assert_eq!(reply.header("x-majordomo-changes"), Some("quality dropped"));
    let request = upstream.requests()[0].clone();
    assert!(
        request.head.starts_with("POST /sdapi/v1/txt2img "),
        "{}",
        request.head
    );
    let sent: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (&sent["width"], &sent["seed"], &sent["model"]),
        (&512.into(), &7.into(), &"sd".into())
    );
    let body = r#"{"model":"up/sd","prompt":"a pear","response_format":"url"}"#;
    let reply = gateway.post(GENERATIONS, body).await;
    let url = format!("data:image/png;base64,{DATA}");
    assert_eq!(reply.json()["data"][0]["url"], url);
    let parts: [(&str, &[u8]); 3] = [
        ("name=\"model\"", b"up/sd"),
        ("name=\"prompt\"", b"greener"),
        ("name=\"image\"; filename=\"a.png\"", b"\x89PNG\r\n\x1A\n"),
    ];
    let reply = edit(&gateway, &parts).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(
        upstream.requests()[2]
            .head
            .starts_with("POST /sdapi/v1/img2img ")
    );
}

#[tokio::test]
async fn images_fail_over_and_errors_are_in_the_clients_dialect() {
    let down = Script::new().read_request();
    let down = down.respond(500, "application/json", "{}").times(9);
    let demo = "[providers.demo]\nkind = \"demo\"\n";
    let (_upstream, gateway) = up("openai", down, demo).await;
    let body = r#"{"model":"up/m0,demo/image","prompt":"a pear","n":2}"#;
    let reply = gateway.post(GENERATIONS, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-majordomo-target"), Some("demo/image"));
    assert_eq!(reply.json()["data"].as_array().map(Vec::len), Some(2));
    let none = r#"{"model":"demo/text","prompt":"a pear"}"#;
    let reply = gateway.post(GENERATIONS, none).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let message = reply.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("demo/text: it generates no images"),
        "{message}"
    );
}

#[tokio::test]
async fn a_bad_request_is_refused_before_any_call() {
    let upstream = Upstream::start([]).await;
    let gateway = TestGateway::start(&config("openai", &upstream)).await;
    for (body, expected) in [
        (r#"{"prompt":"a"}"#, "names no model"),
        (r#"{"model":"up/m"}"#, "`prompt` is missing"),
        (
            r#"{"model":"up/m","prompt":"a","stream":true}"#,
            "not streamed",
        ),
        (r#"{"model":"up/m","prompt":"a","n":0}"#, "from 1"),
        (r#"{"model":"up/m","prompt":"a","model":"x"}"#, "duplicate"),
        (
            r#"{"model":"up/m","prompt":"a","image":"data:image/png;base64,AQID"}"#,
            "/v1/images/edits",
        ),
        ("nonsense", "decoded"),
    ] {
        let reply = gateway.post(GENERATIONS, body).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.text());
        let message = reply.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(expected), "{body}: {message}");
    }
    let text: [(&str, &[u8]); 2] = [("name=\"model\"", b"up/m"), ("name=\"prompt\"", b"x")];
    let reply = edit(&gateway, &text).await;
    assert!(
        reply.text().contains("`image` is missing"),
        "{}",
        reply.text()
    );
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn limits_on_counts_hold_for_images_as_for_chats() {
    let upstream = Upstream::start([]).await;
    let limits = "[server]\nmax_images = 0\nmax_fields = 1\nmax_values = 9\n";
    let gateway = TestGateway::start(&format!("{}{limits}", config("openai", &upstream))).await;
    let parts: [(&str, &[u8]); 3] = [
        ("name=\"model\"", b"up/m"),
        ("name=\"prompt\"", b"greener"),
        ("name=\"image\"; filename=\"a.png\"", b"x"),
    ];
    let reply = edit(&gateway, &parts).await;
    assert!(reply.text().contains("max_images"), "{}", reply.text());
    for (more, expected) in [
        (r#""a":1,"b":2"#, "max_fields"),
        (r#""a":[1,2,3,4,5,6,7,8,9]"#, "max_values"),
    ] {
        let body = format!(r#"{{"model":"up/m","prompt":"a",{more}}}"#);
        let reply = gateway.post(GENERATIONS, body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains(expected), "{}", reply.text());
    }
    assert!(upstream.requests().is_empty());
}

const LEDGER: &str = "[prices.\"up/token\"]\ninput = \"5\"\noutput = \"40\"\n\
                      [prices.\"up/each\"]\nimage = \"0.04\"\n";

#[tokio::test]
async fn an_image_is_charged_by_its_tokens_or_by_the_piece_and_otherwise_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let plain = format!(r#"{{"data":[{{"b64_json":"{DATA}"}},{{"b64_json":"{DATA}"}}]}}"#);
    let counted = format!(
        r#"{{"data":[{{"b64_json":"{DATA}"}}],"usage":{{"input_tokens":100,"output_tokens":1000}}}}"#
    );
    let scripts = [json(counted), json(&*plain), json(&*plain)];
    let upstream = Upstream::start(scripts).await;
    let ledger = format!(
        "[ledger]\nstore = \"sqlite://{}\"\n{LEDGER}",
        place.display()
    );
    let gateway = TestGateway::start(&format!("{}{ledger}", config("openai", &upstream))).await;
    for (model, cost) in [
        ("up/token", Some("0.0405 USD")),
        ("up/each", Some("0.08 USD")),
        ("up/unlisted", None),
    ] {
        let body = format!(r#"{{"model":"{model}","prompt":"a pear","n":2}}"#);
        let reply = gateway.post(GENERATIONS, body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("x-majordomo-cost"), cost, "{model}");
    }
    let listed = gateway
        .send_to_operator("/api/requests?limit=3", &[], b"")
        .await;
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    for request in listed["requests"].as_array().unwrap() {
        assert_eq!(request["attempts"][0]["kind"], "image", "{request}");
    }
    let usage = gateway.send_to_operator("/api/usage", &[], b"").await;
    let usage: Value = serde_json::from_slice(&usage.body).unwrap();
    assert_eq!(usage["total"]["images"], 5);
    assert_eq!(usage["total"]["unpriced"], 1);
    assert_eq!(usage["total"]["cost_nanodollars"], 120_500_000);
}

#[tokio::test]
async fn a_key_may_draw_only_with_its_models_and_within_its_budget() {
    let answer = format!(r#"{{"data":[{{"b64_json":"{DATA}"}}]}}"#);
    let keys = format!(
        "{LEDGER}[[keys]]\nname = \"artist\"\nkey = \"CANARY-of-the-client\"\nmodels = [\"up/each\"]\n\
         budget = {{ day = \"0.05 USD\" }}\n"
    );
    let (upstream, gateway) = up("openai", json(answer).times(4), &keys).await;
    let key = ("authorization", "Bearer CANARY-of-the-client");
    let ask = |model: &str, n: u32| format!(r#"{{"model":"{model}","prompt":"a","n":{n}}}"#);
    let reply = gateway
        .request(GENERATIONS, &[key], &ask("up/token", 1))
        .await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    let reply = gateway
        .request(GENERATIONS, &[key], &ask("up/each", 2))
        .await;
    assert_eq!(
        reply.status,
        429,
        "two images cost more than the day allows: {}",
        reply.text()
    );
    let reply = gateway
        .request(GENERATIONS, &[key], &ask("up/each", 1))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let reply = gateway
        .request(GENERATIONS, &[key], &ask("up/each", 1))
        .await;
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn no_secret_of_an_image_request_is_shown() {
    let body = r#"{"error":{"message":"wrong key upstream-canary for prompt-canary"}}"#;
    let script = Script::new().read_request();
    let script = script.respond(401, "application/json", body).times(4);
    let (_upstream, gateway) = up("openai", script, "").await;
    let ask = r#"{"model":"up/m","prompt":"prompt-canary","user":"user-canary"}"#;
    let reply = gateway.post(GENERATIONS, ask).await;
    assert!(
        !reply.text().contains("upstream-canary"),
        "{}",
        reply.text()
    );
    for path in ["/metrics", "/api/requests", "/api/health"] {
        let shown = gateway.send_to_operator(path, &[], b"").await;
        assert_eq!(shown.status, 200, "{path}");
        for secret in ["upstream-canary", "prompt-canary", "user-canary"] {
            assert!(!shown.text().contains(secret), "{path}: {}", shown.text());
        }
    }
}
