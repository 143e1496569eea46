//! However a stream is truncated, the client sees the whole response once, or a prefix
//! of it and an error.

use std::sync::Arc;

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;

use crate::serve::failover::{check, cut, events, send_request};
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

/// Truncations for each of the 25 pairs of dialects; `MAJORDOMO_CUTS` overrides the
/// total.
fn cuts_of_a_pair() -> usize {
    let all = std::env::var("MAJORDOMO_CUTS").ok();
    let all = all.and_then(|all| all.parse::<usize>().ok());
    all.unwrap_or(4_000).div_ceil(25)
}

#[tokio::test]
async fn no_truncation_causes_a_false_end_or_repeated_text() {
    let cuts = cuts_of_a_pair();
    let seed = fastrand::u64(..);
    println!("the cuts' seed: {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut config = "[health]\nthreshold = 1000\n".to_owned();
    let mut upstreams = Vec::new();
    for protocol in Protocol::ALL {
        let whole = wires::streamed(protocol, &events());
        // Most truncations keep the connection; some close it.
        let mut beginning = || &whole[..dice.usize(..=whole.len())];
        let scripts = (0..2 * cuts).map(|_| {
            let bodies = (0..20).fold(Script::new(), |script, _| cut(script, beginning(), false));
            cut(bodies, beginning(), true)
        });
        let scripts: Vec<Script> = scripts.collect();
        let serving = Script::new()
            .read_request()
            .respond(200, wires::stream_type(protocol), whole.clone())
            .times(50 * cuts);
        for (role, upstream) in [
            ("cut", Upstream::start(scripts).await),
            ("serving", Upstream::start([serving]).await),
        ] {
            let name = format!("{role}-{}", wires::name(protocol));
            config.push_str(&wires::provider(&name, protocol, upstream.address()));
            upstreams.push(upstream);
        }
    }
    let gateway = Arc::new(TestGateway::start(&config).await);
    let mut clients = tokio::task::JoinSet::new();
    for client in Protocol::ALL {
        let gateway = Arc::clone(&gateway);
        clients.spawn(async move {
            let mut complete = 0;
            for number in 0..cuts * Protocol::ALL.len() {
                let first = wires::name(Protocol::ALL[number % 5]);
                let second = wires::name(Protocol::ALL[number / 5 % 5]);
                let model = format!("cut-{first}/m0,serving-{second}/m0");
                let response = send_request(&gateway, client, &model).await;
                let what = format!("{client:?} asks {model}");
                complete += usize::from(check(client, &response, &what));
            }
            complete
        });
    }
    for complete in clients.join_all().await {
        // Both endings must be common, or nothing was truncated.
        let all = cuts * Protocol::ALL.len();
        assert!(
            (all / 50..all - all / 50).contains(&complete),
            "{complete} of {all}"
        );
    }
}
