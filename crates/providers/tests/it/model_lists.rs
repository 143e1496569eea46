//! Paginated model lists, and the loaded models of a llama-swap.

use majordomo_llm::{ErrorKind, Provider, Result};
use majordomo_providers::transport::{Proxies, Transport, TransportConfig};
use majordomo_providers::{LlamaSwap, ProviderKind, RunningModel, Settings};
use majordomo_testkit::{Script, Upstream};

fn settings(upstream: &Upstream) -> Settings {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    Settings::new("here", transport)
        .base_url(format!("http://{}", upstream.address()))
        .key(Some("canary".to_owned().into()))
}

fn pages(bodies: &[&'static str]) -> Script {
    let script = Script::new();
    bodies.iter().fold(script, |script, body| {
        script
            .read_request()
            .respond(200, "application/json", *body)
    })
}

fn paths(upstream: &Upstream) -> Vec<String> {
    let line = |head: &str| head.lines().next().unwrap_or_default().to_owned();
    upstream.requests().iter().map(|r| line(&r.head)).collect()
}

#[tokio::test]
async fn every_page_of_a_list_is_fetched() -> Result<()> {
    let rows = [
        (
            ProviderKind::Google,
            [
                r#"{"models":[{"name":"models/a"}],"nextPageToken":"t=1"}"#,
                r#"{"models":[{"name":"models/b"}]}"#,
            ],
            "GET /v1beta/models?pageSize=1000&pageToken=t%3D1 HTTP/1.1",
        ),
        (
            ProviderKind::Anthropic,
            [
                r#"{"data":[{"type":"model","id":"a"}],"has_more":true,"last_id":"a"}"#,
                r#"{"data":[{"type":"model","id":"b"}],"has_more":false,"last_id":"b"}"#,
            ],
            "GET /v1/models?limit=1000&after_id=a HTTP/1.1",
        ),
    ];
    for (kind, bodies, second) in rows {
        let upstream = Upstream::start([pages(&bodies)]).await;
        let models = kind.provider(settings(&upstream))?.models().await?;
        let ids: Vec<&str> = models.iter().map(|model| &*model.id).collect();
        assert_eq!(ids, ["a", "b"], "{}", kind.as_str());
        assert_eq!(paths(&upstream)[1], second);
    }
    Ok(())
}

#[tokio::test]
async fn a_page_that_links_to_itself_ends_the_list() -> Result<()> {
    let page = r#"{"models":[{"name":"models/a"}],"nextPageToken":"same"}"#;
    let upstream = Upstream::start([pages(&[page, page])]).await;
    let models = ProviderKind::Google
        .provider(settings(&upstream))?
        .models()
        .await?;
    assert_eq!(models.len(), 2);
    Ok(())
}

#[tokio::test]
async fn an_endless_list_is_truncated() -> Result<()> {
    let odd = r#"{"models":[],"nextPageToken":"odd"}"#;
    let even = r#"{"models":[],"nextPageToken":"even"}"#;
    let upstream = Upstream::start([pages(&[odd, even]).times(100)]).await;
    ProviderKind::Google
        .provider(settings(&upstream))?
        .models()
        .await?;
    assert_eq!(upstream.requests().len(), 50);
    Ok(())
}

#[tokio::test]
async fn llama_swap_lists_and_unloads_running_models() -> Result<()> {
    let list = r#"{"running":[{"model":"qwen3","state":"ready","cmd":"x"}]}"#;
    let upstream = Upstream::start([pages(&[list, "OK", "OK"])]).await;
    let swap = LlamaSwap::new(settings(&upstream))?;
    let running = RunningModel {
        model: "qwen3".into(),
        state: "ready".into(),
    };
    assert_eq!(swap.running().await?, [running]);
    swap.unload("qwen3:8b").await?;
    swap.unload_all().await?;
    assert_eq!(
        paths(&upstream),
        [
            "GET /running HTTP/1.1",
            "POST /api/models/unload/qwen3:8b HTTP/1.1",
            "POST /api/models/unload HTTP/1.1",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn an_id_that_would_alter_the_path_is_rejected() -> Result<()> {
    let upstream = Upstream::start([Script::new()]).await;
    let swap = LlamaSwap::new(settings(&upstream))?;
    for id in ["a/b", "a?b", "a#b", "", "a b"] {
        let error = swap.unload(id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{id:?}");
    }
    assert!(upstream.requests().is_empty());
    Ok(())
}
