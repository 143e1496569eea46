//! A real server: llama.cpp with a small model, in every dialect that it serves.
//!
//! The address (`host:port`) comes from `MAJORDOMO_LLAMACPP`; `./test` starts the
//! server and sets it. Without it these tests do nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo::agent::{ObjectItem, TypedOutput};
use majordomo::llm::AttemptOutcome;
use majordomo::providers::Settings;
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Chain, Class, ErrorKind, FinishReason, Part, Registry, Request, StreamItem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

const VARIABLE: &str = "MAJORDOMO_LLAMACPP";
const MODEL: &str = "smollm2";

/// The provider of each dialect that llama.cpp serves, by its name in specs.
const DIALECTS: [&str; 4] = ["chat", "responses", "messages", "swap"];

/// The server's address, if there is one.
fn address() -> Option<String> {
    majordomo_testkit::started(VARIABLE)
}

/// A registry with the server in all its dialects, by DSN, and two that cannot serve: `dead`
/// is unreachable, and the server does not speak `ollama`.
fn registry(address: &str) -> Registry {
    let variables = [
        ("LLM_CHAT", format!("openai+http://{address}/v1")),
        (
            "LLM_RESPONSES",
            format!("openai-responses+http://{address}/v1"),
        ),
        ("LLM_MESSAGES", format!("anthropic+http://{address}")),
        ("LLM_SWAP", format!("llama-swap+http://{address}")),
        ("LLM_OLLAMA", format!("ollama+http://{address}")),
        ("LLM_DEAD", "openai+http://127.0.0.1:9/v1".to_owned()),
    ];
    let variables: BTreeMap<String, String> = variables
        .into_iter()
        .map(|(name, dsn)| (name.to_owned(), dsn.replace("http://", "http://canary@")))
        .collect();
    Registry::builder()
        .environment(variables)
        .transport(Transport::new(
            TransportConfig::default().proxies(Proxies::Direct),
        ))
        .builtins()
        .build()
}

fn chain(registry: &Registry, provider: &str) -> Chain {
    let spec = format!("{provider}/{MODEL}");
    registry.model(&spec).expect("the spec of a test")
}

/// A short prompt; the model is small, so its text does not matter.
fn question() -> Request {
    Request::user("Say hello.").max_tokens(8).temperature(0.0)
}

#[tokio::test]
async fn it_responds_in_every_dialect() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    for provider in DIALECTS {
        let reply = chain(&registry, provider).generate(question()).await;
        let reply = reply.unwrap_or_else(|error| panic!("{provider}: {error}"));
        assert!(!reply.text().is_empty(), "{provider}");
        assert_eq!(reply.model, format!("{provider}/{MODEL}"));
        assert!(reply.usage.output > 0, "{provider}: {:?}", reply.usage);
        assert_eq!(reply.attempt_log.calls(), 1, "{provider}");
    }
}

#[tokio::test]
async fn it_streams_in_every_dialect_and_the_deltas_add_up() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    for provider in DIALECTS {
        let stream = chain(&registry, provider).stream(question()).await;
        let mut stream = stream.unwrap_or_else(|error| panic!("{provider}: {error}"));
        let (mut text, mut pieces, mut last) = (String::new(), 0, None);
        while let Some(item) = stream.next().await {
            match item.unwrap_or_else(|error| panic!("{provider}: {error}")) {
                StreamItem::Text(piece) => {
                    text.push_str(&piece);
                    pieces += 1;
                }
                StreamItem::Response(response) => last = Some(response),
                other => panic!("{provider}: {other:?}"),
            }
        }
        let last = last.expect("a stream ends with its response");
        assert_eq!(last.text(), text, "{provider}");
        assert!(pieces > 1, "{provider}: it came in pieces");
        assert!(last.usage.output > 0, "{provider}: {:?}", last.usage);
    }
}

#[tokio::test]
async fn it_reports_a_response_cut_at_max_tokens() {
    let Some(address) = address() else { return };
    let request = Request::user("Count from one to one hundred.");
    let request = request.max_tokens(3).temperature(0.0);
    let registry = registry(&address);
    for provider in ["chat", "messages"] {
        let reply = chain(&registry, provider).generate(request.clone()).await;
        assert_eq!(reply.unwrap().finish, FinishReason::Length, "{provider}");
    }
}

/// The requested type; the form of the response matters, not its text.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Letter {
    mood: Mood,
    sender: Person,
    receivers: Vec<Person>,
    /// Only if the letter has one.
    postscript: Option<bool>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mood {
    Happy,
    Sad,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Person {
    /// The first name.
    name: Name,
    /// In years.
    #[schemars(range(max = 120))]
    age: u8,
}

/// An enum, because a small model does not always end free text.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Name {
    Ada,
    Grace,
    Alan,
}

fn letter() -> Request {
    let text = "Ada, who is 36 years old, writes a happy letter to Alan, who is 41 years old.";
    Request::user(text).max_tokens(200).temperature(0.0)
}

#[tokio::test]
async fn its_response_conforms_to_a_schema_of_objects_lists_and_enums() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    // The two dialects in which it enforces a schema.
    for provider in ["chat", "swap"] {
        let output = TypedOutput::<Letter>::new().unwrap();
        let raw_response = output.generate(&chain(&registry, provider), letter()).await;
        let raw_response = raw_response.unwrap_or_else(|error| panic!("{provider}: {error}"));
        let text = raw_response.response.text();
        assert_eq!(
            raw_response.response.attempt_log.calls(),
            1,
            "at once: {text}"
        );
        // The schema's order is kept, and its optional field is present.
        let keys: Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<&String> = keys.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["mood", "sender", "receivers", "postscript"]);
    }
}

#[tokio::test]
async fn a_list_is_requested_inside_an_object() {
    let Some(address) = address() else { return };
    let chain = chain(&registry(&address), "chat");
    let request = Request::user("Is water wet? Is fire cold? Answer both.");
    let request = request.max_tokens(100).temperature(0.0);
    let output = TypedOutput::<Vec<bool>>::new().unwrap();
    let raw_response = output.generate(&chain, request).await.unwrap();
    let text = raw_response.response.text();
    assert!(text.trim_start().starts_with('{'), "{text}");
    assert_eq!(
        raw_response.response.attempt_log.calls(),
        1,
        "at once: {text}"
    );
}

#[tokio::test]
async fn a_typed_response_is_streamed_as_it_grows() {
    let Some(address) = address() else { return };
    let chain = chain(&registry(&address), "chat");
    let mut stream = chain.stream_as::<Letter>(letter()).await.unwrap();
    let mut shown = Vec::new();
    let raw_response = loop {
        match stream.next().await.unwrap().unwrap() {
            ObjectItem::Partial(value) => shown.push(value),
            ObjectItem::Done(raw_response) => break raw_response,
        }
    };
    assert!(shown.len() > 2, "it was streamed: {shown:?}");
    let fields = |value: &Value| value.as_object().map_or(0, |object| object.len());
    assert!(
        shown.is_sorted_by_key(fields),
        "it never shrinks: {shown:?}"
    );
    let last: Letter = serde_json::from_value(shown.pop().unwrap()).unwrap();
    assert_eq!(
        last, raw_response.value,
        "the last partial value is the final one"
    );
}

/// A red dot.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T',
    0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I',
    b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

#[tokio::test]
async fn an_unsupported_image_is_refused_and_never_dropped() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    let request = || question().part(Part::image("image/png", PNG));
    for provider in ["chat", "messages"] {
        let error = chain(&registry, provider).generate(request()).await;
        let error = error.expect_err("it takes no images");
        assert_eq!(error.kind(), ErrorKind::Exhausted, "{provider}: {error}");
        let class = match &error.attempt_log().attempts[0].outcome {
            AttemptOutcome::Failed { class, .. } => *class,
            other => panic!("{provider}: {other:?}"),
        };
        assert_eq!(class, Class::Unsupported, "{provider}: {error}");
        assert_eq!(
            error.attempt_log().calls(),
            1,
            "{provider}: it is called once"
        );
    }
    let healthy = registry.health().snapshot();
    assert!(healthy.iter().all(|it| it.failures == 0), "{healthy:?}");
}

#[tokio::test]
async fn a_prompt_too_long_for_it_is_skipped() {
    let Some(address) = address() else { return };
    let long = Request::user("word ".repeat(6_000)).max_tokens(4);
    let error = chain(&registry(&address), "chat").generate(long).await;
    let error = error.expect_err("it does not fit");
    assert!(
        matches!(
            &error.attempt_log().attempts[0].outcome,
            AttemptOutcome::Failed {
                class: Class::ContextLength,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn its_models_are_listed() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    for provider in ["chat", "swap"] {
        let models = registry.provider(provider).unwrap().models().await.unwrap();
        let ids: Vec<&str> = models.iter().map(|model| &*model.id).collect();
        assert_eq!(ids, [MODEL], "{provider}");
    }
}

#[tokio::test]
async fn a_dead_head_fails_over_to_it() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    let chain = registry.model(&format!("dead/x,ollama/{MODEL},chat/{MODEL}"));
    let chain = chain.unwrap();
    let reply = chain.generate(question()).await.unwrap();
    assert_eq!(reply.model, format!("chat/{MODEL}"));
    let classes: Vec<Class> = reply
        .attempt_log
        .attempts
        .iter()
        .filter_map(|attempt| match attempt.outcome {
            AttemptOutcome::Failed { class, .. } => Some(class),
            _ => None,
        })
        .collect();
    assert_eq!(
        classes,
        [Class::Transient, Class::Transient, Class::ModelNotFound],
        "refused twice; then a server that does not speak Ollama"
    );
    let streamed = chain.stream(question()).await.unwrap().finish().await;
    assert_eq!(streamed.unwrap().model, format!("chat/{MODEL}"));
}

#[tokio::test]
async fn dropping_a_stream_frees_the_server_for_the_next_request() {
    let Some(address) = address() else { return };
    let registry = registry(&address);
    let chain = chain(&registry, "chat");
    let endless = Request::user("Tell a very long story.").max_tokens(2_000);
    let mut stream = chain.stream(endless).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    // The server has one slot: this waits until the story is cancelled.
    let next = chain.generate(question().timeout(Duration::from_secs(60)));
    assert!(!next.await.unwrap().text().is_empty());
}

#[tokio::test]
async fn a_built_in_name_works_with_another_address() {
    let Some(address) = address() else { return };
    let service = majordomo::providers::Compatible::ALL
        .iter()
        .find(|service| service.name == "llamacpp")
        .expect("llama.cpp has a name");
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("here", transport).base_url(format!("http://{address}/v1"));
    let registry = Registry::empty();
    registry.register(service.provider(settings).unwrap());
    let reply = chain(&registry, "here").generate(question()).await.unwrap();
    assert!(!reply.text().is_empty());
}
