//! Clients that go away (C-15, C-23, C-24): so does everything done for them.

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;

use crate::stage::{FOREVER, Stage, ask, provider, standing_still};

/// An upstream that takes the question and never answers.
async fn mute() -> Upstream {
    Upstream::start([Script::new().read_request().stall()]).await
}

#[tokio::test]
async fn c23_a_client_that_leaves_before_the_answer_ends_the_question() {
    for stream in [false, true] {
        let upstream = mute().await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", stream)).await;
        upstream.asked(1, FOREVER).await;
        drop(client);
        upstream.closed(0, FOREVER).await;
        let gone = "outcome=\"client_gone\"";
        stage.look_until("/metrics", gone).await;
        assert_eq!(upstream.requests().len(), 1);
    }
}

#[tokio::test]
async fn c23_a_client_that_leaves_a_quiet_stream_ends_it() {
    let upstream = standing_still(1).await;
    let stage = Stage::start(&provider(&upstream)).await;
    let mut client = stage.connect().await;
    client.send(ask("up/m", true)).await;
    client.until("word").await;
    drop(client);
    upstream.closed(0, FOREVER).await;
    stage
        .look_until("/metrics", "majordomo_open_streams 0")
        .await;
}

#[tokio::test]
async fn c15_a_client_that_leaves_is_noticed_behind_pipelined_bytes() {
    let upstream = mute().await;
    let stage = Stage::start(&provider(&upstream)).await;
    let mut client = stage.connect().await;
    client.send(ask("up/m", false) + "GET / HT").await;
    upstream.asked(1, FOREVER).await;
    drop(client);
    upstream.closed(0, FOREVER).await;
}

#[tokio::test]
async fn c24_a_client_that_closes_its_half_has_left() {
    let upstream = mute().await;
    let stage = Stage::start(&provider(&upstream)).await;
    let mut client = stage.connect().await;
    client.send(ask("up/m", false)).await;
    upstream.asked(1, FOREVER).await;
    client.stream.shutdown().await.expect("it is open");
    upstream.closed(0, FOREVER).await;
}
