//! What servers tell about their models, and that nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Capabilities, Effort, ErrorKind, Model, Part, Provider, Request, Result};
use majordomo_providers::transport::{Config, Proxies, Transport};
use majordomo_providers::{ProviderKind, Settings};
use majordomo_testkit::{Script, Upstream};

const ANSWER: &str = r#"{"model":"m","message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop"}"#;
const BLIND: &str = r#"{"capabilities":["completion","thinking"],"thinking":{"values":[true,false]},"model_info":{"general.architecture":"q","q.context_length":6000}}"#;
const SOON: Duration = Duration::from_secs(5);

fn settings(upstream: &Upstream) -> Settings {
    let transport = Transport::new(Config::default().proxies(Proxies::Direct));
    Settings::new("box", transport).base_url(format!("http://{}", upstream.address()))
}

fn json(body: &'static str) -> Script {
    Script::new()
        .read_request()
        .answer(200, "application/json", body)
}

fn ollama(settings: Settings) -> Result<Arc<dyn Model>> {
    ProviderKind::Ollama.provider(settings)?.model("m")
}

/// Waits until the server's word has arrived.
async fn told(model: &dyn Model) {
    let waiting = async {
        while model.capabilities().context_window.is_none() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(SOON, waiting).await;
    waited.expect("the answer arrives");
}

#[tokio::test]
async fn what_the_server_tells_reaches_capabilities_and_the_next_request() -> Result<()> {
    // The chat comes first on its connection, the question on one of its own.
    let chat = json(ANSWER).times(2);
    let upstream = Upstream::start([chat, json(BLIND)]).await;
    let model = ollama(settings(&upstream))?;
    assert!(model.capabilities().takes_images());
    model.generate(Request::user("hi")).await?;
    told(&*model).await;
    let can = model.capabilities();
    assert!(!can.takes_images() && !can.tools);
    assert_eq!(can.context_window, Some(6_000));

    model
        .generate(Request::user("hi").effort(Effort::High))
        .await?;
    let requests = upstream.requests();
    let last = requests
        .iter()
        .rfind(|r| r.head.starts_with("POST /api/chat"));
    let body = String::from_utf8_lossy(&last.unwrap().body).into_owned();
    assert!(
        body.contains(r#""think":true"#),
        "a switch, no level: {body}"
    );
    assert!(body.contains(r#""num_ctx":6000"#), "{body}");
    assert!(body.contains(r#""truncate":false"#), "{body}");

    let image = Request::user(Part::image("image/png", vec![0]));
    let error = model.generate(image).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Ok(())
}

#[tokio::test]
async fn an_answer_does_not_wait_for_a_server_that_does_not_tell() -> Result<()> {
    let silent = Script::new().read_request().stall();
    let upstream = Upstream::start([json(ANSWER), silent]).await;
    let model = ollama(settings(&upstream))?;
    let asked = model.generate(Request::user("hi"));
    let reply = tokio::time::timeout(SOON, asked)
        .await
        .expect("no waiting")?;
    assert_eq!(reply.text(), "hello");
    upstream.asked(2, SOON).await;
    drop(model);
    // The question ends with its owner.
    upstream.closed(1, SOON).await;
    Ok(())
}

#[tokio::test]
async fn an_image_on_its_way_to_a_blind_model_is_refused_when_that_is_told() -> Result<()> {
    let slow = Script::new().read_request().stall();
    let upstream = Upstream::start([slow, json(BLIND)]).await;
    let model = ollama(settings(&upstream))?;
    let image = Request::user(Part::image("image/png", vec![0]));
    let asked = model.generate(image);
    let error = tokio::time::timeout(SOON, asked).await.expect("refused");
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("takes no images"), "{error}");
    upstream.closed(0, SOON).await;
    Ok(())
}

#[tokio::test]
async fn what_the_settings_say_is_never_questioned() -> Result<()> {
    let upstream = Upstream::start([json(ANSWER)]).await;
    let explicit = Capabilities {
        context_window: Some(9_000),
        ..Capabilities::default()
    };
    let model = ollama(settings(&upstream).model("m", explicit.clone()))?;
    model.generate(Request::user("hi")).await?;
    assert_eq!(*model.capabilities(), explicit);
    assert_eq!(upstream.requests().len(), 1);
    Ok(())
}

#[tokio::test]
async fn models_of_one_provider_share_what_was_told() -> Result<()> {
    let upstream = Upstream::start([json(ANSWER).times(2), json(BLIND)]).await;
    let provider = ProviderKind::Ollama.provider(settings(&upstream))?;
    let first = provider.model("m")?;
    first.generate(Request::user("hi")).await?;
    told(&*first).await;
    let second = provider.model("m")?;
    assert_eq!(second.capabilities(), first.capabilities());
    second.generate(Request::user("hi")).await?;
    let questions = upstream.requests();
    let questions = questions.iter().filter(|r| r.head.contains("/api/show"));
    assert_eq!(questions.count(), 1);
    Ok(())
}
