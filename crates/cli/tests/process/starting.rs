//! Starts that must not be, and what a running gateway leaves alone (P-16, F-06,
//! F-08, S-09, S-29).

use std::process::Stdio;

use majordomo_testkit::{Script, Upstream};
use tokio::time::timeout;

use crate::served::{FOREVER, Start, ask, post, provider};

/// What a start that fails says, and that it fails.
async fn refusal(start: &Start) -> String {
    let (mut command, folder) = start.command();
    let output = command.stderr(Stdio::piped()).output();
    let output = timeout(FOREVER, output).await.expect("it ends");
    let output = output.expect("the command was built");
    drop(folder);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[tokio::test]
async fn p16_a_second_gateway_on_the_same_port_says_so_and_the_first_serves_on() {
    let first = Start::default().start().await;
    let said = refusal(&Start {
        listen: Some(first.address),
        ..Start::default()
    })
    .await;
    let address = first.address;
    assert!(
        said.contains(&format!("cannot listen on {address}")),
        "{said}"
    );
    assert!(said.contains("--listen"), "{said}");
    let operator = first.operator;
    let config = format!("[server]\noperator_listen = \"{operator}\"\n");
    let said = refusal(&Start::with(config)).await;
    assert!(said.contains("operator_listen"), "{said}");
    first.assert_alive().await;
}

#[tokio::test]
async fn f06_without_a_key_only_this_machine_is_served() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let said = refusal(&Start {
            listen: listen.parse().ok(),
            ..Start::default()
        })
        .await;
        assert!(said.contains("no key is configured"), "{said}");
    }
}

#[tokio::test]
async fn f07_a_file_with_keys_in_it_that_others_can_read_is_warned_of_once() {
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
        let served = Start {
            before,
            environment: vec![("KEY", "CANARY-variable".to_owned())],
            ..Start::with(config)
        }
        .start()
        .await;
        served.ask(ask("demo/text", false)).await;
        let log = served.log_until("served request=").await;
        let told = log
            .matches("every user of this machine can read it")
            .count();
        assert_eq!(told, warnings, "{before} {config}\n{log}");
        assert!(!log.contains("CANARY"), "{log}");
    }
}

#[tokio::test]
async fn f08_a_variable_that_is_missing_is_named_and_none_is_shown() {
    let key = |name: &str| Start {
        environment: vec![("PRESENT", "CANARY-key".to_owned())],
        ..Start::with(format!(
            "[providers.x]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\napi_key = \"${{{name}}}\"\nwrong = 1\n"
        ))
    };
    let said = refusal(&key("MISSING")).await;
    assert!(said.contains("MISSING"), "{said}");
    let said = refusal(&key("PRESENT")).await;
    assert!(said.contains("wrong") && !said.contains("CANARY"), "{said}");
    let said = refusal(&Start {
        config: "[providers.x]\ndsn = \"nonsense://CANARY-token@host\"\n".to_owned(),
        ..Start::default()
    })
    .await;
    assert!(!said.contains("CANARY"), "{said}");
}

#[tokio::test]
async fn s09_nothing_that_looks_like_a_command_or_a_path_is_one() {
    let served = Start::default().start().await;
    let before = served.children();
    let text = r#"{{7*7}} $(touch /x) `id` ${PATH} ../../etc/passwd file:///etc/passwd"#;
    for field in [
        "command", "template", "url", "path", "file", "config", "plugins",
    ] {
        let body = format!(
            r#"{{"model":"demo/text","{field}":{text:?},"messages":[{{"role":"user","content":{text:?}}}]}}"#
        );
        let answer = served.ask(post("/v1/chat/completions", "", &body)).await;
        assert!(!answer.contains("root:"), "{answer}");
        assert!(!answer.starts_with("HTTP/1.1 5"), "{answer}");
    }
    for url in [
        "file:///etc/passwd",
        "/etc/passwd",
        "http://localhost/x.png",
    ] {
        let body = format!(
            r#"{{"model":"demo/vision","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
        );
        let answer = served.ask(post("/v1/chat/completions", "", &body)).await;
        assert!(!answer.contains("root:"), "{url}: {answer}");
        assert!(!answer.starts_with("HTTP/1.1 5"), "{url}: {answer}");
    }
    assert_eq!(served.children(), before);
    served.assert_alive().await;
}

#[tokio::test]
async fn s29_no_proxy_fetches_what_the_gateway_may_not() {
    let proxy = Upstream::start([Script::new().read_request()]).await;
    let address = proxy.address();
    let ollama = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!(
        "[fetch]\nenabled = true\n[providers.eyes]\nkind = \"ollama\"\nbase_url = \"http://{}\"\n\
         [providers.eyes.models.m]\nimages = {{ max = 4 }}\n",
        ollama.address()
    );
    let served = Start {
        environment: ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"]
            .map(|name| (name, format!("http://{address}")))
            .into_iter()
            .chain([("NO_PROXY", "127.0.0.1".to_owned())])
            .collect(),
        ..Start::with(config)
    }
    .start()
    .await;
    let body = r#"{"model":"eyes/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://localhost/x.png"}}]}]}"#;
    let answer = served.ask(post("/v1/chat/completions", "", body)).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("is not public"), "{answer}");
    let asked: Vec<_> = proxy.requests().into_iter().map(|it| it.head).collect();
    assert!(
        asked.iter().all(|head| !head.contains("x.png")),
        "{asked:?}"
    );
}

#[tokio::test]
async fn p14_a_log_that_nobody_reads_keeps_nobody_waiting() {
    let served = Start {
        log_unread: true,
        ..Start::default()
    }
    .start()
    .await;
    // Far more lines than a pipe holds.
    for _ in 0..2_000 {
        let answer = served.ask(ask("demo/text", false)).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    served.assert_alive().await;
}

#[tokio::test]
async fn a_provider_that_the_file_names_is_asked() {
    let upstream = Upstream::start([crate::served::answering(1)]).await;
    let served = Start::with(provider(&upstream)).start().await;
    let answer = served.ask(ask("up/m", false)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
