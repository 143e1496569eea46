//! Model names that clients invent are kept in bounded number and length.

use majordomo_testkit::ClosedPort;

use crate::stage::{PROMPT, Stage, case, logged, post, provider_at, statuses};

const NAMES: usize = 6_000;

/// A Chat request for a model.
fn ask(model: &str) -> String {
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
        let stage = Stage::start(&config).await;
        let before = log_bytes();
        let filler = "x".repeat(200);
        for n in 0..NAMES {
            let answer = stage.raw(ask(&format!("up/{n}-{filler}"))).await;
            assert!(statuses(&answer)[0] >= 400, "{answer}");
        }
        stage.raw(ask("real")).await;
        let logged = (log_bytes() - before) / NAMES;
        assert!(logged < 2_000, "{logged} bytes are logged for each request");
        let page = stage.look("/metrics").await;
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
        let traces = stage.look("/api/requests").await.len();
        assert!(traces < 400_000, "{traces} bytes of traces");
        stage.holds(dead).await;
    });
}

#[test]
fn an_overlong_name_or_chain_is_rejected_with_a_short_error() {
    case(async {
        let stage = Stage::start("").await;
        let before = log_bytes();
        let long = format!("demo/{}", "x".repeat(300));
        let chain = vec!["demo/text"; 33].join(",");
        for name in [&*long, &*chain] {
            let answer = stage.raw(ask(name)).await;
            assert_eq!(statuses(&answer), [400], "{answer}");
            assert!(!answer.contains(name), "{answer}");
        }
        let chain = vec!["demo/text"; 32].join(",");
        let answer = stage.raw(ask(&chain)).await;
        assert_eq!(statuses(&answer), [200], "{answer}");
        let logged = log_bytes() - before;
        assert!(logged < 3 * 1_000, "{logged} bytes are logged");
        stage.holds(()).await;
    });
}
