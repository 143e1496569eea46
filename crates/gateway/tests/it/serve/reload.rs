//! Reloads under load.

use majordomo::{Part, Request, Response};
use majordomo_testkit::Upstream;
use majordomo_wire::Protocol;

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

const REQUESTS: usize = 200;
const RELOADS: usize = 5;

#[tokio::test]
async fn a_reload_under_load_loses_no_request() {
    let response = Response::new(vec![Part::text("Hello.")]);
    let upstream = async |stream| {
        let script = wires::answering(Protocol::Chat, &response, stream);
        Upstream::start([script]).await
    };
    let (whole, streamed) = (upstream(false).await, upstream(true).await);
    let config = |model: usize| {
        let whole = wires::provider("whole", Protocol::Chat, whole.address());
        let streamed = wires::provider("streamed", Protocol::Chat, streamed.address());
        format!(
            "[aliases]\nthis = \"whole/m{model}\"\nthat = \"streamed/m{model}\"\n{whole}{streamed}"
        )
    };
    let gateway = TestGateway::start(&config(0)).await;
    let send_request = async |number: usize| {
        let client = Protocol::ALL[number % 5];
        let stream = number % 2 == 1;
        let model = if stream { "that" } else { "this" };
        let body = wires::request_for(client, &Request::user("hi"), model, stream);
        let reply = gateway
            .post(&wires::path(client, model, stream), body)
            .await;
        assert_eq!(reply.status, 200, "{client:?}: {}", reply.text());
        let understood = wires::understood(client, &reply.body, stream);
        assert_eq!(understood.expect("an answer").text(), "Hello.");
        let target = reply.header("x-majordomo-target").expect("a target");
        target.to_owned()
    };
    let mut served = 0;
    for reload in 1..=RELOADS {
        gateway.rewrite(&config(reload));
        let ends = format!("/m{reload}");
        // Keep sending until the new file takes effect, and then some.
        let mut seen = false;
        while !seen || served < reload * REQUESTS / RELOADS {
            let some: [usize; 4] = std::array::from_fn(|at| served + at);
            let targets = futures_util::future::join_all(some.map(&send_request)).await;
            served += targets.len();
            seen |= targets.iter().all(|target| target.ends_with(&ends));
        }
    }
}
