//! Typed embeddings along chains, and over real sockets in three dialects.

use majordomo::fake::{Fake, Step};
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Class, EmbeddingRequest, Error, ErrorKind, Provider, Registry};
use majordomo_testkit::{Script, Upstream};

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("text {number}")).collect()
}

fn scripted() -> (Fake, Registry) {
    let fake = Fake::new("fp");
    let registry = Registry::empty();
    registry.register(fake.clone());
    (fake, registry)
}

fn provider(kind: ProviderKind, upstream: &Upstream, path: &str) -> impl Provider + 'static {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("up", transport).key(Some("canary".to_owned().into()));
    let url = format!("http://{}{path}", upstream.address());
    kind.provider(settings.base_url(url))
        .expect("a valid address")
}

fn json(body: &str) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", body.to_owned())
}

#[tokio::test]
async fn many_texts_are_embedded_in_batches_and_in_order() {
    let (fake, registry) = scripted();
    let model = registry.model("fp/a").unwrap();
    let all = model.embed(texts(40)).await.unwrap();
    assert_eq!(
        (all.vectors.len(), all.dimension(), fake.call_count("a")),
        (40, 8, 3)
    );
    assert_eq!((all.usage.input, &*all.model), (40, "fp/a"));
    for (number, vector) in all.vectors.iter().enumerate() {
        let alone = model.embed(format!("text {number}")).await.unwrap();
        assert_eq!(alone.vectors, std::slice::from_ref(vector), "{number}");
    }
    let small = EmbeddingRequest::new(texts(5)).max_batch(2).dimensions(3);
    let small = model.embed(small).await.unwrap();
    assert_eq!((small.vectors.len(), small.dimension()), (5, 3));
}

#[tokio::test]
async fn a_failed_batch_is_retried_alone() {
    let (fake, registry) = scripted();
    let steps = [Step::reply("ok"), Step::fail(Error::http(500, "no"))];
    fake.enqueue("a", steps);
    let all = registry
        .model("fp/a")
        .unwrap()
        .embed(texts(40))
        .await
        .unwrap();
    assert_eq!(all.vectors.len(), 40);
    // Three batches and one repetition.
    assert_eq!(fake.call_count("a"), 4);
    assert_eq!(all.attempt_log.attempts.len(), 2);
    assert_eq!(all.usage.input, 40, "a batch is counted once");
}

#[tokio::test]
async fn vectors_of_two_models_are_never_mixed() {
    let (fake, registry) = scripted();
    let down = || Step::fail(Error::http(500, "no"));
    fake.enqueue("a", [Step::reply("ok"), down(), down()]);
    let all = registry
        .model("fp/a,fp/b")
        .unwrap()
        .embed(texts(40))
        .await
        .unwrap();
    assert_eq!((&*all.model, fake.call_count("b")), ("fp/b", 3));
    let expected = registry
        .model("fp/b")
        .unwrap()
        .embed(texts(40))
        .await
        .unwrap();
    assert_eq!(all.vectors, expected.vectors);
    assert_eq!(
        all.usage.input, 40,
        "the other model's batch is not counted here"
    );
}

#[tokio::test]
async fn nothing_to_embed_and_nobody_to_embed_are_clear_errors() {
    let (fake, registry) = scripted();
    let none = registry
        .model("fp/a")
        .unwrap()
        .embed(texts(0))
        .await
        .unwrap_err();
    assert!(none.to_string().contains("no texts"), "{none}");
    assert_eq!(fake.calls().len(), 0);
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("claude", transport).key(Some("canary".to_owned().into()));
    registry.register(ProviderKind::Anthropic.provider(settings).unwrap());
    let error = registry
        .model("claude/opus")
        .unwrap()
        .embed("a")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(error.to_string().contains("it embeds no texts"), "{error}");
    let served = registry
        .model("claude/opus,fp/a")
        .unwrap()
        .embed("a")
        .await
        .unwrap();
    assert_eq!(served.model, "fp/a");
}

#[tokio::test]
async fn each_dialect_embeds_over_http() {
    let rows = [
        (
            ProviderKind::OpenAi,
            "/v1",
            r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":6}}"#,
            "POST /v1/embeddings ",
            r#"{"model":"m","input":["a","b"]}"#,
            6,
        ),
        (
            ProviderKind::LlamaSwap,
            "",
            r#"{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}"#,
            "POST /v1/embeddings ",
            r#"{"model":"m","input":["a","b"]}"#,
            0,
        ),
        (
            ProviderKind::Ollama,
            "",
            r#"{"embeddings":[[1,2],[3,4]],"prompt_eval_count":4}"#,
            "POST /api/embed ",
            r#"{"model":"m","input":["a","b"],"truncate":false}"#,
            4,
        ),
        (
            ProviderKind::Google,
            "",
            r#"{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}"#,
            "POST /v1beta/models/m:batchEmbedContents ",
            r#"{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]}},{"model":"models/m","content":{"parts":[{"text":"b"}]}}]}"#,
            0,
        ),
    ];
    for (kind, path, body, line, sent, input) in rows {
        let upstream = Upstream::start([json(body)]).await;
        let registry = Registry::empty();
        registry.register(provider(kind, &upstream, path));
        let all = registry
            .model("up/m")
            .unwrap()
            .embed(["a", "b"])
            .await
            .unwrap();
        assert_eq!(all.vectors, [[1.0, 2.0], [3.0, 4.0]], "{kind:?}");
        assert_eq!(all.usage.input, input, "{kind:?}");
        let request = &upstream.requests()[0];
        assert!(request.head.starts_with(line), "{}", request.head);
        assert_eq!(request.body, sent, "{kind:?}");
    }
}

#[tokio::test]
async fn a_response_that_lacks_a_vector_is_a_failure_of_the_target() {
    let lacking = r#"{"data":[{"index":0,"embedding":[1,2]}]}"#;
    let upstream = Upstream::start([json(lacking).times(3)]).await;
    let registry = Registry::empty();
    registry.register(provider(ProviderKind::OpenAi, &upstream, "/v1"));
    registry.register(Fake::new("fp"));
    let all = registry
        .model("up/m,fp/b")
        .unwrap()
        .embed(["a", "b"])
        .await
        .unwrap();
    assert_eq!(all.model, "fp/b");
    let reason = all.attempt_log.attempts[0].to_string();
    assert!(reason.contains("1 vectors for 2 texts"), "{reason}");
    let class = match &all.attempt_log.attempts[0].outcome {
        majordomo::llm::AttemptOutcome::Failed { class, .. } => *class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class, Class::BadResponse);
}
