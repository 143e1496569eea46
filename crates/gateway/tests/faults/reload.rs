//! Files that change while they are served (F-01, F-03, F-05, F-07, R24).

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};

use crate::stage::{
    CLIENT_KEY, EVENT, Stage, ask, case, header, logged, provider, standing_still, statuses,
};

#[test]
fn f01_a_bad_file_leaves_the_old_one_at_work_and_the_operator_is_told() {
    let good = "[aliases]\nthis = \"demo/text\"\n";
    for (bad, told) in [
        ("[aliases]\nthis = ", "majordomo.toml:2"),
        ("[alias]\n", "did you mean"),
        ("[aliases]\nthis = \"nobody/x\"\n", "nobody"),
        ("[aliases]\na = \"b\"\nb = \"a\"\n", "majordomo.toml:2"),
        (
            "[providers.x]\nkind = \"demo\"\n[providers.x]\nkind = \"demo\"\n",
            "second time",
        ),
        (
            "[[routes]]\nmodel = \"r\"\nservices = [ { spec = \"demo/text\" } ]\n[[routes.smart]]\nname = \"s\"\n\
             when = [ { position = \"model\", op = \"regex\", value = \"(\" } ]\nservices = [ { spec = \"demo/text\" } ]\n",
            "majordomo.toml:6",
        ),
    ] {
        case(async {
            let stage = Stage::start(good).await;
            stage
                .look_until("/metrics", "majordomo_config_stale 0")
                .await;
            stage.rewrite(bad);
            stage
                .look_until("/metrics", "majordomo_config_stale 1")
                .await;
            let health = stage.look("/api/health").await;
            assert!(health.contains("config_stale"), "{health}");
            assert!(health.contains(told), "{told}: {health}");
            assert_eq!(statuses(&stage.raw(ask("this", false)).await), [200]);
            stage.rewrite("[aliases]\nthat = \"demo/text\"\n");
            stage
                .look_until("/metrics", "majordomo_config_stale 0")
                .await;
            assert_eq!(statuses(&stage.raw(ask("that", false)).await), [200]);
            stage.holds(()).await;
        });
    }
}

#[test]
fn f03_a_stream_ends_well_though_its_provider_is_gone_from_the_file() {
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
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        stage.rewrite("[aliases]\nnew = \"demo/text\"\n");
        let rest = client.rest().await;
        assert!(rest.contains("[DONE]"), "{rest}");
        let served_by_the_new_file =
            async { while statuses(&stage.raw(ask("new", false)).await) != [200] {} };
        let served = tokio::time::timeout(crate::stage::FOREVER, served_by_the_new_file).await;
        assert!(served.is_ok(), "the new file is never at work");
        assert_eq!(statuses(&stage.raw(ask("up/m", false)).await), [404]);
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn f05_what_is_known_of_targets_outlives_a_reload() {
    case(async {
        let refuse = Script::new()
            .read_request()
            .answer(401, "application/json", "{}");
        let upstream = Upstream::start([refuse]).await;
        let config = provider(&upstream);
        let stage = Stage::start(&config).await;
        assert_eq!(statuses(&stage.raw(ask("up/m", false)).await), [502]);
        stage.look_until("/api/health", "benched").await;
        stage.rewrite(&format!("{config}[aliases]\nnew = \"demo/text\"\n"));
        let reloaded = async { while statuses(&stage.raw(ask("new", false)).await) != [200] {} };
        let reloaded = tokio::time::timeout(crate::stage::FOREVER, reloaded).await;
        assert!(reloaded.is_ok(), "the new file is never at work");
        let health = stage.look("/api/health").await;
        assert!(health.contains("benched"), "{health}");
        stage.holds(upstream).await;
    });
}

#[test]
fn f07_a_short_key_is_warned_of_by_its_name() {
    case(async {
        let stage = Stage::start(&format!(
            "[[keys]]\nname = \"laptop\"\nkey = \"{CLIENT_KEY}\"\n"
        ))
        .await;
        let log = logged();
        let warned = log
            .lines()
            .any(|line| line.contains("WARN") && line.contains("laptop"));
        assert!(warned, "{log}");
        stage.holds(()).await;
    });
}

#[test]
fn a_stream_that_stands_still_is_not_touched_by_a_reload() {
    case(async {
        let upstream = standing_still(1).await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        stage.rewrite("[alias]\n");
        stage
            .look_until("/metrics", "majordomo_config_stale 1")
            .await;
        assert_eq!(upstream.connections()[0].peer_closed, None);
        stage.holds((upstream, client)).await;
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

/// Two rules that are wrong.
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
fn r24_a_reload_with_bad_rules_reports_all_and_the_old_file_keeps_serving() {
    case(async {
        let stage = Stage::start(ROUTED).await;
        let target = async || {
            let answer = stage.raw(ask("coder", false)).await;
            header(&answer, "x-majordomo-target").map(str::to_owned)
        };
        assert_eq!(target().await.as_deref(), Some("other/text"));

        let served = ROUTED.replace("other/text", "demo/text");
        stage.rewrite(&format!("{served}{BAD}"));
        stage
            .look_until("/metrics", "majordomo_config_stale 1")
            .await;
        let health = stage.look("/api/health").await;
        for place in ["majordomo.toml:14:", "majordomo.toml:18:"] {
            assert!(health.contains(place), "{place}: {health}");
        }
        assert_eq!(target().await.as_deref(), Some("other/text"), "as before");

        stage.rewrite(&served);
        stage
            .look_until("/metrics", "majordomo_config_stale 0")
            .await;
        assert_eq!(target().await.as_deref(), Some("demo/text"));
        stage.holds(()).await;
    });
}

/// A route over two services, and a name that tells which file is at work.
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
fn a_reload_keeps_the_sessions_and_the_figures_of_services_that_stay() {
    case(async {
        let stage = Stage::start(&weighted("before", 1)).await;
        let served_by = async || {
            let request = ask("shared", false);
            let answer = stage
                .raw(request.replacen("host: ", "x-session-id: one\r\nhost: ", 1))
                .await;
            header(&answer, "x-majordomo-target").map(str::to_owned)
        };
        let pinned = served_by().await.expect("somebody serves");
        for _ in 1..10 {
            assert_eq!(served_by().await.as_deref(), Some(&*pinned));
        }

        stage.rewrite(&weighted("after", 3));
        while statuses(&stage.raw(ask("after", false)).await) != [200] {
            tokio::task::yield_now().await;
        }

        for _ in 0..10 {
            assert_eq!(served_by().await.as_deref(), Some(&*pinned), "pinned");
        }
        stage
            .look_until("/metrics", "majordomo_open_requests 0")
            .await;
        let health = stage.look("/api/health").await;
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
        stage.holds(()).await;
    });
}
