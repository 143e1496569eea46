//! Memory of the process while requests are captured.

use majordomo_testkit::{Script, Upstream};
use tokio::time::sleep;

use crate::gateway::{END, EVENT, GatewayCommand, GatewayProcess, post, provider};
use crate::memory::{SETTLING, memory_falls_to};

const MIB: usize = 1 << 20;
/// The capture's bound.
const BOUND: usize = 24 * MIB;
/// What the process may grow by besides, at rest.
const BESIDES: usize = 6 * MIB;
/// Bodies of a round, in bytes.
const BODIES: [usize; 5] = [100, 4_000, 60_000, 500_000, 3_000_000];
const ROUNDS: usize = 12;

/// A stream of about 400 kB, so that the kept response grows many times.
fn streaming() -> Script {
    let events = EVENT.repeat(10);
    let begun = Script::new().read_request().stream_head();
    let stream = (0..200).fold(begun, |script, _| script.chunk(&events));
    stream.chunk(END).last_chunk()
}

/// Requests of every size; returns their ids.
async fn rounds(gateway: &GatewayProcess, key: &str) -> Vec<String> {
    let headers = format!("authorization: Bearer {key}\r\n");
    let mut ids = Vec::new();
    for round in 0..ROUNDS {
        for size in BODIES {
            let text = "x".repeat(size + round);
            let body = format!(
                r#"{{"model":"up/m","stream":true,"messages":[{{"role":"user","content":"{text}"}}]}}"#
            );
            let response = gateway.send(post("/v1/chat/completions", &headers, &body));
            let response = response.await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response:.300}");
            let lines = &mut response.lines();
            let id = lines.find_map(|line| line.strip_prefix("x-majordomo-request-id: "));
            ids.push(id.expect("an id").to_owned());
        }
    }
    ids
}

#[tokio::test]
async fn the_process_stays_within_the_bound_of_its_capture() {
    let upstream = Upstream::start([streaming()]).await;
    let key = |name: &str, capture| {
        format!(
            "[[keys]]\nname = \"{name}\"\nkey = \"{name}-0123456789-0123456789\"\ncapture = {capture}\n"
        )
    };
    let config = format!(
        "[capture]\nsize = \"{}MiB\"\n{}{}{}",
        BOUND / MIB,
        provider(&upstream),
        key("plain", false),
        key("taped", true)
    );
    let gateway = GatewayCommand::with(config).start().await;
    rounds(&gateway, "plain-0123456789-0123456789").await;
    sleep(SETTLING).await;
    let without = gateway.memory();
    // More than twice as much as is kept.
    let ids = rounds(&gateway, "taped-0123456789-0123456789").await;
    let most = without + BOUND + BESIDES;
    let with = memory_falls_to(&gateway, most).await;
    println!("{without} bytes without capture, {with} with it");
    assert!(with <= most, "{without} became {with}");
    for (id, status) in [(ids.first(), 404), (ids.last(), 200)] {
        let path = format!("/api/captures/{}", id.expect("there were requests"));
        let response = gateway.operator_get(&path).await;
        let expected = format!("HTTP/1.1 {status}");
        assert!(response.starts_with(&expected), "{path}: {response:.300}");
    }
}
