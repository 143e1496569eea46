//! Spans and metrics are exported as the environment specifies, and never delay the exit.

use majordomo_testkit::{ClosedPort, Script, Upstream};

use crate::gateway::{GatewayCommand, chat_request};

/// The log of a gateway with these variables that served three requests and was stopped.
async fn log_of(environment: Vec<(&'static str, String)>) -> String {
    let start = GatewayCommand {
        config: "[ledger]\nstore = \"off\"\n".to_owned(),
        environment,
        ..GatewayCommand::default()
    };
    let mut gateway = start.start().await;
    for _ in 0..3 {
        gateway.assert_alive().await;
    }
    gateway.signal("TERM");
    assert_eq!(gateway.ended().await, Some(0));
    gateway.log()
}

/// Switches the other signal off.
fn only_spans() -> (&'static str, String) {
    ("OTEL_METRICS_EXPORTER", "none".to_owned())
}

fn collector_at(address: std::net::SocketAddr) -> (&'static str, String) {
    ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
}

#[tokio::test]
async fn the_last_spans_are_exported_before_the_process_exits() {
    let script = Script::new().read_request();
    let collector = Upstream::start([script.respond(200, "application/x-protobuf", "")]).await;
    let start = GatewayCommand {
        environment: vec![collector_at(collector.address()), only_spans()],
        ..GatewayCommand::default()
    };
    let mut gateway = start.start().await;
    let response = gateway.send(chat_request("demo/text", false)).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    gateway.signal("TERM");
    assert_eq!(gateway.ended().await, Some(0));
    let batches = collector.requests();
    assert!(batches[0].head.starts_with("POST /v1/traces HTTP/1.1\r\n"));
    let body = String::from_utf8_lossy(&batches[0].body);
    for name in ["POST /v1/chat/completions", "chat text"] {
        assert!(body.contains(name), "{name} is not in {body}");
    }
}

#[tokio::test]
async fn an_unreachable_spans_collector_is_logged_once() {
    let port = ClosedPort::hold();
    let one_by_one = ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1".to_owned());
    let log = log_of(vec![collector_at(port.address()), one_by_one, only_spans()]).await;
    assert_eq!(log.matches("spans are lost").count(), 1, "{log}");
    assert_eq!(log.matches(" WARN ").count(), 1, "{log}");
}

#[tokio::test]
async fn an_unresponsive_collector_of_spans_does_not_delay_exit() {
    let stalled = || Script::new().read_request().stall();
    let collector = Upstream::start([stalled(), stalled()]).await;
    let soon = ("OTEL_EXPORTER_OTLP_TIMEOUT", "50".to_owned());
    let log = log_of(vec![collector_at(collector.address()), soon]).await;
    for signal in ["spans", "metrics"] {
        let lost = format!("{signal} are lost");
        assert_eq!(log.matches(&lost).count(), 1, "{log}");
    }
}

#[tokio::test]
async fn an_invalid_spans_endpoint_disables_only_the_export() {
    let nowhere = ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector".to_owned());
    let log = log_of(vec![nowhere]).await;
    for signal in ["spans", "metrics"] {
        let reason = format!("no {signal} are sent: OTEL_");
        assert!(log.contains(&reason), "{log}");
    }
}

#[tokio::test]
async fn the_last_metrics_of_spans_calls_are_exported_before_the_process_exits() {
    let script = Script::new().read_request();
    let collector = Upstream::start([script.respond(200, "application/x-protobuf", "")]).await;
    let start = GatewayCommand {
        environment: vec![
            collector_at(collector.address()),
            ("OTEL_TRACES_EXPORTER", "none".to_owned()),
        ],
        ..GatewayCommand::default()
    };
    let mut gateway = start.start().await;
    let response = gateway.send(chat_request("demo/text", false)).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    gateway.signal("TERM");
    assert_eq!(gateway.ended().await, Some(0));
    let messages = collector.requests();
    assert!(
        messages[0]
            .head
            .starts_with("POST /v1/metrics HTTP/1.1\r\n")
    );
    let body = String::from_utf8_lossy(&messages[0].body);
    for name in [
        "majordomo.requests",
        "majordomo.build_info",
        "gen_ai.client.operation.duration",
    ] {
        assert!(body.contains(name), "{name} is not in {body}");
    }
}
