//! Model names that clients invent are kept in bounded number and length.

use majordomo_testkit::ClosedPort;

use crate::test_gateway::{PROMPT, TestGateway, case, logged, post, provider_at, statuses};

const NAMES: usize = 6_000;

/// A Chat request for a model.
fn chat_request(model: &str) -> String {
    let body =
        format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{PROMPT}"}}]}}"#);
    post("/v1/chat/completions", "connection: close\r\n", &body)
}

/// Size of the log at its default level.
fn log_bytes() -> usize {
    let log = logged();
    let kept = log.lines().filter(|line| {
        let level = line.split_whitespace().nth(1);
        matches!(level, Some("INFO" | "WARN" | "ERROR"))
    });
    kept.map(|line| line.len() + 1).sum()
}

#[test]
fn invented_model_names_do_not_fill_metrics_traces_or_the_log() {
    case(async {
        let dead = ClosedPort::hold();
        let config = format!(
            "{}[chain]\nretries = 0\n[aliases]\nreal = \"up/real\"\n",
            provider_at(dead.address())
        );
        let gateway = TestGateway::start(&config).await;
        let before = log_bytes();
        let filler = "x".repeat(200);
        for n in 0..NAMES {
            let response = gateway.raw(chat_request(&format!("up/{n}-{filler}"))).await;
            assert!(statuses(&response)[0] >= 400, "{response}");
        }
        gateway.raw(chat_request("real")).await;
        let logged = (log_bytes() - before) / NAMES;
        assert!(logged < 2_000, "{logged} bytes are logged for each request");
        let page = gateway.get_operator("/metrics").await;
        let figures = page
            .lines()
            .filter(|line| line.starts_with("majordomo_") && !line.contains("target_usable"));
        let figures = figures.count();
        assert!(figures < 400, "{figures} figures");
        assert!(page.contains(r#"majordomo_attempts_total{target="other",outcome="failed"}"#));
        assert!(
            page.contains(r#"majordomo_attempts_total{target="up/real","#),
            "a target of the file has its label, however many came before it"
        );
        let traces = gateway.get_operator("/api/requests").await.len();
        assert!(traces < 400_000, "{traces} bytes of traces");
        gateway.assert_invariants(dead).await;
    });
}

#[test]
fn an_overlong_name_or_chain_is_rejected_with_a_short_error() {
    case(async {
        let gateway = TestGateway::start("").await;
        let before = log_bytes();
        let long = format!("demo/{}", "x".repeat(300));
        let chain = vec!["demo/text"; 33].join(",");
        for name in [&*long, &*chain] {
            let response = gateway.raw(chat_request(name)).await;
            assert_eq!(statuses(&response), [400], "{response}");
            assert!(!response.contains(name), "{response}");
        }
        let chain = vec!["demo/text"; 32].join(",");
        let response = gateway.raw(chat_request(&chain)).await;
        assert_eq!(statuses(&response), [200], "{response}");
        let logged = log_bytes() - before;
        assert!(logged < 3 * 1_000, "{logged} bytes are logged");
        gateway.assert_invariants(()).await;
    });
}
