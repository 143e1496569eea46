//! The log lines of requests.

use majordomo_testkit::{Script, Upstream};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::gateway::{EVENT, GatewayCommand, GatewayProcess, chat_request, provider, until};

/// The line of the only request, once it contains this text.
async fn line(gateway: &GatewayProcess, text: &str) -> String {
    let log = gateway.log_until(text).await;
    let mut lines = log.lines().filter(|line| line.contains("request="));
    let line = lines.next().expect("a line").to_owned();
    assert_eq!(lines.next(), None, "one line per request");
    line
}

fn refusing(status: u16) -> Script {
    let body = r#"{"error":{"message":"no"}}"#;
    Script::new()
        .read_request()
        .respond(status, "application/json", body)
}

#[tokio::test]
async fn a_failure_is_a_warning_and_says_so() {
    let upstream = Upstream::start([refusing(500), refusing(500)]).await;
    let gateway = GatewayCommand::with(provider(&upstream)).start().await;
    gateway.send(chat_request("up/m", false)).await;
    let line = line(&gateway, "outcome=").await;
    assert!(line.contains(" WARN failed "), "{line}");
}

#[tokio::test]
async fn a_refusal_of_the_clients_request_is_no_warning() {
    let gateway = GatewayCommand::default().start().await;
    gateway.send(chat_request("nothing/at-all", false)).await;
    let line = line(&gateway, "outcome=").await;
    assert!(line.contains(" INFO refused "), "{line}");
}

#[tokio::test]
async fn times_have_at_most_three_decimals() {
    let gateway = GatewayCommand::default().start().await;
    gateway.send(chat_request("demo/text", false)).await;
    let line = line(&gateway, "outcome=").await;
    assert!(line.contains(" INFO served "), "{line}");
    let took = line
        .split("took_ms=")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let took = took.expect("a time");
    let decimals = took
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    assert!(decimals <= 3 && took.parse::<f64>().is_ok(), "{took}");
}

#[tokio::test]
async fn a_stream_that_the_client_leaves_logs_what_arrived() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let last = EVENT.replace("word ", "done!");
    let events = format!("{head}{}{last}", EVENT.repeat(60));
    let upstream = Upstream::start([Script::new().read_request().send(events).stall()]).await;
    let gateway = GatewayCommand::with(provider(&upstream)).start().await;
    let mut client = gateway.connect().await;
    let request = chat_request("up/m", true);
    client
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    until(&mut client, "done!").await;
    drop(client);
    let line = line(&gateway, "outcome=").await;
    assert!(line.contains(" INFO client disconnected "), "{line}");
    assert!(line.contains("tokens_estimated=true"), "{line}");
    // A token per chunk.
    assert!(line.contains("output_tokens=61 "), "{line}");
    assert!(!line.contains("input_tokens=0"), "{line}");
}

#[tokio::test]
async fn rust_log_selects_the_lines() {
    let upstream = Upstream::start([refusing(500), refusing(500)]).await;
    let gateway = GatewayCommand {
        environment: vec![("RUST_LOG", "warn".to_owned())],
        ..GatewayCommand::with(provider(&upstream))
    };
    let gateway = gateway.start().await;
    gateway.send(chat_request("demo/text", false)).await;
    gateway.send(chat_request("up/m", false)).await;
    let line = line(&gateway, "outcome=").await;
    assert!(line.contains(" WARN failed "), "{line}");
}

#[tokio::test]
async fn an_invalid_rust_log_is_reported_and_ignored() {
    let gateway = GatewayCommand {
        environment: vec![("RUST_LOG", "majordomo=loud".to_owned())],
        ..GatewayCommand::default()
    };
    let gateway = gateway.start().await;
    gateway.send(chat_request("demo/text", false)).await;
    let log = gateway.log_until("outcome=").await;
    assert!(log.contains("WARN RUST_LOG is ignored: "), "{log}");
}

/// The table of a line's fields.
const GUIDE: &str = include_str!("../../../../docs/guide/operations.md");

#[tokio::test]
async fn with_json_every_line_is_an_object_of_documented_fields() {
    let upstream = Upstream::start([refusing(500), refusing(500)]).await;
    let config = format!("[log]\nformat = \"json\"\n{}", provider(&upstream));
    let gateway = GatewayCommand::with(config).start().await;
    gateway.send(chat_request("demo/text", false)).await;
    gateway.send(chat_request("demo/text", true)).await;
    gateway.send(chat_request("up/m", false)).await;
    let log = gateway.log_until("\"failed\"").await;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    let requests: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("request").is_some())
        .collect();
    let messages = requests.iter().map(|line| line["message"].as_str());
    let expected = [Some("served"), Some("served"), Some("failed")];
    assert_eq!(messages.collect::<Vec<_>>(), expected, "{log}");
    for line in &requests {
        assert!(line["took_ms"].is_number(), "{line}");
        for name in line.as_object().expect("an object").keys() {
            assert!(
                GUIDE.contains(&format!("`{name}`")),
                "{name} is not documented"
            );
        }
    }
}

#[tokio::test]
async fn the_level_of_the_file_applies_unless_rust_log_is_set() {
    for (variable, served) in [(None, 0), (Some("info"), 1)] {
        let upstream = Upstream::start([refusing(500), refusing(500)]).await;
        let config = format!("[log]\nlevel = \"warn\"\n{}", provider(&upstream));
        let gateway = GatewayCommand {
            environment: variable
                .map(|level| ("RUST_LOG", level.to_owned()))
                .into_iter()
                .collect(),
            ..GatewayCommand::with(config)
        };
        let gateway = gateway.start().await;
        gateway.send(chat_request("demo/text", false)).await;
        gateway.send(chat_request("up/m", false)).await;
        let log = gateway.log_until(" WARN failed ").await;
        assert_eq!(log.matches(" INFO served ").count(), served, "{log}");
    }
}
