//! Image generation along chains, and over real sockets in each provider's own way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo::chain::{
    AttemptEnd, AttemptGate, AttemptKind, AttemptPermit, AttemptReport, GateDecision, GatePass,
    PendingAttempt,
};
use majordomo::fake::{Fake, Step, picture};
use majordomo::llm::AttemptOutcome;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Class, Error, ErrorKind, Image, ImageRequest, Provider, Registry, Request};
use majordomo_testkit::{Script, Upstream};

const DATA: &str = "iVBORw0KGgo=";

fn provider(kind: ProviderKind, upstream: &Upstream, path: &str) -> impl Provider + 'static {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("up", transport);
    let settings = settings.key(Some("CANARY-of-the-provider".to_owned().into()));
    let url = format!("http://{}{path}", upstream.address());
    kind.provider(settings.base_url(url))
        .expect("a valid address")
}

fn json(body: impl Into<String>) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", body.into())
}

async fn registry(kind: ProviderKind, path: &str, script: Script) -> (Registry, Upstream) {
    let upstream = Upstream::start([script]).await;
    let registry = Registry::empty();
    registry.register(provider(kind, &upstream, path));
    (registry, upstream)
}

fn changes(response: &majordomo::ImageResponse) -> Vec<String> {
    let changes = response.attempt_log.changes().iter();
    changes.map(ToString::to_string).collect()
}

fn full() -> ImageRequest {
    ImageRequest::new("a pear")
        .n(2)
        .size("1024x1024".parse().expect("a size"))
        .steps(9)
        .seed(7)
}

#[tokio::test]
async fn an_image_comes_from_the_first_target_that_can_draw() {
    let fake = Fake::new("fp");
    fake.enqueue(
        "down",
        [
            Step::fail(Error::http(500, "no")),
            Step::fail(Error::http(500, "no")),
        ],
    );
    let registry = Registry::empty();
    registry.register(fake.clone());
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let chat_only = Settings::new("claude", transport).key(Some("canary".to_owned().into()));
    registry.register(ProviderKind::Anthropic.provider(chat_only).unwrap());
    registry.alias("art", "fp/down,fp/painter").unwrap();
    let chain = registry.model("claude/opus,art").unwrap();
    let drawn = chain.generate_images(full()).await.unwrap();
    assert_eq!((drawn.images.len(), &*drawn.model), (2, "fp/painter"));
    let outcomes: Vec<_> = drawn
        .attempt_log
        .attempts
        .iter()
        .map(|a| &a.outcome)
        .collect();
    assert!(
        matches!(
            outcomes[..],
            [
                AttemptOutcome::Failed {
                    class: Class::Unsupported,
                    ..
                },
                AttemptOutcome::Failed {
                    class: Class::Transient,
                    ..
                },
                AttemptOutcome::Failed {
                    class: Class::Transient,
                    ..
                },
                AttemptOutcome::Served,
            ]
        ),
        "{outcomes:?}"
    );
    // Two failures bench the target, for chats as well.
    let reply = registry
        .model("art")
        .unwrap()
        .generate(Request::user("hi"))
        .await;
    assert_eq!(
        reply.unwrap().attempt_log.attempts[0]
            .to_string()
            .split(' ')
            .nth(1),
        Some("skipped,")
    );
}

#[tokio::test]
async fn drawn_images_go_back_into_a_chat() {
    let fake = Fake::new("fp");
    let registry = Registry::empty();
    registry.register(fake.clone());
    let model = registry.model("fp/painter").unwrap();
    let drawn = model.generate_images("a pear").await.unwrap();
    let header = drawn.images[0].data.header().unwrap();
    assert_eq!((header.width, header.height), (64, 64));
    let question = drawn
        .parts()
        .fold(Request::user("What is it?"), Request::part);
    model.generate(question).await.unwrap();
    let calls = fake.calls();
    assert_eq!(calls[1].request.prompt().image_count(), 1);
}

#[tokio::test]
async fn a_chain_without_a_painter_says_so() {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("claude", transport).key(Some("canary".to_owned().into()));
    let registry = Registry::empty();
    registry.register(ProviderKind::Anthropic.provider(settings).unwrap());
    let chain = registry.model("claude/opus").unwrap();
    let error = chain.generate_images("a pear").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(
        error
            .to_string()
            .contains("claude/opus: it generates no images"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_callers_deadline_ends_a_slow_drawing() {
    let fake = Fake::new("fp");
    fake.otherwise(|_| Step::hang());
    let registry = Registry::empty();
    registry.register(fake);
    let request = ImageRequest::new("a pear").timeout(Duration::from_secs(5));
    let error = registry
        .model("fp/a")
        .unwrap()
        .generate_images(request)
        .await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Deadline);
}

#[derive(Default)]
struct Watch(
    Mutex<Vec<(AttemptKind, u64)>>,
    Arc<Mutex<Vec<AttemptReport>>>,
);

struct Settled(Arc<Mutex<Vec<AttemptReport>>>);

impl AttemptGate for Watch {
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
        self.0
            .lock()
            .expect("no panic")
            .push((attempt.kind, attempt.images));
        assert!(attempt.input_tokens() > 0);
        GateDecision::admit(GatePass::new(Settled(Arc::clone(&self.1))))
    }
}

impl AttemptPermit for Settled {
    fn settle(self: Box<Self>, report: AttemptReport) {
        self.0.lock().expect("no panic").push(report);
    }
}

#[tokio::test]
async fn the_gate_learns_how_many_images_are_asked_for_and_how_many_came() {
    let body = format!(
        r#"{{"data":[{{"b64_json":"{DATA}"}}],"usage":{{"input_tokens":9,"output_tokens":8}}}}"#
    );
    let (registry, _upstream) = registry(ProviderKind::OpenAi, "/v1", json(body)).await;
    let gate = Arc::new(Watch::default());
    let chain = registry.model("up/m").unwrap().gated_by(gate.clone());
    chain.generate_images(full()).await.unwrap();
    assert_eq!(*gate.0.lock().unwrap(), [(AttemptKind::Image, 2)]);
    let report = gate.1.lock().unwrap()[0];
    assert_eq!((report.end, report.images), (AttemptEnd::Served, 1));
    assert_eq!(report.usage().total(), 17);
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_way() {
    let openai = format!(r#"{{"data":[{{"b64_json":"{DATA}"}},{{"url":"https://i.example/1"}}]}}"#);
    let sdapi = format!(r#"{{"images":["{DATA}"],"parameters":{{}},"info":""}}"#);
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"Here."}},{{"inlineData":{{"mimeType":"image/png","data":"{DATA}"}}}}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":5,"candidatesTokenCount":1290}}}}"#
    );
    let rows = [
        (
            ProviderKind::OpenAi,
            "/v1",
            openai,
            "POST /v1/images/generations ",
            r#""seed":7,"steps":9,"response_format":"b64_json""#,
            vec![],
        ),
        (
            ProviderKind::LlamaSwap,
            "",
            sdapi,
            "POST /sdapi/v1/txt2img ",
            r#""width":1024,"height":1024,"steps":9,"seed":7,"batch_size":2"#,
            vec![],
        ),
        (
            ProviderKind::Google,
            "",
            gemini,
            "POST /v1beta/models/m:generateContent ",
            r#""responseModalities":["TEXT","IMAGE"]"#,
            vec!["steps dropped", "n adjusted", "size adjusted"],
        ),
    ];
    for (kind, path, body, line, fields, expected) in rows {
        let (registry, upstream) = registry(kind, path, json(body)).await;
        let chain = registry.model("up/m").unwrap();
        let drawn = chain.generate_images(full()).await.unwrap();
        assert_eq!(
            drawn.images,
            [Image::new("image/png", b"\x89PNG\r\n\x1A\n".to_vec())]
        );
        assert_eq!(changes(&drawn), expected, "{kind:?}");
        let request = &upstream.requests()[0];
        assert!(request.head.starts_with(line), "{}", request.head);
        let sent = String::from_utf8_lossy(&request.body);
        assert!(sent.contains(fields), "{sent}");
        // Nothing is fetched: a URL stays one.
        let remote = usize::from(kind == ProviderKind::OpenAi);
        assert_eq!(drawn.remote.len(), remote);
        assert_eq!(upstream.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_image_to_edit_is_a_file_of_a_form_or_the_start_of_a_diffusion() {
    let openai = format!(r#"{{"data":[{{"b64_json":"{DATA}"}}]}}"#);
    let sdapi = format!(r#"{{"images":["{DATA}"]}}"#);
    let request = || ImageRequest::new("greener").image(picture(1, 8, 8));
    let (openai, upstream) = registry(ProviderKind::OpenAi, "/v1", json(openai)).await;
    let chain = openai.model("up/m").unwrap();
    chain.generate_images(request()).await.unwrap();
    let sent = &upstream.requests()[0];
    assert!(
        sent.head.starts_with("POST /v1/images/edits "),
        "{}",
        sent.head
    );
    let form = sent.header("content-type").unwrap();
    assert!(form.starts_with("multipart/form-data; boundary="), "{form}");
    let body = String::from_utf8_lossy(&sent.body);
    assert!(
        body.contains("name=\"image\"; filename=\"1.png\""),
        "{body}"
    );
    let (swap, upstream) = registry(ProviderKind::LlamaSwap, "", json(sdapi)).await;
    let chain = swap.model("up/m").unwrap();
    chain.generate_images(request()).await.unwrap();
    let sent = &upstream.requests()[0];
    assert!(
        sent.head.starts_with("POST /sdapi/v1/img2img "),
        "{}",
        sent.head
    );
    assert!(
        sent.body
            .windows(13)
            .any(|window| window == b"\"init_images\"")
    );
}

#[tokio::test]
async fn a_response_without_an_image_is_a_failure_with_the_models_words() {
    let refusal =
        r#"{"candidates":[{"content":{"parts":[{"text":"Not that."}]},"finishReason":"STOP"}]}"#;
    let rows = [
        (ProviderKind::Google, "", refusal, "Not that."),
        (ProviderKind::OpenAi, "/v1", r#"{"data":[]}"#, "no image"),
        (ProviderKind::LlamaSwap, "", r#"{"images":[]}"#, "no image"),
    ];
    for (kind, path, body, expected) in rows {
        let (registry, _upstream) = registry(kind, path, json(body).times(2)).await;
        let chain = registry.model("up/m").unwrap();
        let error = chain.generate_images("a pear").await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_prompt_that_a_model_does_not_draw_harms_no_other_and_is_billed() {
    let body = |parts: &str, finish: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"{finish}"}}],"usageMetadata":{{"promptTokenCount":5,"candidatesTokenCount":3,"totalTokenCount":8}}}}"#
        )
    };
    for (body, class, calls) in [
        (
            body(r#"{"text":"Not that."}"#, "STOP"),
            Class::Unsupported,
            4,
        ),
        (body("", "IMAGE_SAFETY"), Class::Policy, 4),
    ] {
        let (registry, upstream) = registry(ProviderKind::Google, "", json(body).times(4)).await;
        let gate = Arc::new(Watch::default());
        let chain = registry.model("up/m").unwrap().gated_by(gate.clone());
        for _ in 0..4 {
            let error = chain.generate_images("a pear").await.unwrap_err();
            let attempts = &error.attempt_log().attempts;
            assert!(
                matches!(attempts[0].outcome, AttemptOutcome::Failed { class: it, .. } if it == class),
                "{attempts:?}"
            );
            assert_eq!(attempts.len(), 1, "{attempts:?}");
        }
        assert_eq!(upstream.requests().len(), calls, "never benched");
        let reports = gate.1.lock().unwrap();
        assert!(reports.iter().all(|report| report.usage().total() == 8));
    }
}

#[tokio::test]
async fn an_error_quotes_no_key() {
    let body = r#"{"error":{"message":"bad key CANARY-of-the-provider"}}"#;
    let script = Script::new()
        .read_request()
        .respond(401, "application/json", body);
    let (registry, _upstream) = registry(ProviderKind::OpenAi, "/v1", script.times(2)).await;
    let chain = registry.model("up/m").unwrap();
    let error = chain.generate_images("a pear").await.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("CANARY"),
        "{error:?}"
    );
    let error = chain.embed("a pear").await.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("CANARY"),
        "{error:?}"
    );
}
