//! Graceful shutdown.

use majordomo_testkit::{Script, Upstream};
use tokio::net::TcpStream;

use crate::stage::{EVENT, FOREVER, Stage, ask, case, header, lines_of, provider, standing_still};

fn config(drain: &str, upstream: &Upstream) -> String {
    format!("[server]\ndrain = \"{drain}\"\n{}", provider(upstream))
}

#[test]
fn open_streams_complete_during_shutdown() {
    case(async {
        let finish = EVENT.replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
        let script = Script::new()
            .read_request()
            .stream_head()
            .chunk(EVENT)
            .wait(std::time::Duration::from_millis(300))
            .chunk(finish)
            .chunk("data: [DONE]\n\n")
            .last_chunk();
        let upstream = Upstream::start([script]).await;
        let mut stage = Stage::start(&config("30s", &upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        stage.stop();
        let rest = client.rest().await;
        assert!(rest.contains("[DONE]"), "{rest}");
        stage.stopped().await;
        assert!(TcpStream::connect(stage.address).await.is_err());
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn a_stream_cut_by_shutdown_ends_with_an_error_event() {
    case(async {
        let upstream = standing_still(1).await;
        let mut stage = Stage::start(&config("100ms", &upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        let head = client.until("word").await;
        stage.stop();
        let rest = client.rest().await;
        assert!(rest.contains("server_shutdown"), "{rest}");
        assert!(!rest.contains("[DONE]"), "{rest}");
        stage.stopped().await;
        upstream.closed(0, FOREVER).await;
        let id = header(&head, "x-majordomo-request-id").expect("it has an id");
        let lines = lines_of(id);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains("interrupted"), "{lines:?}");
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn a_request_pending_at_shutdown_gets_a_503() {
    case(async {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let mut stage = Stage::start(&config("100ms", &upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", false)).await;
        upstream.asked(1, FOREVER).await;
        stage.stop();
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("server_shutdown"), "{answer}");
        stage.stopped().await;
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn a_draining_gateway_is_not_ready() {
    case(async {
        let upstream = standing_still(1).await;
        let mut stage = Stage::start(&config("30s", &upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        assert!(stage.look("/readyz").await.starts_with("HTTP/1.1 200"));
        stage.stop();
        stage.look_until("/readyz", "HTTP/1.1 503").await;
        assert!(
            stage
                .look("/api/health")
                .await
                .contains("\"draining\":true")
        );
        drop(client);
        stage.stopped().await;
        stage.holds(upstream).await;
    });
}
