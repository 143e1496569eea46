//! The built-in providers over real sockets, each in its own dialect.

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo::fake::Fake;
use majordomo::llm::{AttemptOutcome, RemoteImage, Timer};
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{
    Class, Error, ErrorKind, Model, ModelExt, Part, Provider, Registry, Request, Result,
};
use majordomo_testkit::{Authority, Script, Upstream};
use tokio::time::Instant;

fn transport() -> Transport {
    Transport::new(TransportConfig::default().proxies(Proxies::Direct))
}

fn json(body: &str) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", body.to_owned())
}

fn stream(content_type: &str, body: &str) -> Script {
    Script::new()
        .read_request()
        .respond(200, content_type, body.to_owned())
}

/// A registry with only these variables.
fn registry(variables: &[(&str, String)], transport: Transport) -> Registry {
    let variables: BTreeMap<String, String> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Registry::builder()
        .environment(variables)
        .transport(transport)
        .builtins()
        .build()
}

/// The request and response of one dialect.
struct Row {
    kind: ProviderKind,
    path: &'static str,
    key: (&'static str, &'static str),
    whole: &'static str,
    content_type: &'static str,
    stream_path: &'static str,
    streamed: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        kind: ProviderKind::OpenAi,
        path: "/chat/completions",
        key: ("authorization", "Bearer canary"),
        whole: r#"{"id":"c1","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#,
        content_type: "text/event-stream",
        stream_path: "/chat/completions",
        streamed: "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"hello\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    },
    Row {
        kind: ProviderKind::OpenAiResponses,
        path: "/responses",
        key: ("authorization", "Bearer canary"),
        whole: r#"{"id":"r1","object":"response","status":"completed","model":"m-1","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}"#,
        content_type: "text/event-stream",
        stream_path: "/responses",
        streamed: "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"model\":\"m-1\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[]}}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"item_id\":\"msg_1\",\"delta\":\"hello\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hello\"}]}],\"usage\":{\"input_tokens\":3,\"output_tokens\":2,\"total_tokens\":5}}}\n\n",
    },
    Row {
        kind: ProviderKind::Anthropic,
        path: "/v1/messages",
        key: ("x-api-key", "canary"),
        whole: r#"{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#,
        content_type: "text/event-stream",
        stream_path: "/v1/messages",
        streamed: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m-1\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    },
    Row {
        kind: ProviderKind::Google,
        path: "/v1beta/models/m-1:generateContent",
        key: ("x-goog-api-key", "canary"),
        whole: r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"m-1"}"#,
        content_type: "text/event-stream",
        stream_path: "/v1beta/models/m-1:streamGenerateContent?alt=sse",
        streamed: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hello\"}]}}],\"modelVersion\":\"m-1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2}}\r\n\r\n",
    },
    Row {
        kind: ProviderKind::OllamaCloud,
        path: "/api/chat",
        key: ("authorization", "Bearer canary"),
        whole: r#"{"model":"m-1","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
        content_type: "application/x-ndjson",
        stream_path: "/api/chat",
        streamed: "{\"model\":\"m-1\",\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"done\":false}\n{\"model\":\"m-1\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":2}\n",
    },
];

async fn model(row: &Row, scripts: Vec<Script>) -> (Upstream, std::sync::Arc<dyn Model>) {
    let upstream = Upstream::start(scripts).await;
    let settings = Settings::new("here", transport())
        .base_url(format!("http://{}", upstream.address()))
        .key(Some("canary".to_owned().into()))
        .discovery(false);
    let provider = row.kind.provider(settings).expect("a base URL");
    let model = provider.model("m-1").expect("any id will do");
    (upstream, model)
}

#[tokio::test]
async fn an_image_by_url_is_never_dropped_and_the_chain_advances_to_a_target_that_takes_it()
-> Result<()> {
    let upstream = Upstream::start(vec![json(r#"{"message":{"content":"blind"},"done":true}"#)]);
    let upstream = upstream.await;
    let settings = Settings::new("local", transport())
        .base_url(format!("http://{}", upstream.address()))
        .discovery(false);
    let ollama = ProviderKind::Ollama.provider(settings);
    let tail = Fake::new("tail");
    let registry = Registry::empty();
    registry.register(ollama.expect("a base URL"));
    registry.register(tail.clone());
    let image = Part::RemoteImage(RemoteImage {
        url: "https://pictures.example/1.png".into(),
        native: None,
    });
    let request = Request::user("what is this?").part(image);
    let reply = registry.model("local/m,tail/m")?.generate(request).await?;
    assert_eq!(reply.model, "tail/m");
    assert!(
        upstream.requests().is_empty(),
        "nothing goes out without it"
    );
    assert_eq!(tail.calls()[0].request.prompt().image_count(), 1);
    let skipped = &reply.attempt_log.attempts[0];
    let class = match &skipped.outcome {
        AttemptOutcome::Failed { class, .. } => Some(*class),
        AttemptOutcome::Skipped { class, .. } => *class,
        AttemptOutcome::Served => None,
    };
    assert_eq!(class, Some(Class::Unsupported), "{skipped:?}");
    Ok(())
}

#[tokio::test]
async fn every_provider_responds_in_its_own_dialect() -> Result<()> {
    for row in ROWS {
        let (upstream, model) = model(row, vec![json(row.whole)]).await;
        let reply = model.generate(Request::user("hi")).await?;
        let name = row.kind.as_str();
        assert_eq!(reply.text(), "hello", "{name}");
        assert_eq!(reply.model, "here/m-1", "{name}");
        assert_eq!((reply.usage.input, reply.usage.output), (3, 2), "{name}");
        let requests = &upstream.requests()[0];
        assert!(
            requests.head.starts_with(&format!("POST {} ", row.path)),
            "{}",
            requests.head
        );
        assert_eq!(requests.header(row.key.0), Some(row.key.1), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn every_provider_streams_in_its_own_dialect() -> Result<()> {
    for row in ROWS {
        let script = stream(row.content_type, row.streamed);
        let (upstream, model) = model(row, vec![script]).await;
        let reply = model.stream(Request::user("hi")).await?.finish().await?;
        let name = row.kind.as_str();
        assert_eq!(reply.text(), "hello", "{name}");
        assert_eq!((reply.usage.input, reply.usage.output), (3, 2), "{name}");
        let requests = &upstream.requests()[0];
        let line = format!("POST {} ", row.stream_path);
        assert!(requests.head.starts_with(&line), "{}", requests.head);
    }
    Ok(())
}

#[tokio::test]
async fn a_truncated_stream_is_an_error_in_every_dialect() {
    for row in ROWS {
        let half = &row.streamed[..row.streamed.rfind("hello").unwrap() + 60];
        let script = stream(row.content_type, half);
        let (_upstream, model) = model(row, vec![script]).await;
        let stream = model.stream(Request::user("hi")).await.unwrap();
        let error = stream.finish().await.unwrap_err();
        assert_eq!(
            error.class(),
            Class::BadResponse,
            "{}: {error}",
            row.kind.as_str()
        );
    }
}

#[tokio::test]
async fn a_foreman_from_the_environment_is_called_over_tls() -> Result<()> {
    let authority = Authority::new();
    let script = Script::new()
        .start_tls(&authority.issue("localhost"))
        .read_request()
        .respond(200, "application/json", ROWS[4].whole);
    let upstream = Upstream::start([script]).await;
    let config = TransportConfig::default()
        .proxies(Proxies::Direct)
        .trust(authority.root());
    let dsn = format!(
        "foreman://canary-token@localhost:{}",
        upstream.address().port()
    );
    let registry = registry(&[("LLM_M1", dsn)], Transport::new(config));

    let chain = registry.model("m1/m-1")?;
    let reply = chain.stream(Request::user("hi")).await?.finish().await?;
    assert_eq!(reply.text(), "hello", "one buffered object is a stream");
    assert_eq!(reply.model, "m1/m-1");
    let requests = &upstream.requests()[0];
    assert!(
        requests.head.starts_with("POST /api/chat "),
        "{}",
        requests.head
    );
    assert_eq!(
        requests.header("authorization"),
        Some("Bearer canary-token")
    );
    Ok(())
}

#[tokio::test]
async fn a_dead_head_fails_over_to_the_next_server() -> Result<()> {
    let busy = || {
        Script::new()
            .read_request()
            .respond(503, "application/json", "{}")
    };
    let dead = Upstream::start([busy(), busy()]).await;
    let live = Upstream::start([json(ROWS[0].whole)]).await;
    let dsn = |upstream: &Upstream| format!("openai+http://canary@{}", upstream.address());
    let registry = registry(
        &[("LLM_DEAD", dsn(&dead)), ("LLM_LIVE", dsn(&live))],
        transport(),
    );
    let reply = registry
        .model("dead/a,live/b")?
        .generate(Request::user("hi"))
        .await?;
    assert_eq!(reply.model, "live/b");
    assert_eq!(dead.requests().len(), 2, "one retry");
    Ok(())
}

#[tokio::test]
async fn a_missing_key_names_the_variable_to_set_and_the_chain_advances() -> Result<()> {
    let live = Upstream::start([json(ROWS[0].whole)]).await;
    let dsn = format!("openai+http://canary@{}", live.address());
    let registry = registry(&[("LLM_LIVE", dsn)], transport());
    let reply = registry
        .model("google/gemini-3.8-flash,live/b")?
        .generate(Request::user("hi"))
        .await?;
    assert_eq!(reply.model, "live/b");
    let first = &reply.attempt_log.attempts[0];
    assert!(
        matches!(&first.outcome, AttemptOutcome::Failed { class: Class::Auth, reason, .. }
            if reason.contains("set GOOGLE_API_KEY or GEMINI_API_KEY")),
        "{first}"
    );
    Ok(())
}

#[tokio::test]
async fn a_self_hosted_server_without_a_token_is_called_without_a_key() -> Result<()> {
    for row in ROWS {
        let live = Upstream::start([json(row.whole)]).await;
        let dsn = format!("{}+http://{}", row.kind.as_str(), live.address());
        let registry = registry(&[("LLM_LIVE", dsn)], transport());
        registry.provider("live")?.ready()?;
        let chain = registry.model("live/m-1")?;
        assert_eq!(chain.generate(Request::user("hi")).await?.text(), "hello");
        let requests = live.requests();
        let call = requests.iter().find(|it| it.head.starts_with("POST"));
        let call = call.expect("it was called");
        for header in ["authorization", "x-api-key", "x-goog-api-key"] {
            assert_eq!(call.header(header), None, "{}", row.kind.as_str());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_server_with_only_max_tokens_can_be_declared_as_legacy() -> Result<()> {
    for (options, field) in [
        ("", "\"max_completion_tokens\":9"),
        ("?legacy=true", "\"max_tokens\":9"),
    ] {
        let live = Upstream::start([json(ROWS[0].whole)]).await;
        let dsn = format!("openai+http://{}{options}", live.address());
        let registry = registry(&[("LLM_LIVE", dsn)], transport());
        let limited = Request::user("hi").max_tokens(9);
        registry.model("live/m-1")?.generate(limited).await?;
        let body = String::from_utf8_lossy(&live.requests()[0].body).into_owned();
        assert!(body.contains(field), "{body}");
    }
    Ok(())
}

#[tokio::test]
async fn the_anthropic_api_version_is_selectable() -> Result<()> {
    let row = &ROWS[2];
    assert_eq!(row.kind, ProviderKind::Anthropic);
    for (options, version) in [("", "2023-06-01"), ("?version=2026-10-21", "2026-10-21")] {
        let live = Upstream::start([json(row.whole)]).await;
        let dsn = format!("anthropic+http://canary@{}{options}", live.address());
        let registry = registry(&[("LLM_LIVE", dsn)], transport());
        let chain = registry.model("live/m-1")?;
        let sampled = Request::user("hi").temperature(0.5).max_tokens(5);
        let reply = chain.generate(sampled).await?;
        let requests = live.requests();
        let call = requests.iter().find(|it| it.head.starts_with("POST"));
        let call = call.expect("it was called");
        assert_eq!(call.header("anthropic-version"), Some(version));
        let sent = String::from_utf8_lossy(&call.body).contains("temperature");
        assert_eq!(sent, version == "2023-06-01", "{version}");
        assert_eq!(reply.attempt_log.changes().is_empty(), sent, "{version}");
    }
    Ok(())
}

#[tokio::test]
async fn what_a_dialect_cannot_express_is_in_the_attempt_log() -> Result<()> {
    let live = Upstream::start([json(ROWS[0].whole)]).await;
    let dsn = format!("openai+http://canary@{}", live.address());
    let registry = registry(&[("LLM_LIVE", dsn)], transport());
    let mut request = Request::user("hi");
    request.edit().top_k = Some(5);
    let reply = registry.model("live/b")?.generate(request).await?;
    let changes: Vec<String> = reply
        .attempt_log
        .changes()
        .iter()
        .map(|c| c.to_string())
        .collect();
    assert_eq!(changes, ["top_k dropped"]);
    Ok(())
}

#[tokio::test]
async fn providers_without_an_address_name_the_variable_to_set() {
    let registry = registry(&[], transport());
    for name in ["foreman/x", "llama-swap/x"] {
        let chain = registry.model(name).unwrap();
        let error: Error = chain.generate(Request::user("hi")).await.unwrap_err();
        assert!(error.to_string().contains("LLM_<NAME>"), "{error}");
    }
}

#[tokio::test]
async fn a_provider_is_ready_with_a_key_and_an_address() {
    let keys = [("GROQ_API_KEY", "canary".to_owned())];
    let registry = registry(&keys, transport());
    let ready = |name: &str| -> Result<(), ErrorKind> {
        let provider = registry.provider(name).expect("a built-in");
        provider.ready().map_err(|error| error.kind())
    };
    assert_eq!(ready("groq"), Ok(()));
    assert_eq!(ready("ollama"), Ok(()), "no key is needed");
    assert_eq!(ready("openai"), Err(ErrorKind::MissingKey));
    assert_eq!(ready("foreman"), Err(ErrorKind::Spec), "it has no address");
}

#[tokio::test]
async fn models_are_listed_in_every_dialect() -> Result<()> {
    let lists = [
        r#"{"object":"list","data":[{"id":"m-1","object":"model"}]}"#,
        r#"{"object":"list","data":[{"id":"m-1","object":"model"}]}"#,
        r#"{"data":[{"type":"model","id":"m-1","display_name":"M"}],"has_more":false}"#,
        r#"{"models":[{"name":"models/m-1","inputTokenLimit":1000}]}"#,
        r#"{"models":[{"name":"m-1","model":"m-1"}]}"#,
    ];
    for (row, list) in ROWS.iter().zip(lists) {
        let upstream = Upstream::start([json(list)]).await;
        let settings = Settings::new("here", transport())
            .base_url(format!("http://{}", upstream.address()))
            .key(Some("canary".to_owned().into()));
        let models = row.kind.provider(settings)?.models().await?;
        assert_eq!(models[0].id, "m-1", "{}", row.kind.as_str());
    }
    Ok(())
}

#[test]
fn an_invalid_base_url_is_rejected_with_a_reason() {
    for (url, why) in [
        ("not a url", "is not a URL"),
        ("ftp://host", "http:// or https://"),
        ("https://host/v1?key=x", "must not have a query"),
        ("https://user:canary@host", "must not hold a user"),
    ] {
        let settings = Settings::new("x", transport()).base_url(url);
        let error = ProviderKind::OpenAi.provider(settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spec);
        assert!(error.to_string().contains(why), "{error}");
        assert!(!error.to_string().contains("canary"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_may_set_the_timeouts_of_its_attempts() {
    for (timer, streams) in [
        (Timer::Total, false),
        (Timer::FirstByte, true),
        (Timer::FirstEvent, true),
    ] {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let settings = Settings::new("p", transport()).base_url(upstream.uri("").to_string());
        let provider = ProviderKind::OpenAi
            .provider(settings.discovery(false))
            .unwrap();
        let model = provider.model("m").unwrap();
        let request = Request::user("hi").timer(timer, Duration::from_millis(300));
        let began = Instant::now();
        let error = match streams {
            true => model.events(request).await.err(),
            false => model.generate(request).await.err(),
        };
        assert_eq!(
            error.map(|error| error.kind()),
            Some(ErrorKind::Timeout(timer))
        );
        // Virtual time: the provider's own timeouts are a minute and more.
        assert!(began.elapsed() < Duration::from_secs(1), "{timer}");
    }
}
