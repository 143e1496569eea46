//! Client disconnects cancel everything done for the request.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{BlackHole, Script, Upstream};
use tokio::io::AsyncWriteExt;

use crate::request_kind::{RequestKind, picture};
use crate::test_gateway::{
    EVENT, TEST_TIMEOUT, TestGateway, case, chat_request, post, provider, provider_at,
    standing_still, statuses,
};

/// An upstream that reads the request and never responds.
async fn mute() -> Upstream {
    Upstream::start([Script::new().read_request().stall()]).await
}

/// Queueing never times out within a test.
fn patient() -> Limits {
    let mut limits = Limits::default();
    limits.queue_wait = Duration::from_secs(24 * 60 * 60);
    limits
}

#[test]
fn a_disconnect_during_the_upload_calls_no_upstream() {
    for kind in RequestKind::ALL {
        case(async {
            let upstream = mute().await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let mut client = gateway.connect().await;
            let request = kind.text_request("up/m");
            client.send(&request[..request.len() - 5]).await;
            gateway
                .poll_operator_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            // No request had arrived, so the outcome is `failed`, not `client_gone`.
            let broken = "outcome=\"failed\",status=\"400\"} 1";
            gateway.poll_operator_until("/metrics", broken).await;
            assert!(upstream.connections().is_empty(), "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_while_queued_frees_the_slot_and_calls_no_upstream() {
    for kind in RequestKind::ALL {
        case(async {
            let upstream = mute().await;
            let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
            let gateway = TestGateway::with(&config, patient()).await;
            let mut served = gateway.connect().await;
            served.send(chat_request("up/m", false)).await;
            upstream.wait_for_requests(1, TEST_TIMEOUT).await;
            // The queue has one slot: the next client gets it only if it is free.
            for _ in 0..3 {
                let mut waiting = gateway.connect().await;
                waiting.send(kind.text_request("up/m")).await;
                gateway
                    .poll_operator_until("/metrics", "majordomo_open_requests 2")
                    .await;
                drop(waiting);
                gateway
                    .poll_operator_until("/metrics", "majordomo_open_requests 1")
                    .await;
            }
            drop(served);
            gone(&gateway).await;
            assert_eq!(upstream.requests().len(), 1, "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_while_waiting_for_the_byte_budget_is_noticed() {
    case(async {
        let upstream = mute().await;
        let config = format!(
            "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"1MiB\"\n{}",
            provider(&upstream)
        );
        let gateway = TestGateway::with(&config, patient()).await;
        let mut first = gateway.connect().await;
        // Takes the whole byte budget and gets no response.
        let start = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]"#;
        let rest = " ".repeat((1 << 20) - start.len() - 1);
        let body = format!("{start}{rest}}}");
        first.send(post("/v1/chat/completions", "", &body)).await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        let mut second = gateway.connect().await;
        second.send(chat_request("up/m", false)).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 2")
            .await;
        drop(second);
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 1")
            .await;
        assert_eq!(upstream.requests().len(), 1);
        gateway.assert_invariants((upstream, first)).await;
    });
}

#[test]
fn a_queued_request_is_served_when_a_slot_frees() {
    case(async {
        let upstream = mute().await;
        let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
        let gateway = TestGateway::with(&config, patient()).await;
        let mut served = gateway.connect().await;
        served.send(chat_request("up/m", false)).await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        let mut waiting = gateway.connect().await;
        waiting.send(chat_request("demo/text", false)).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 2")
            .await;
        drop(served);
        let response = waiting.rest().await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants((upstream, waiting)).await;
    });
}

#[test]
fn a_disconnect_while_connecting_upstream_closes_the_socket() {
    for kind in RequestKind::ALL {
        case(async {
            let hole = BlackHole::open();
            let gateway = TestGateway::start(&provider_at(hole.address())).await;
            let mut client = gateway.connect().await;
            client.send(kind.text_request("up/m")).await;
            gateway
                .poll_operator_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            gone(&gateway).await;
            // The connecting socket is among the counted descriptors.
            gateway.assert_invariants(()).await;
            drop(hole);
        });
    }
}

#[test]
fn a_disconnect_before_the_response_cancels_the_upstream_request() {
    for kind in RequestKind::ALL {
        case(async {
            let upstream = mute().await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let mut client = gateway.connect().await;
            client.send(kind.text_request("up/m")).await;
            upstream.wait_for_requests(1, TEST_TIMEOUT).await;
            drop(client);
            upstream.closed(0, TEST_TIMEOUT).await;
            gone(&gateway).await;
            assert_eq!(upstream.requests().len(), 1, "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_while_an_image_is_described_cancels_the_describer() {
    for kind in RequestKind::ALL {
        case(async {
            let (eyes, upstream) = (mute().await, mute().await);
            let address = eyes.address();
            let config = format!(
                "{}[providers.up.models.m]\nimages = false\n\
                 [providers.eyes]\nkind = \"openai\"\nbase_url = \"http://{address}\"\n\
                 api_key = \"CANARY-eyes\"\n\
                 [[routes]]\nmodel = \"blind\"\n\
                 services = [ {{ spec = \"up/m\", describe = \"eyes/sharp\" }} ]\n",
                provider(&upstream),
            );
            let gateway = TestGateway::start(&config).await;
            let mut client = gateway.connect().await;
            client.send(kind.image_request("blind", &picture(8))).await;
            eyes.wait_for_requests(1, TEST_TIMEOUT).await;
            drop(client);
            eyes.closed(0, TEST_TIMEOUT).await;
            gone(&gateway).await;
            assert!(upstream.requests().is_empty(), "{kind:?}");
            gateway.assert_invariants((eyes, upstream)).await;
        });
    }
}

#[test]
fn a_disconnect_while_an_image_is_downscaled_leaves_nothing_behind() {
    for kind in RequestKind::ALL {
        case(async {
            let upstream = mute().await;
            let config = format!(
                "{}[providers.up.models.m]\nimages = {{ max_bytes = \"4KiB\" }}\n",
                provider(&upstream)
            );
            let gateway = TestGateway::start(&config).await;
            let mut client = gateway.connect().await;
            client
                .send(kind.image_request("up/m", &picture(1_500)))
                .await;
            gateway
                .poll_operator_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            gone(&gateway).await;
            // An image that was ready first may have been sent once.
            assert!(upstream.requests().len() <= 1, "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_during_an_active_response_closes_the_upstream() {
    for kind in RequestKind::ALL {
        case(async {
            let begun = Script::new().read_request();
            let script = match kind {
                // A buffered response without an end.
                RequestKind::Whole => begun
                    .send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{")
                    .drip(" ".repeat(100_000), Duration::from_millis(1)),
                _ => {
                    let event = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
                    begun.stream_head().flood(event)
                }
            };
            let upstream = Upstream::start([script]).await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let mut client = gateway.connect().await;
            client.send(kind.text_request("up/m")).await;
            match kind {
                RequestKind::Whole => upstream.sent(0, 70, TEST_TIMEOUT).await,
                _ => drop(client.until("word").await),
            }
            drop(client);
            upstream.closed(0, TEST_TIMEOUT).await;
            gone(&gateway).await;
            assert_eq!(upstream.requests().len(), 1, "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_during_a_stalled_response_closes_the_upstream() {
    for kind in RequestKind::ALL {
        case(async {
            let half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                        content-length: 999\r\n\r\n{\"id\":";
            let upstream = match kind {
                RequestKind::Whole => {
                    Upstream::start([Script::new().read_request().send(half).stall()]).await
                }
                _ => standing_still(1).await,
            };
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let mut client = gateway.connect().await;
            client.send(kind.text_request("up/m")).await;
            match kind {
                RequestKind::Whole => upstream.sent(0, half.len(), TEST_TIMEOUT).await,
                _ => drop(client.until("word").await),
            }
            drop(client);
            upstream.closed(0, TEST_TIMEOUT).await;
            gone(&gateway).await;
            assert_eq!(upstream.requests().len(), 1, "{kind:?}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

/// The request ended as `client_gone` and benched no target.
async fn gone(gateway: &TestGateway) {
    let over = "majordomo_open_requests 0";
    gateway.poll_operator_until("/metrics", over).await;
    let metrics = gateway.get_operator("/metrics").await;
    assert!(metrics.contains("outcome=\"client_gone\""), "{metrics}");
    let health = gateway.get_operator("/api/health").await;
    assert!(!health.contains("benched"), "{health}");
}

#[test]
fn a_disconnect_is_noticed_behind_pipelined_bytes() {
    case(async {
        let upstream = mute().await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", false) + "GET / HT").await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        drop(client);
        upstream.closed(0, TEST_TIMEOUT).await;
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_half_closed_connection_counts_as_a_disconnect() {
    case(async {
        let upstream = mute().await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", false)).await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        client.stream.shutdown().await.expect("it is open");
        upstream.closed(0, TEST_TIMEOUT).await;
        gateway.assert_invariants((upstream, client)).await;
    });
}
