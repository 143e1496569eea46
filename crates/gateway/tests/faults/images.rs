//! Images that are too many, undecodable, or remote.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream};

use crate::request_kind::{RequestKind, picture};
use crate::test_gateway::{
    TEST_TIMEOUT, TestGateway, case, chat_request, header, post, provider, statuses,
};

/// An upstream that reads the request and never responds.
async fn mute() -> Upstream {
    Upstream::start([Script::new().read_request().stall()]).await
}

#[test]
fn images_beyond_the_byte_budget_wait_and_then_get_a_503() {
    case(async {
        let upstream = mute().await;
        let config = format!(
            "[server]\nmax_body = \"8MiB\"\nmax_bytes_in_flight = \"16MiB\"\n{}",
            provider(&upstream)
        );
        let mut limits = Limits::default();
        limits.queue_wait = Duration::from_millis(50);
        let gateway = TestGateway::with(&config, limits).await;
        // Three fit into the budget and stay open.
        let request = RequestKind::Whole.image_request("up/m", &picture(1_100));
        assert!(
            (4 << 20..6 << 20).contains(&request.len()),
            "{}",
            request.len()
        );
        let mut held = Vec::new();
        for n in 1..=3 {
            let mut client = gateway.connect().await;
            client.send(&request).await;
            upstream.wait_for_requests(n, TEST_TIMEOUT).await;
            held.push(client);
        }
        for _ in 0..5 {
            let response = gateway.raw(&request).await;
            assert_eq!(statuses(&response), [503], "{response}");
            assert_eq!(header(&response, "retry-after"), Some("1"), "{response}");
            // Text requests fit.
            assert_eq!(
                statuses(&gateway.raw(chat_request("demo/text", false)).await),
                [200]
            );
        }
        assert_eq!(upstream.requests().len(), 3);
        gateway.assert_invariants((upstream, held)).await;
    });
}

/// An image whose header declares 60,000 by 60,000 pixels.
fn bomb() -> Vec<u8> {
    let mut data = picture(8);
    // The dimensions follow the signature and the IHDR chunk header.
    data[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
    data[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
    data
}

#[test]
fn an_undecodable_image_is_a_400_and_benches_no_target() {
    let whole = picture(200);
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle..].iter_mut().for_each(|byte| *byte ^= 0x55);
    let cases = [
        whole[..whole.len() / 2].to_vec(),
        flipped,
        bomb(),
        b"GIF89a".to_vec(),
    ];
    for kind in RequestKind::ALL {
        for broken in &cases {
            case(async {
                let upstream = mute().await;
                let config = format!(
                    "{}[providers.up.models.m]\nimages = {{ max_bytes = \"4KiB\" }}\n",
                    provider(&upstream)
                );
                let gateway = TestGateway::start(&config).await;
                let response = gateway.raw(kind.image_request("up/m", broken)).await;
                assert_eq!(statuses(&response), [400], "{response}");
                assert!(response.contains("image 1: "), "{response}");
                for word in ["zune", "png::", "panicked", "src/", "0x"] {
                    assert!(!response.contains(word), "{word}: {response}");
                }
                assert!(upstream.requests().is_empty());
                let health = gateway.get_operator("/api/health").await;
                assert!(!health.contains("benched"), "{health}");
                gateway.assert_invariants(upstream).await;
            });
        }
    }
}

#[test]
fn a_remote_image_is_forwarded_or_rejected_but_never_fetched() {
    case(async {
        let (host, ollama, openai) = (mute().await, mute().await, mute().await);
        let config = format!(
            "{}[providers.bytes]\nkind = \"ollama\"\nbase_url = \"http://{}\"\n\
             [providers.bytes.models.m]\nimages = {{ max = 4 }}\n",
            provider(&openai),
            ollama.address(),
        );
        let gateway = TestGateway::start(&config).await;
        let url = format!("http://{}/cat.png", host.address());
        let chat_request = |model: &str| {
            let body = format!(
                r#"{{"model":"{model}","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
            );
            post("/v1/chat/completions", "connection: close\r\n", &body)
        };
        let response = gateway.raw(chat_request("bytes/m")).await;
        assert_eq!(statuses(&response), [400], "{response}");
        assert!(response.contains("[fetch]"), "{response}");
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m")).await;
        openai.wait_for_requests(1, TEST_TIMEOUT).await;
        drop(client);
        openai.closed(0, TEST_TIMEOUT).await;
        let received = openai.requests();
        let body = String::from_utf8_lossy(&received[0].body).into_owned();
        assert!(body.contains(&url), "{body}");
        assert!(host.connections().is_empty());
        gateway.assert_invariants((host, ollama, openai)).await;
    });
}
