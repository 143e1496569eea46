//! Starts that must fail, and forbidden actions of a running gateway.

use std::process::Stdio;

use majordomo_testkit::{Script, Upstream};
use tokio::time::timeout;

use crate::gateway::{GatewayCommand, TIMEOUT, chat_request, post, provider};

/// The error of a failing start.
async fn start_error(start: &GatewayCommand) -> String {
    let (mut command, folder) = start.command();
    let output = command.stderr(Stdio::piped()).output();
    let output = timeout(TIMEOUT, output).await.expect("it ends");
    let output = output.expect("the command was built");
    drop(folder);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    stderr
}

#[tokio::test]
async fn a_second_gateway_on_the_same_port_fails_and_the_first_keeps_serving() {
    let first = GatewayCommand::default().start().await;
    let stderr = start_error(&GatewayCommand {
        listen: Some(first.address),
        ..GatewayCommand::default()
    })
    .await;
    let address = first.address;
    assert!(
        stderr.contains(&format!("cannot listen on {address}")),
        "{stderr}"
    );
    assert!(stderr.contains("--listen"), "{stderr}");
    let operator = first.operator;
    let config = format!("[server]\noperator_listen = \"{operator}\"\n");
    let stderr = start_error(&GatewayCommand::with(config)).await;
    assert!(stderr.contains("operator_listen"), "{stderr}");
    first.assert_alive().await;
}

#[tokio::test]
async fn without_keys_only_loopback_addresses_are_accepted() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let stderr = start_error(&GatewayCommand {
            listen: listen.parse().ok(),
            ..GatewayCommand::default()
        })
        .await;
        assert!(stderr.contains("no key is configured"), "{stderr}");
    }
}

#[tokio::test]
async fn a_world_readable_file_with_keys_is_warned_about_once() {
    const OPEN: &str = "chmod 0644 \"$1\"";
    let literal = "[[keys]]\nname = \"a\"\nkey = \"CANARY-long-enough-for-a-key-0123456789\"\n";
    let provider = "[providers.p]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n";
    let api_key = format!("{provider}api_key = \"CANARY-key\"\n");
    let variable = format!("{provider}api_key = \"${{KEY}}\"\n");
    let dsn = |token: &str| format!("[providers.p]\ndsn = \"foreman://{token}127.0.0.1:9\"\n");
    let hash = format!(
        "[[keys]]\nname = \"a\"\nhash = \"sha256:{}\"\n",
        "0".repeat(64)
    );
    for (config, before, warnings) in [
        (literal, OPEN, 1),
        (literal, "chmod 0640 \"$1\"", 0),
        (&api_key, OPEN, 1),
        (&api_key, "chmod 0600 \"$1\"", 0),
        (&variable, OPEN, 0),
        (&dsn("CANARY@"), OPEN, 1),
        (&dsn("${KEY}@"), OPEN, 0),
        (&dsn(""), OPEN, 0),
        (&hash, OPEN, 0),
    ] {
        let gateway = GatewayCommand {
            before,
            environment: vec![("KEY", "CANARY-variable".to_owned())],
            ..GatewayCommand::with(config)
        }
        .start()
        .await;
        gateway.send(chat_request("demo/text", false)).await;
        let log = gateway.log_until("request=").await;
        let warned = log
            .matches("is readable by every user of this machine")
            .count();
        assert_eq!(warned, warnings, "{before} {config}\n{log}");
        assert!(!log.contains("CANARY"), "{log}");
    }
}

#[tokio::test]
async fn a_missing_variable_is_named_and_no_value_is_shown() {
    let key = |name: &str| GatewayCommand {
        environment: vec![("PRESENT", "CANARY-key".to_owned())],
        ..GatewayCommand::with(format!(
            "[providers.x]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\napi_key = \"${{{name}}}\"\nwrong = 1\n"
        ))
    };
    let stderr = start_error(&key("MISSING")).await;
    assert!(stderr.contains("MISSING"), "{stderr}");
    let stderr = start_error(&key("PRESENT")).await;
    assert!(
        stderr.contains("wrong") && !stderr.contains("CANARY"),
        "{stderr}"
    );
    let stderr = start_error(&GatewayCommand {
        config: "[providers.x]\ndsn = \"nonsense://CANARY-token@host\"\n".to_owned(),
        ..GatewayCommand::default()
    })
    .await;
    assert!(!stderr.contains("CANARY"), "{stderr}");
}

#[tokio::test]
async fn text_that_looks_like_a_command_or_a_path_is_not_executed_or_opened() {
    let gateway = GatewayCommand::default().start().await;
    let before = gateway.children();
    let text = r#"{{7*7}} $(touch /x) `id` ${PATH} ../../etc/passwd file:///etc/passwd"#;
    for field in [
        "command", "template", "url", "path", "file", "config", "plugins",
    ] {
        let body = format!(
            r#"{{"model":"demo/text","{field}":{text:?},"messages":[{{"role":"user","content":{text:?}}}]}}"#
        );
        let response = gateway.send(post("/v1/chat/completions", "", &body)).await;
        assert!(!response.contains("root:"), "{response}");
        assert!(!response.starts_with("HTTP/1.1 5"), "{response}");
    }
    for url in [
        "file:///etc/passwd",
        "/etc/passwd",
        "http://localhost/x.png",
    ] {
        let body = format!(
            r#"{{"model":"demo/vision","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
        );
        let response = gateway.send(post("/v1/chat/completions", "", &body)).await;
        assert!(!response.contains("root:"), "{url}: {response}");
        assert!(!response.starts_with("HTTP/1.1 5"), "{url}: {response}");
    }
    assert_eq!(gateway.children(), before);
    gateway.assert_alive().await;
}

#[tokio::test]
async fn no_proxy_fetches_an_address_the_gateway_may_not() {
    let proxy = Upstream::start([Script::new().read_request()]).await;
    let address = proxy.address();
    let ollama = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!(
        "[fetch]\nenabled = true\n[providers.eyes]\nkind = \"ollama\"\nbase_url = \"http://{}\"\n\
         [providers.eyes.models.m]\nimages = {{ max = 4 }}\n",
        ollama.address()
    );
    let gateway = GatewayCommand {
        environment: ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"]
            .map(|name| (name, format!("http://{address}")))
            .into_iter()
            .chain([("NO_PROXY", "127.0.0.1".to_owned())])
            .collect(),
        ..GatewayCommand::with(config)
    }
    .start()
    .await;
    let body = r#"{"model":"eyes/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://localhost/x.png"}}]}]}"#;
    let response = gateway.send(post("/v1/chat/completions", "", body)).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.contains("is not public"), "{response}");
    let fetched: Vec<_> = proxy.requests().into_iter().map(|it| it.head).collect();
    assert!(
        fetched.iter().all(|head| !head.contains("x.png")),
        "{fetched:?}"
    );
}

#[tokio::test]
async fn an_unread_log_blocks_no_request() {
    let gateway = GatewayCommand {
        log_unread: true,
        ..GatewayCommand::default()
    }
    .start()
    .await;
    // Far more than a pipe buffers.
    for _ in 0..2_000 {
        let response = gateway.send(chat_request("demo/text", false)).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    gateway.assert_alive().await;
}

#[tokio::test]
async fn a_configured_provider_is_called() {
    let upstream = Upstream::start([crate::gateway::serving(1)]).await;
    let gateway = GatewayCommand::with(provider(&upstream)).start().await;
    let response = gateway.send(chat_request("up/m", false)).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}
