//! Client disconnects cancel everything done for the request.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{BlackHole, Script, Upstream};
use tokio::io::AsyncWriteExt;

use crate::asker::{Asker, picture};
use crate::stage::{
    EVENT, FOREVER, Stage, ask, case, post, provider, provider_at, standing_still, statuses,
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
    for asker in Asker::ALL {
        case(async {
            let upstream = mute().await;
            let stage = Stage::start(&provider(&upstream)).await;
            let mut client = stage.connect().await;
            let request = asker.question("up/m");
            client.send(&request[..request.len() - 5]).await;
            stage
                .look_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            // No request had arrived, so the outcome is `failed`, not `client_gone`.
            let broken = "outcome=\"failed\",status=\"400\"} 1";
            stage.look_until("/metrics", broken).await;
            assert!(upstream.connections().is_empty(), "{asker:?}");
            stage.holds(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_while_queued_frees_the_slot_and_calls_no_upstream() {
    for asker in Asker::ALL {
        case(async {
            let upstream = mute().await;
            let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
            let stage = Stage::with(&config, patient()).await;
            let mut served = stage.connect().await;
            served.send(ask("up/m", false)).await;
            upstream.asked(1, FOREVER).await;
            // The queue has one slot: the next client gets it only if it is free.
            for _ in 0..3 {
                let mut waiting = stage.connect().await;
                waiting.send(asker.question("up/m")).await;
                stage
                    .look_until("/metrics", "majordomo_open_requests 2")
                    .await;
                drop(waiting);
                stage
                    .look_until("/metrics", "majordomo_open_requests 1")
                    .await;
            }
            drop(served);
            gone(&stage).await;
            assert_eq!(upstream.requests().len(), 1, "{asker:?}");
            stage.holds(upstream).await;
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
        let stage = Stage::with(&config, patient()).await;
        let mut first = stage.connect().await;
        // Takes the whole byte budget and gets no response.
        let start = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]"#;
        let rest = " ".repeat((1 << 20) - start.len() - 1);
        let body = format!("{start}{rest}}}");
        first.send(post("/v1/chat/completions", "", &body)).await;
        upstream.asked(1, FOREVER).await;
        let mut second = stage.connect().await;
        second.send(ask("up/m", false)).await;
        stage
            .look_until("/metrics", "majordomo_open_requests 2")
            .await;
        drop(second);
        stage
            .look_until("/metrics", "majordomo_open_requests 1")
            .await;
        assert_eq!(upstream.requests().len(), 1);
        stage.holds((upstream, first)).await;
    });
}

#[test]
fn a_queued_request_is_served_when_a_slot_frees() {
    case(async {
        let upstream = mute().await;
        let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
        let stage = Stage::with(&config, patient()).await;
        let mut served = stage.connect().await;
        served.send(ask("up/m", false)).await;
        upstream.asked(1, FOREVER).await;
        let mut waiting = stage.connect().await;
        waiting.send(ask("demo/text", false)).await;
        stage
            .look_until("/metrics", "majordomo_open_requests 2")
            .await;
        drop(served);
        let answer = waiting.rest().await;
        assert_eq!(statuses(&answer), [200], "{answer}");
        stage.holds((upstream, waiting)).await;
    });
}

#[test]
fn a_disconnect_while_connecting_upstream_closes_the_socket() {
    for asker in Asker::ALL {
        case(async {
            let hole = BlackHole::open();
            let stage = Stage::start(&provider_at(hole.address())).await;
            let mut client = stage.connect().await;
            client.send(asker.question("up/m")).await;
            stage
                .look_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            gone(&stage).await;
            // The connecting socket is among the counted descriptors.
            stage.holds(()).await;
            drop(hole);
        });
    }
}

#[test]
fn a_disconnect_before_the_response_cancels_the_upstream_request() {
    for asker in Asker::ALL {
        case(async {
            let upstream = mute().await;
            let stage = Stage::start(&provider(&upstream)).await;
            let mut client = stage.connect().await;
            client.send(asker.question("up/m")).await;
            upstream.asked(1, FOREVER).await;
            drop(client);
            upstream.closed(0, FOREVER).await;
            gone(&stage).await;
            assert_eq!(upstream.requests().len(), 1, "{asker:?}");
            stage.holds(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_while_an_image_is_described_cancels_the_describer() {
    for asker in Asker::ALL {
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
            let stage = Stage::start(&config).await;
            let mut client = stage.connect().await;
            client.send(asker.about("blind", &picture(8))).await;
            eyes.asked(1, FOREVER).await;
            drop(client);
            eyes.closed(0, FOREVER).await;
            gone(&stage).await;
            assert!(upstream.requests().is_empty(), "{asker:?}");
            stage.holds((eyes, upstream)).await;
        });
    }
}

#[test]
fn a_disconnect_while_an_image_is_downscaled_leaves_nothing_behind() {
    for asker in Asker::ALL {
        case(async {
            let upstream = mute().await;
            let config = format!(
                "{}[providers.up.models.m]\nimages = {{ max_bytes = \"4KiB\" }}\n",
                provider(&upstream)
            );
            let stage = Stage::start(&config).await;
            let mut client = stage.connect().await;
            client.send(asker.about("up/m", &picture(1_500))).await;
            stage
                .look_until("/metrics", "majordomo_open_requests 1")
                .await;
            drop(client);
            gone(&stage).await;
            // An image that was ready first may have been sent once.
            assert!(upstream.requests().len() <= 1, "{asker:?}");
            stage.holds(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_during_an_active_response_closes_the_upstream() {
    for asker in Asker::ALL {
        case(async {
            let begun = Script::new().read_request();
            let script = match asker {
                // A buffered response without an end.
                Asker::Whole => begun
                    .send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{")
                    .drip(" ".repeat(100_000), Duration::from_millis(1)),
                _ => {
                    let event = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
                    begun.stream_head().flood(event)
                }
            };
            let upstream = Upstream::start([script]).await;
            let stage = Stage::start(&provider(&upstream)).await;
            let mut client = stage.connect().await;
            client.send(asker.question("up/m")).await;
            match asker {
                Asker::Whole => upstream.sent(0, 70, FOREVER).await,
                _ => drop(client.until("word").await),
            }
            drop(client);
            upstream.closed(0, FOREVER).await;
            gone(&stage).await;
            assert_eq!(upstream.requests().len(), 1, "{asker:?}");
            stage.holds(upstream).await;
        });
    }
}

#[test]
fn a_disconnect_during_a_stalled_response_closes_the_upstream() {
    for asker in Asker::ALL {
        case(async {
            let half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                        content-length: 999\r\n\r\n{\"id\":";
            let upstream = match asker {
                Asker::Whole => {
                    Upstream::start([Script::new().read_request().send(half).stall()]).await
                }
                _ => standing_still(1).await,
            };
            let stage = Stage::start(&provider(&upstream)).await;
            let mut client = stage.connect().await;
            client.send(asker.question("up/m")).await;
            match asker {
                Asker::Whole => upstream.sent(0, half.len(), FOREVER).await,
                _ => drop(client.until("word").await),
            }
            drop(client);
            upstream.closed(0, FOREVER).await;
            gone(&stage).await;
            assert_eq!(upstream.requests().len(), 1, "{asker:?}");
            stage.holds(upstream).await;
        });
    }
}

/// The request ended as `client_gone` and benched no target.
async fn gone(stage: &Stage) {
    let over = "majordomo_open_requests 0";
    stage.look_until("/metrics", over).await;
    let metrics = stage.look("/metrics").await;
    assert!(metrics.contains("outcome=\"client_gone\""), "{metrics}");
    let health = stage.look("/api/health").await;
    assert!(!health.contains("benched"), "{health}");
}

#[test]
fn a_disconnect_is_noticed_behind_pipelined_bytes() {
    case(async {
        let upstream = mute().await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", false) + "GET / HT").await;
        upstream.asked(1, FOREVER).await;
        drop(client);
        upstream.closed(0, FOREVER).await;
        stage.holds(upstream).await;
    });
}

#[test]
fn a_half_closed_connection_counts_as_a_disconnect() {
    case(async {
        let upstream = mute().await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", false)).await;
        upstream.asked(1, FOREVER).await;
        client.stream.shutdown().await.expect("it is open");
        upstream.closed(0, FOREVER).await;
        stage.holds((upstream, client)).await;
    });
}
