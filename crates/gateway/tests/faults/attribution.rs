//! Failure attribution: a failure caused by one client must not affect another.

use majordomo_testkit::{ClosedPort, Script, Upstream};

use crate::test_gateway::{
    CLIENT_KEY, Client, TestGateway, case, chat_request, logged, post, provider, statuses,
};

const OTHER_KEY: &str = "CANARY-other-key";
/// Sent by the first client and echoed by its upstream.
const SECRET: &str = "hunter2-is-my-password";
const GOOD: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;

fn keys() -> String {
    format!(
        "[[keys]]\nname = \"first\"\nkey = \"{CLIENT_KEY}\"\n[[keys]]\nname = \"second\"\nkey = \"{OTHER_KEY}\"\n"
    )
}

/// A request of the second client.
fn other_requests(model: &str) -> String {
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#);
    let headers = format!("connection: close\r\nauthorization: Bearer {OTHER_KEY}\r\n");
    post("/v1/chat/completions", &headers, &body)
}

fn answers(status: u16, body: impl Into<String>) -> Script {
    let body: String = body.into();
    Script::new()
        .read_request()
        .respond(status, "application/json", body)
}

fn repeats(status: u16, code: &str) -> Script {
    let message = format!("your input '{SECRET}' was refused");
    answers(
        status,
        format!(r#"{{"error":{{"message":"{message}","code":"{code}"}}}}"#),
    )
}

/// Sends a request to the operator listener.
async fn tell(gateway: &TestGateway, line: &str, headers: &str) -> String {
    let mut client = Client::connect(gateway.operator).await;
    let host = gateway.operator;
    let head = format!(
        "{line} HTTP/1.1\r\nhost: {host}\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n"
    );
    client.send(head).await;
    client.rest().await
}

#[test]
fn an_upstream_error_for_one_client_reaches_no_other_client_or_page() {
    // A throttled target stays throttled for others, so that their own retries work.
    for (status, code, other, for_others) in [
        (401, "invalid_api_key", "up/b", 503),
        (403, "account_deactivated", "up/b", 503),
        (402, "", "up/b", 503),
        (500, "", "up/a", 503),
        (429, "slow_down", "up/a", 429),
    ] {
        case(async {
            let upstream = Upstream::start([repeats(status, code).times(2)]).await;
            let switch = "[chain]\nall_benched = \"fail\"\n";
            let gateway =
                TestGateway::start(&format!("{}{}{switch}", provider(&upstream), keys())).await;
            let own = gateway.raw(chat_request("up/a", false)).await;
            assert!(own.contains(SECRET), "a client sees its own error: {own}");

            let foreign = gateway.raw(other_requests(other)).await;
            assert_eq!(statuses(&foreign), [for_others], "{foreign}");
            assert!(!foreign.contains(SECRET), "{foreign}");
            for path in ["/", "/api/health", "/api/requests", "/metrics"] {
                let page = gateway.get_operator(path).await;
                assert!(!page.contains(SECRET), "{path}: {page}");
            }
            let log = logged();
            assert!(log.contains("benched") && !log.contains(SECRET), "{log}");
            let health = gateway.get_operator("/api/health").await;
            assert!(health.contains(&format!("\"status\":{status}")), "{health}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn moderated_input_of_one_client_benches_no_model_for_another() {
    case(async {
        let moderated = r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"invalid_api_key"}}}"#;
        let upstream = Upstream::start([
            answers(403, moderated),
            answers(200, GOOD),
            answers(200, GOOD),
        ])
        .await;
        let gateway = TestGateway::start(&format!("{}{}", provider(&upstream), keys())).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/a", false)).await),
            [403]
        );
        assert_eq!(statuses(&gateway.raw(other_requests("up/b")).await), [200]);
        assert_eq!(statuses(&gateway.raw(other_requests("up/a")).await), [200]);
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn five_good_requests_after_a_poison_request_are_all_served() {
    case(async {
        let slow = Script::new()
            .read_request()
            .wait(std::time::Duration::from_millis(100))
            .respond(200, "application/json", GOOD);
        let upstream = Upstream::start([answers(500, "{}").times(2), slow.times(5)]).await;
        let config = format!(
            "{}[aliases]\nonly = \"up/m\"\n{}",
            provider(&upstream),
            keys()
        );
        let gateway = TestGateway::start(&config).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("only", false)).await),
            [502]
        );
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("\"state\":\"benched\""), "{health}");
        assert_eq!(statuses(&gateway.get_operator("/readyz").await), [200]);

        let good = [(); 5].map(|()| gateway.raw(other_requests("only")));
        let served = futures(good).await;
        for response in served {
            assert_eq!(statuses(&response), [200], "{response}");
        }
        let health = gateway.get_operator("/api/health").await;
        assert!(!health.contains("\"state\":\"benched\""), "{health}");
        gateway.assert_invariants(upstream).await;
    });
}

/// Sends all concurrently.
async fn futures<const N: usize>(work: [impl Future<Output = String>; N]) -> Vec<String> {
    let mut work: Vec<_> = work.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<String>> = vec![None; N];
    std::future::poll_fn(|cx| {
        for (one, result) in work.iter_mut().zip(&mut done) {
            if result.is_none()
                && let std::task::Poll::Ready(response) = one.as_mut().poll(cx)
            {
                *result = Some(response);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[test]
fn a_corrected_key_is_used_immediately_and_an_unchanged_one_stays_benched() {
    case(async {
        let upstream = Upstream::start([answers(401, "{}"), answers(200, GOOD)]).await;
        let config = provider(&upstream);
        let gateway = TestGateway::start(&config).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [502]
        );
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [503]
        );

        let reloaded = async |marker: &str, config: &str| {
            gateway.rewrite(&format!("{config}[aliases]\n{marker} = \"demo/text\"\n"));
            let seen = async {
                while statuses(&gateway.raw(chat_request(marker, false)).await) != [200] {}
            };
            let seen = tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, seen).await;
            assert!(seen.is_ok(), "the new file is never at work");
        };
        reloaded("same", &config).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [503]
        );

        let corrected = config.replace("CANARY-upstream-key", "CANARY-corrected-key");
        reloaded("corrected", &corrected).await;
        let health = gateway.get_operator("/api/health").await;
        assert!(!health.contains("\"state\":\"benched\""), "{health}");
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/m", false)).await),
            [200]
        );
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn an_operator_releases_a_target_and_its_credential() {
    case(async {
        let upstream = Upstream::start([answers(401, "{}"), answers(200, GOOD)]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/org/m:free", false)).await),
            [502]
        );
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/org/m:free", false)).await),
            [503]
        );
        let path = "/api/targets/up%2Forg/m:free/release";

        for method in ["GET", "PUT", "DELETE"] {
            let response = tell(&gateway, &format!("{method} {path}"), "").await;
            assert_eq!(statuses(&response), [405], "{method}: {response}");
        }
        for (headers, status) in [
            ("origin: http://evil.example\r\n", 403),
            ("sec-fetch-site: cross-site\r\n", 403),
            ("content-type: text/plain\r\n", 415),
            ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ] {
            let response = tell(&gateway, &format!("POST {path}"), headers).await;
            assert_eq!(statuses(&response), [status], "{headers}: {response}");
        }
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/org/m:free", false)).await),
            [503]
        );

        let unknown = tell(&gateway, "POST /api/targets/up/org/m:fre/release", "").await;
        assert_eq!(statuses(&unknown), [404], "{unknown}");
        assert!(unknown.contains("\"up/org/m:free\""), "{unknown}");

        let response = tell(&gateway, &format!("POST {path}"), "").await;
        assert_eq!(statuses(&response), [200], "{response}");
        assert!(response.contains(r#""released":["up"]"#), "{response}");
        assert_eq!(
            statuses(&gateway.raw(chat_request("up/org/m:free", false)).await),
            [200]
        );
        gateway.assert_invariants(upstream).await;
    });
}

/// A provider at a closed port.
fn dead(port: &ClosedPort) -> String {
    let address = port.address();
    format!("[providers.dead]\nkind = \"openai\"\nbase_url = \"http://{address}\"\n")
}

#[test]
fn only_configured_targets_decide_whether_the_gateway_is_ready() {
    case(async {
        let port = ClosedPort::hold();
        let config = format!("{}[aliases]\nwell = \"demo/text\"\n", dead(&port));
        let gateway = TestGateway::start(&config).await;
        for name in ["dead/a", "dead/b"] {
            gateway.raw(chat_request(name, false)).await;
        }
        assert_eq!(statuses(&gateway.get_operator("/readyz").await), [200]);
        gateway.assert_invariants(()).await;
    });
    case(async {
        let port = ClosedPort::hold();
        let config = format!("{}[aliases]\nonly = \"dead/a\"\n", dead(&port));
        let gateway = TestGateway::start(&config).await;
        gateway.raw(chat_request("only", false)).await;
        assert_eq!(statuses(&gateway.get_operator("/readyz").await), [503]);
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn thousands_of_invented_names_are_counted_and_not_listed() {
    case(async {
        let port = ClosedPort::hold();
        let config = format!("{}[aliases]\nknown = \"dead/known\"\n", dead(&port));
        let gateway = TestGateway::start(&config).await;
        gateway.raw(chat_request("known", false)).await;
        let mut client = gateway.connect().await;
        for n in 0..1_500 {
            let model = format!("dead/{n:0>200}");
            let request = chat_request(&model, false).replace("connection: close\r\n", "");
            client.send(request).await;
            client.until("no target could serve").await;
        }
        drop(client);
        let health = gateway.get_operator("/api/health").await;
        assert!(health.len() < 200_000, "{} bytes", health.len());
        assert!(health.contains("\"target\":\"dead/known\""), "{health}");
        let listed = health.matches("\"target\":").count();
        assert!((200..400).contains(&listed), "{listed} are listed");
        assert!(health.contains("\"other\":{\"targets\":"), "{health}");
        let metrics = gateway.get_operator("/metrics").await;
        let usable = metrics.matches("majordomo_target_usable{").count();
        assert!(usable < 50, "{usable} labels");
        gateway.assert_invariants(()).await;
    });
}
