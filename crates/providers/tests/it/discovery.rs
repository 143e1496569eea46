//! Discovery of capabilities, concurrent with requests.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Capabilities, Effort, ErrorKind, Model, Part, Provider, Request, Result};
use majordomo_providers::transport::{Proxies, Transport, TransportConfig};
use majordomo_providers::{ProviderKind, Settings};
use majordomo_testkit::{Script, Upstream};

const RESPONSE: &str = r#"{"model":"m","message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop"}"#;
const WITHOUT_VISION: &str = r#"{"capabilities":["completion","thinking"],"thinking":{"values":[true,false]},"model_info":{"general.architecture":"q","q.context_length":6000}}"#;
const SOON: Duration = Duration::from_secs(5);

fn settings(upstream: &Upstream) -> Settings {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    Settings::new("box", transport).base_url(format!("http://{}", upstream.address()))
}

fn json(body: &'static str) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", body)
}

fn ollama(settings: Settings) -> Result<Arc<dyn Model>> {
    ProviderKind::Ollama.provider(settings)?.model("m")
}

/// Waits until discovery has completed.
async fn discovered(model: &dyn Model) {
    let waiting = async {
        while model.capabilities().context_window.is_none() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(SOON, waiting).await;
    waited.expect("discovery completes");
}

#[tokio::test]
async fn discovered_capabilities_apply_from_the_next_request() -> Result<()> {
    // The chat request uses the first connection, discovery the second.
    let chat = json(RESPONSE).times(2);
    let upstream = Upstream::start([chat, json(WITHOUT_VISION)]).await;
    let model = ollama(settings(&upstream))?;
    assert!(model.capabilities().takes_images());
    model.generate(Request::user("hi")).await?;
    discovered(&*model).await;
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
async fn a_response_does_not_wait_for_a_stalled_discovery() -> Result<()> {
    let silent = Script::new().read_request().stall();
    let upstream = Upstream::start([json(RESPONSE), silent]).await;
    let model = ollama(settings(&upstream))?;
    let call = model.generate(Request::user("hi"));
    let reply = tokio::time::timeout(SOON, call)
        .await
        .expect("the call does not wait")?;
    assert_eq!(reply.text(), "hello");
    upstream.wait_for_requests(2, SOON).await;
    drop(model);
    // Dropping the last owner aborts discovery.
    upstream.closed(1, SOON).await;
    Ok(())
}

#[tokio::test]
async fn a_request_with_images_in_flight_is_aborted_when_discovery_finds_no_vision() -> Result<()> {
    let slow = Script::new().read_request().stall();
    let upstream = Upstream::start([slow, json(WITHOUT_VISION)]).await;
    let model = ollama(settings(&upstream))?;
    let image = Request::user(Part::image("image/png", vec![0]));
    let call = model.generate(image);
    let error = tokio::time::timeout(SOON, call)
        .await
        .expect("the call is aborted");
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("takes no images"), "{error}");
    upstream.closed(0, SOON).await;
    Ok(())
}

#[tokio::test]
async fn configured_capabilities_disable_discovery() -> Result<()> {
    let upstream = Upstream::start([json(RESPONSE)]).await;
    let explicit = Capabilities::default().with_context_window(Some(9_000));
    let model = ollama(settings(&upstream).model("m", explicit.clone()))?;
    model.generate(Request::user("hi")).await?;
    assert_eq!(*model.capabilities(), explicit);
    assert_eq!(upstream.requests().len(), 1);
    Ok(())
}

#[tokio::test]
async fn instances_of_one_model_share_discovered_capabilities() -> Result<()> {
    let upstream = Upstream::start([json(RESPONSE).times(2), json(WITHOUT_VISION)]).await;
    let provider = ProviderKind::Ollama.provider(settings(&upstream))?;
    let first = provider.model("m")?;
    first.generate(Request::user("hi")).await?;
    discovered(&*first).await;
    let second = provider.model("m")?;
    assert_eq!(second.capabilities(), first.capabilities());
    second.generate(Request::user("hi")).await?;
    let discoveries = upstream.requests();
    let discoveries = discoveries.iter().filter(|r| r.head.contains("/api/show"));
    assert_eq!(discoveries.count(), 1);
    Ok(())
}
