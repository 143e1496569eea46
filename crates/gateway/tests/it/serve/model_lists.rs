//! Model lists and base paths.

use majordomo_wire::Protocol;
use serde_json::Value;

use crate::serve::test_gateway::{Headers, TestGateway, TestResponse};

const CONFIG: &str = r#"
[aliases]
thinking = "demo/vision"
[[routes]]
model = "coder"
services = [ { spec = "demo/text" } ]
"#;

fn json(response: &TestResponse) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice(&response.body).expect("JSON")
}

#[tokio::test]
async fn models_are_listed_in_each_dialects_format() {
    let gateway = TestGateway::start(CONFIG).await;
    let anthropic = ("anthropic-version", "2023-06-01");
    let google = ("x-goog-api-key", "canary");
    let rows: [(&str, Headers<'_>, Protocol); 8] = [
        ("/v1/models", &[], Protocol::Chat),
        ("/openai/v1/models", &[], Protocol::Chat),
        ("/v1/models", &[anthropic], Protocol::Messages),
        ("/anthropic/v1/models", &[], Protocol::Messages),
        ("/v1beta/models", &[google], Protocol::Gemini),
        ("/genai/v1beta/models", &[], Protocol::Gemini),
        ("/api/tags", &[], Protocol::Ollama),
        ("/ollama/api/tags", &[], Protocol::Ollama),
    ];
    for (path, headers, dialect) in rows {
        let response = gateway.request(path, headers, "").await;
        let value = json(&response);
        let first = match dialect {
            Protocol::Chat | Protocol::Responses => {
                assert_eq!(value["object"], "list", "{path}");
                assert_eq!(value["data"][0]["object"], "model", "{path}");
                &value["data"][0]["id"]
            }
            Protocol::Messages => {
                assert_eq!(value["has_more"], false, "{path}");
                assert_eq!(value["data"][0]["type"], "model", "{path}");
                &value["data"][0]["id"]
            }
            Protocol::Gemini | Protocol::Ollama => &value["models"][0]["name"],
        };
        let expected = match dialect {
            Protocol::Gemini => "models/coder",
            _ => "coder",
        };
        assert_eq!(first, expected, "{path}: {value}");
        let models = dialect.codec().read_models(&response.body).unwrap();
        let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        for id in ["coder", "thinking", "demo/text", "demo/vision"] {
            let times = ids.iter().filter(|it| **it == id).count();
            assert_eq!(times, 1, "{path}: {id} in {ids:?}");
        }
    }
}

#[tokio::test]
async fn a_model_is_described_under_any_of_its_names() {
    let gateway = TestGateway::start(CONFIG).await;
    let anthropic: Headers<'_> = &[("anthropic-version", "2023-06-01")];
    for id in [
        "coder",
        "thinking",
        "demo/text",
        "demo%2Ftext",
        "demo/text,thinking",
    ] {
        let plain = id.replace("%2F", "/");
        let openai = gateway.request(&format!("/v1/models/{id}"), &[], "").await;
        let openai = json(&openai);
        assert_eq!(
            (&openai["id"], &openai["object"]),
            (&plain.as_str().into(), &"model".into())
        );
        let messages = gateway
            .request(&format!("/v1/models/{id}"), anthropic, "")
            .await;
        let messages = json(&messages);
        assert_eq!(
            (&messages["id"], &messages["type"]),
            (&plain.as_str().into(), &"model".into())
        );
        let gemini = json(&gateway.get(&format!("/v1beta/models/{id}")).await);
        assert_eq!(gemini["name"], format!("models/{plain}"));
        let show = format!(r#"{{"model":"{plain}"}}"#);
        let show = json(&gateway.post("/api/show", show).await);
        let able = show["capabilities"].as_array().expect("a list");
        let sees = able.contains(&"vision".into());
        assert_eq!(sees, plain == "thinking", "{plain}: {show}");
        assert!(able.contains(&"tools".into()), "{plain}: {show}");
    }
    for path in ["/v1/models/nobody", "/v1beta/models/nobody"] {
        assert_eq!(gateway.get(path).await.status, 404, "{path}");
    }
    let unknown = gateway.post("/api/show", r#"{"model":"nobody"}"#).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    let version = json(&gateway.get("/api/version").await);
    assert!(version["version"].is_string(), "{version}");
}

#[tokio::test]
async fn every_base_path_serves_its_own_dialect() {
    let gateway = TestGateway::start("").await;
    let chat =
        r#"{"model":"demo/text","stream":false,"messages":[{"role":"user","content":"hi"}]}"#;
    let messages =
        r#"{"model":"demo/text","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let responses = r#"{"model":"demo/text","input":"hi"}"#;
    let generate = r#"{"model":"demo/text","stream":false,"prompt":"hi"}"#;
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
    let rows = [
        (
            "/openai/v1/chat/completions",
            chat,
            "/choices/0/message/content",
        ),
        (
            "/openai/v1/responses",
            responses,
            "/output/0/content/0/text",
        ),
        ("/anthropic/v1/messages", messages, "/content/0/text"),
        (
            "/genai/v1beta/models/demo/text:generateContent",
            gemini,
            "/candidates/0/content/parts/0/text",
        ),
        ("/ollama/api/chat", chat, "/message/content"),
        ("/ollama/api/generate", generate, "/response"),
    ];
    for (path, body, text) in rows {
        let value = json(&gateway.post(path, body).await);
        let text = value.pointer(text).and_then(Value::as_str);
        assert!(text.is_some_and(|text| !text.is_empty()), "{path}: {value}");
    }
}

#[tokio::test]
async fn probes_are_served_and_unknown_paths_fail_in_their_dialect() {
    let gateway = TestGateway::start("").await;
    for path in ["/", "/healthz", "/readyz", "/ollama", "/anthropic/"] {
        assert_eq!(gateway.get(path).await.status, 200, "{path}");
    }
    let head = http::Request::head("/").header("host", "localhost");
    let head = gateway.send(head.body(Default::default()).unwrap()).await;
    assert_eq!((head.status.as_u16(), head.text()), (200, ""));
    let wrong = gateway.get("/v1/messages").await;
    assert_eq!(
        (wrong.status.as_u16(), wrong.header("allow")),
        (405, Some("POST"))
    );
    for (path, word) in [
        ("/api/nothing", r#"{"error":""#),
        ("/v1beta/nothing", "NOT_FOUND"),
        ("/v1/nothing", "invalid_request_error"),
        ("/anthropic/v1/nothing", "not_found_error"),
    ] {
        let response = gateway.get(path).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(
            response.text().contains(word),
            "{path}: {}",
            response.text()
        );
    }
}
