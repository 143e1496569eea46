//! Reloads of the configuration file.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{
    CLIENT_KEY, EVENT, TestGateway, case, chat_request, header, logged, post, provider,
    standing_still, statuses,
};

/// A request without a key.
const KEYLESS: &str = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

fn key() -> String {
    format!("[[keys]]\nname = \"laptop\"\nkey = \"{CLIENT_KEY}\"\n")
}

#[test]
fn a_rejected_file_leaves_the_old_one_in_effect_and_is_reported() {
    let good = "[aliases]\nthis = \"demo/text\"\n";
    for (bad, reported) in [
        ("[aliases]\nthis = ", "majordomo.toml:2"),
        ("[alias]\n", "did you mean"),
        ("[aliases]\nthis = \"nobody/x\"\n", "nobody"),
        ("[aliases]\na = \"b\"\nb = \"a\"\n", "majordomo.toml:2"),
        (
            "[providers.x]\nkind = \"demo\"\n[providers.x]\nkind = \"demo\"\n",
            "is defined twice",
        ),
        (
            "[[routes]]\nmodel = \"r\"\nservices = [ { spec = \"demo/text\" } ]\n[[routes.smart]]\nname = \"s\"\n\
             when = [ { position = \"model\", op = \"regex\", value = \"(\" } ]\nservices = [ { spec = \"demo/text\" } ]\n",
            "majordomo.toml:6",
        ),
    ] {
        case(async {
            let gateway = TestGateway::start(good).await;
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
            gateway.rewrite(bad);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 1")
                .await;
            let health = gateway.get_operator("/api/health").await;
            assert!(health.contains("config_stale"), "{health}");
            assert!(health.contains(reported), "{reported}: {health}");
            assert_eq!(
                statuses(&gateway.raw(chat_request("this", false)).await),
                [200]
            );
            gateway.rewrite("[aliases]\nthat = \"demo/text\"\n");
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
            assert_eq!(
                statuses(&gateway.raw(chat_request("that", false)).await),
                [200]
            );
            gateway.assert_invariants(()).await;
        });
    }
}

#[test]
fn a_stream_completes_after_its_provider_is_removed_from_the_file() {
    case(async {
        let finish = EVENT.replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
        let script = Script::new()
            .read_request()
            .stream_head()
            .chunk(EVENT)
            .wait(Duration::from_millis(500))
            .chunk(finish)
            .chunk("data: [DONE]\n\n")
            .last_chunk();
        let upstream = Upstream::start([script]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        client.until("word").await;
        gateway.rewrite("[aliases]\nnew = \"demo/text\"\n");
        let rest = client.rest().await;
        assert!(rest.contains("[DONE]"), "{rest}");
        let served_by_the_new_file =
            async { while statuses(&gateway.raw(chat_request("new", false)).await) != [200] {} };
        let served =
            tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, served_by_the_new_file).await;
        assert!(served.is_ok(), "the new file never takes effect");
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [404]
        );
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn target_health_survives_a_reload() {
    case(async {
        let refuse = Script::new()
            .read_request()
            .respond(401, "application/json", "{}");
        let upstream = Upstream::start([refuse]).await;
        let config = provider(&upstream);
        let gateway = TestGateway::start(&config).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [502]
        );
        gateway.poll_operator_until("/api/health", "benched").await;
        gateway.rewrite(&format!("{config}[aliases]\nnew = \"demo/text\"\n"));
        let reloaded =
            async { while statuses(&gateway.raw(chat_request("new", false)).await) != [200] {} };
        let reloaded = tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, reloaded).await;
        assert!(reloaded.is_ok(), "the new file never takes effect");
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("benched"), "{health}");
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_short_key_causes_a_warning_that_names_it() {
    case(async {
        let gateway = TestGateway::start(&format!(
            "[[keys]]\nname = \"laptop\"\nkey = \"{CLIENT_KEY}\"\n"
        ))
        .await;
        let log = logged();
        let warned = log
            .lines()
            .any(|line| line.contains("WARN") && line.contains("laptop"));
        assert!(warned, "{log}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_stalled_stream_survives_a_reload() {
    case(async {
        let upstream = standing_still(1).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        client.until("word").await;
        gateway.rewrite("[alias]\n");
        gateway
            .poll_operator_until("/metrics", "majordomo_config_stale 1")
            .await;
        assert_eq!(upstream.connections()[0].peer_closed, None);
        gateway.assert_invariants((upstream, client)).await;
    });
}

const ROUTED: &str = r#"
[providers.other]
kind = "demo"
[[routes]]
model = "coder"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "everything"
when = [ { position = "token", op = "ge", value = 0 } ]
services = [ { spec = "other/text" } ]
"#;

/// Two invalid rules.
const BAD: &str = r#"
[[routes.smart]]
name = "misspelled"
when = [ { position = "modle", op = "contains", value = "x" } ]
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "no number"
when = [ { position = "token", op = "ge", value = "many" } ]
services = [ { spec = "demo/text" } ]
"#;

#[test]
fn a_reload_with_invalid_rules_reports_all_of_them_and_keeps_the_old_file() {
    case(async {
        let gateway = TestGateway::start(ROUTED).await;
        let target = async || {
            let response = gateway.raw(chat_request("coder", false)).await;
            header(&response, "x-majordomo-target").map(str::to_owned)
        };
        assert_eq!(target().await.as_deref(), Some("other/text"));

        let served = ROUTED.replace("other/text", "demo/text");
        gateway.rewrite(&format!("{served}{BAD}"));
        gateway
            .poll_operator_until("/metrics", "majordomo_config_stale 1")
            .await;
        let health = gateway.get_operator("/api/health").await;
        for place in ["majordomo.toml:14:", "majordomo.toml:18:"] {
            assert!(health.contains(place), "{place}: {health}");
        }
        assert_eq!(target().await.as_deref(), Some("other/text"), "as before");

        gateway.rewrite(&served);
        gateway
            .poll_operator_until("/metrics", "majordomo_config_stale 0")
            .await;
        assert_eq!(target().await.as_deref(), Some("demo/text"));
        gateway.assert_invariants(()).await;
    });
}

/// A route over two services, and an alias that identifies the active file.
fn weighted(name: &str, weight: u32) -> String {
    format!(
        r#"
[providers.a]
kind = "demo"
[providers.b]
kind = "demo"
[aliases]
{name} = "a/text"
[[routes]]
model = "shared"
affinity = "30m"
services = [ {{ spec = "a/text", weight = {weight} }}, {{ spec = "b/text", weight = {weight} }} ]
"#
    )
}

#[test]
fn a_reload_keeps_sessions_and_statistics_of_retained_services() {
    case(async {
        let gateway = TestGateway::start(&weighted("before", 1)).await;
        let served_by = async || {
            let request = chat_request("shared", false);
            let response = gateway
                .raw(request.replacen("host: ", "x-session-id: one\r\nhost: ", 1))
                .await;
            header(&response, "x-majordomo-target").map(str::to_owned)
        };
        let pinned = served_by().await.expect("somebody serves");
        for _ in 1..10 {
            assert_eq!(served_by().await.as_deref(), Some(&*pinned));
        }

        gateway.rewrite(&weighted("after", 3));
        while statuses(&gateway.raw(chat_request("after", false)).await) != [200] {
            tokio::task::yield_now().await;
        }

        for _ in 0..10 {
            assert_eq!(served_by().await.as_deref(), Some(&*pinned), "pinned");
        }
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 0")
            .await;
        let health = gateway.get_operator("/api/health").await;
        let body = health.split("\r\n\r\n").nth(1).expect("a body");
        let health: serde_json::Value = serde_json::from_str(body).expect("JSON");
        let services = health["services"][0]["services"].as_array();
        let mut services = services.into_iter().flatten();
        let service = services.find(|service| service["id"] == *pinned);
        let service = service.unwrap_or_else(|| panic!("{pinned}: {health}"));
        assert_eq!(
            (&service["answers"], &service["weight"]),
            (&20.into(), &3.into())
        );
        gateway.assert_invariants(()).await;
    });
}

/// The file is rejected, the rejection is reported, and no client gets in.
async fn stays_closed(gateway: &TestGateway, reported: &str) {
    gateway
        .poll_operator_until("/metrics", "majordomo_config_stale 1")
        .await;
    let health = gateway.get_operator("/api/health").await;
    assert!(health.contains(reported), "{reported}: {health}");
    assert_eq!(statuses(&gateway.raw(KEYLESS).await), [401]);
    assert_eq!(
        statuses(&gateway.raw(chat_request("this", false)).await),
        [200]
    );
}

#[test]
fn a_file_that_loses_its_keys_admits_no_one() {
    let aliases = "[aliases]\nthis = \"demo/text\"\n";
    case(async {
        let config = format!("{aliases}{}", key());
        let gateway = TestGateway::start(&config).await;
        for (text, reported) in [
            ("", "the file is empty"),
            ("\n# [[keys]]\n", "the file is empty"),
            (aliases, "the last of the [[keys]] was removed"),
            ("[aliases]\nother = \"demo/text\"\n", "restart majordomo"),
        ] {
            // As a shell or a full disk does.
            std::fs::write(gateway.file(), text).unwrap();
            stays_closed(&gateway, reported).await;
            gateway.rewrite(&config);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
            gateway.rewrite(text);
            stays_closed(&gateway, reported).await;
            gateway.rewrite(&config);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
        }
        std::fs::remove_file(gateway.file()).unwrap();
        stays_closed(&gateway, "cannot be read").await;
        gateway.assert_invariants(()).await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_partially_written_file_is_not_applied() {
    use std::io::Write;

    case(async {
        let before = "[aliases]\nthis = \"demo/text\"\n";
        let gateway = TestGateway::start(before).await;
        let mut file = std::fs::File::create(gateway.file()).unwrap();
        file.write_all(b"[aliases]\nhalf = \"demo/text\"\n")
            .unwrap();
        file.flush().unwrap();
        // Far longer than the watcher's debounce.
        for _ in 0..40 {
            assert_eq!(
                statuses(&gateway.raw(chat_request("half", false)).await),
                [404]
            );
            assert_eq!(
                statuses(&gateway.raw(chat_request("this", false)).await),
                [200]
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        file.write_all(b"whole = \"demo/text\"\n").unwrap();
        drop(file);
        while statuses(&gateway.raw(chat_request("whole", false)).await) != [200] {
            tokio::task::yield_now().await;
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn settings_that_need_a_restart_are_reported_and_the_rest_is_applied() {
    case(async {
        let gateway = TestGateway::start("[aliases]\nold = \"demo/text\"\n").await;
        let health = gateway.get_operator("/api/health").await;
        assert!(!health.contains("config_notes"), "{health}");
        gateway.rewrite(
            "[server]\noperator_listen = \"127.0.0.1:4999\"\n\
             tls = { cert = \"c.pem\", key = \"k.pem\" }\n[aliases]\nnew = \"demo/text\"\n",
        );
        gateway
            .poll_operator_until("/api/health", "config_notes")
            .await;
        let health = gateway.get_operator("/api/health").await;
        for setting in ["`operator_listen`", "`tls`"] {
            assert!(health.contains(setting), "{setting}: {health}");
            let logged = logged();
            let mut lines = logged.lines();
            let warned = |line: &str| {
                line.contains("WARN") && line.contains(setting) && line.contains("restart")
            };
            assert!(lines.any(warned), "{setting}: {logged}");
        }
        assert!(!health.contains("config_stale"), "{health}");
        assert_eq!(
            statuses(&gateway.raw(chat_request("new", false)).await),
            [200]
        );
        gateway.rewrite("[aliases]\nold = \"demo/text\"\n");
        while gateway
            .get_operator("/api/health")
            .await
            .contains("config_notes")
        {
            tokio::task::yield_now().await;
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn disabling_fetching_disables_it_for_the_vision_proxy() {
    case(async {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let address = upstream.address();
        let config = |enabled: bool| {
            format!(
                "[fetch]\nenabled = {enabled}\n[vision]\non_failure = \"fail\"\n\
                 [providers.eyes]\nkind = \"ollama\"\nbase_url = \"http://{address}\"\n\
                 [providers.eyes.models.m]\nimages = {{ max = 4 }}\n\
                 {}[providers.up.models.m]\nimages = false\ndescribe = \"eyes/m\"\n",
                provider(&upstream),
            )
        };
        let gateway = TestGateway::start(&config(true)).await;
        // Loopback is never fetched from, and an attempt fails with that reason.
        let body = r#"{"model":"up/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://127.0.0.1:1/cat.png"}}]}]}"#;
        let request = post("/v1/chat/completions", "connection: close\r\n", body);
        let fetched = async |enabled| {
            gateway.rewrite(&config(enabled));
            while gateway.raw(&request).await.contains("fetched") != enabled {
                tokio::task::yield_now().await;
            }
        };
        let response = gateway.raw(&request).await;
        assert!(response.contains("could not be fetched"), "{response}");
        for enabled in [false, true, false] {
            let done =
                tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, fetched(enabled)).await;
            assert!(done.is_ok(), "enabled = {enabled} is ignored");
        }
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_rejected_file_reveals_no_secret_to_health_or_the_log() {
    case(async {
        let gateway = TestGateway::start("[aliases]\nthis = \"demo/text\"\n").await;
        for text in [
            "[[keys]]\nname = \"a\"\nkey = [\"CANARY-one\"]\n",
            "[providers.x]\nbase_url = \"https://host/v1?key=CANARY-two\"\n",
            "[providers.x]\nheaders = { authorization = \"CANARY-three\" }\n",
            "[providers.x]\napi_key = \"CANARY-four\n",
        ] {
            gateway.rewrite(text);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 1")
                .await;
            gateway.rewrite("[aliases]\nthis = \"demo/text\"\n");
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
        }
        assert!(logged().contains("the old configuration stays"));
        // The check after every case searches all output.
        gateway.assert_invariants(()).await;
    });
}
