//! Keys and teams at run time: created, frozen, rotated, deleted, and without their store.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use majordomo_ledger::{AccessChange, AccessStore, AuditStamp, SqliteAccess};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::serve::test_gateway::{TestGateway, TestResponse};

const BODY: &str = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;

/// A configuration whose ledger, and so its keys, are in this folder.
fn stored_in(folder: &Path) -> String {
    format!(
        "[ledger]\nstore = \"sqlite://{}/ledger\"\n",
        folder.display()
    )
}

/// Sends a request to `/api/…`.
async fn api(gateway: &TestGateway, method: Method, path: &str, body: &Value) -> TestResponse {
    let bytes = match body {
        Value::Null => Bytes::new(),
        body => body.to_string().into(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", gateway.operator.to_string())
        .header("content-type", "application/json");
    let request = request.body(Full::new(bytes)).expect("a request");
    gateway.send_to_address(gateway.operator, request).await
}

fn parsed(response: &TestResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}

/// Creates a key and returns its secret.
async fn create(gateway: &TestGateway, settings: Value) -> String {
    let reply = api(gateway, Method::POST, "/api/keys", &settings).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let secret = parsed(&reply)["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert!(secret.starts_with("mj-"));
    secret
}

/// The status of a request with this key; without one if it is empty.
async fn status(gateway: &TestGateway, key: &str) -> u16 {
    let headers = [("x-api-key", key)];
    let headers = if key.is_empty() { &[][..] } else { &headers };
    let reply = gateway.request("/v1/chat/completions", headers, BODY).await;
    reply.status.as_u16()
}

#[tokio::test]
async fn a_stored_key_works_at_once_and_its_secret_is_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = TestGateway::start(&stored_in(folder.path())).await;
    assert_eq!(status(&gateway, "").await, 200);
    let secret = create(&gateway, json!({"name": "ada", "models": ["demo/*"]})).await;
    assert_eq!(status(&gateway, &secret).await, 200);
    // From now on clients need a key.
    assert_eq!(status(&gateway, "").await, 401);
    assert_eq!(status(&gateway, "mj-canary").await, 401);
    let listed = api(&gateway, Method::GET, "/api/keys", &Value::Null).await;
    let key = &parsed(&listed)["keys"][0];
    assert_eq!(key["name"], "ada");
    assert_eq!(key["state"], "active");
    assert_eq!(key["origin"], "store");
    let audit = api(&gateway, Method::GET, "/api/audit", &Value::Null).await;
    let row = &parsed(&audit)["audit"][0];
    assert_eq!(
        (&row["action"], &row["who"]),
        (&json!("key.create"), &json!("local"))
    );
    let traces = api(&gateway, Method::GET, "/api/requests", &Value::Null).await;
    for shown in [&listed, &audit, &traces] {
        assert!(!shown.text().contains(&secret), "{}", shown.text());
    }
    // On disk there are hashes only.
    gateway.stop().await;
    for file in majordomo_testkit::files(folder.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{}", file.display());
    }
}

#[tokio::test]
async fn a_frozen_key_stops_and_works_again_when_unfrozen() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = TestGateway::start(&stored_in(folder.path())).await;
    let secret = create(&gateway, json!({"name": "Ada & Co"})).await;
    let path = |action: &str| format!("/api/keys/Ada%20%26%20Co/{action}");
    let reply = api(&gateway, Method::POST, &path("freeze"), &Value::Null).await;
    assert_eq!(parsed(&reply)["key"]["state"], "frozen");
    let headers = [("x-api-key", &*secret)];
    let refused = gateway
        .request("/v1/chat/completions", &headers, BODY)
        .await;
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("is frozen"), "{}", refused.text());
    api(&gateway, Method::POST, &path("unfreeze"), &Value::Null).await;
    assert_eq!(status(&gateway, &secret).await, 200);
}

#[tokio::test]
async fn a_rotated_key_keeps_its_usage_and_both_secrets_work_in_the_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = TestGateway::start(&stored_in(folder.path())).await;
    let old = create(&gateway, json!({"name": "ada"})).await;
    assert_eq!(status(&gateway, &old).await, 200);
    let overlap = json!({"overlap": "1h"});
    let rotated = api(&gateway, Method::POST, "/api/keys/ada/rotate", &overlap).await;
    let new = parsed(&rotated)["secret"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    assert!(parsed(&rotated)["key"]["old_secret_until"].is_string());
    assert_eq!(status(&gateway, &old).await, 200);
    assert_eq!(status(&gateway, &new).await, 200);
    let own = gateway.request("/v1/key", &[("x-api-key", &new)], "").await;
    assert_eq!(
        parsed(&own)["usage"]["today"]["requests"],
        3,
        "{}",
        own.text()
    );
    // A rotation without an overlap leaves the newest secret only.
    let none = json!({"overlap": "0s"});
    let rotated = api(&gateway, Method::POST, "/api/keys/ada/rotate", &none).await;
    let newest = parsed(&rotated)["secret"].as_str().unwrap().to_owned();
    assert_eq!(status(&gateway, &old).await, 401);
    assert_eq!(status(&gateway, &new).await, 401);
    assert_eq!(status(&gateway, &newest).await, 200);
}

/// An upstream that streams a first part, waits, and then streams the second part with its
/// usage.
async fn pausing_upstream(released: oneshot::Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a working test server");
    let address = listener.local_addr().expect("a working test server");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a working test server");
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            stream
                .read_buf(&mut request)
                .await
                .expect("a working test server");
        }
        let delta = |text: &str| {
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let first = format!("{head}{}", delta("One, "));
        stream
            .write_all(first.as_bytes())
            .await
            .expect("a working test server");
        released.await.expect("a working test server");
        let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
                   \"usage\":{\"prompt_tokens\":30,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n";
        let rest = format!("{}{end}", delta("two."));
        stream
            .write_all(rest.as_bytes())
            .await
            .expect("a working test server");
    });
    address
}

#[tokio::test]
async fn a_key_deleted_mid_stream_finishes_its_stream_and_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let (release, released) = oneshot::channel();
    let upstream = pausing_upstream(released).await;
    let config = format!(
        "{}[providers.up]\nkind = \"openai\"\nbase_url = \"http://{upstream}/v1\"\napi_key = \"k\"\n",
        stored_in(folder.path()),
    );
    let gateway = TestGateway::start(&config).await;
    let secret = create(&gateway, json!({"name": "ada"})).await;
    let body = r#"{"model":"up/m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let mut client = TcpStream::connect(gateway.address).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-api-key: {secret}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut received = String::new();
    let mut buffer = [0; 4_096];
    while !received.contains("One, ") {
        let read = client.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    let deleted = api(&gateway, Method::DELETE, "/api/keys/ada", &Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(status(&gateway, &secret).await, 401);
    release.send(()).unwrap();
    client.read_to_string(&mut received).await.unwrap();
    assert!(
        received.contains("two.") && received.contains("[DONE]"),
        "{received}"
    );
    let usage = gateway
        .send_to_operator("/api/usage?by=key&since=1h", &[], b"")
        .await;
    let usage = parsed(&usage);
    assert_eq!(usage["rows"][0]["group"][0], "ada", "{usage}");
    assert_eq!(usage["rows"][0]["output"], 20, "{usage}");
}

#[tokio::test]
async fn an_unreadable_store_keeps_known_keys_and_refuses_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let config = stored_in(folder.path());
    let gateway = TestGateway::start(&config).await;
    let secret = create(&gateway, json!({"name": "ada"})).await;
    gateway.stop().await;
    let keys = SqliteAccess::path(&folder.path().join("ledger"));
    let aside = folder.path().join("aside");
    let cache = folder.path().join("ledger.keys.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&cache).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Garbage instead of the file, then no file at all, as on a disk that is not mounted.
    std::fs::rename(&keys, &aside).unwrap();
    for leftover in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{leftover}", keys.display()));
    }
    for garbage in [Some("not a database, whatever its length may be"), None] {
        match garbage {
            Some(garbage) => std::fs::write(&keys, garbage).unwrap(),
            None => std::fs::remove_file(&keys).unwrap(),
        }
        let gateway = TestGateway::start(&config).await;
        assert_eq!(status(&gateway, &secret).await, 200);
        assert_eq!(status(&gateway, "").await, 401);
        assert_eq!(status(&gateway, "mj-canary").await, 401);
        let refused = api(&gateway, Method::POST, "/api/keys", &json!({"name": "bob"})).await;
        assert!(refused.status.as_u16() >= 400, "{}", refused.text());
        gateway.stop().await;
    }
    // Without the cached copy no key is known, and the gateway is still not open.
    std::fs::write(&cache, "{").unwrap();
    let gateway = TestGateway::start(&config).await;
    assert_eq!(status(&gateway, "").await, 401);
    assert_eq!(status(&gateway, &secret).await, 401);
    // The store returns: no restart is needed.
    std::fs::rename(&aside, &keys).unwrap();
    while status(&gateway, &secret).await != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn changes_that_another_process_makes_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = TestGateway::start(&stored_in(folder.path())).await;
    let secret = create(&gateway, json!({"name": "ada"})).await;
    let mut store = SqliteAccess::open(&folder.path().join("ledger")).unwrap();
    let freeze = AccessChange::FreezeKey {
        name: "ada".to_owned(),
        frozen: true,
    };
    let stamp = AuditStamp {
        who: "command".to_owned(),
        at_millis: 1,
    };
    store.apply(&freeze, &stamp).unwrap();
    let began = tokio::time::Instant::now();
    while status(&gateway, &secret).await != 401 {
        tokio::task::yield_now().await;
    }
    println!("noticed after {:?}", began.elapsed());
}

#[tokio::test]
async fn keys_of_the_file_are_listed_and_cannot_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "{}[[teams]]\nname = \"search\"\nbudget = {{ month = \"500 USD\" }}\n\
         [[keys]]\nname = \"laptop\"\nkey = \"canary-canary-canary\"\nteam = \"search\"\n\
         limits = {{ requests_per_minute = 60, queue = \"10s\" }}\n",
        stored_in(folder.path())
    );
    let gateway = TestGateway::start(&config).await;
    let listed = api(&gateway, Method::GET, "/api/keys", &Value::Null).await;
    assert!(!listed.text().contains("canary"), "{}", listed.text());
    let laptop = &parsed(&listed)["keys"][0];
    assert_eq!(laptop["origin"], "file");
    assert_eq!(
        laptop["limits"],
        json!({"requests_per_minute": 60, "queue": "10s"})
    );
    let teams = api(&gateway, Method::GET, "/api/teams", &Value::Null).await;
    assert_eq!(
        parsed(&teams)["teams"][0]["budget"],
        json!({"month": "500 USD"})
    );
    for (method, path, body) in [
        (Method::POST, "/api/keys", json!({"name": "laptop"})),
        (
            Method::PATCH,
            "/api/keys/laptop",
            json!({"role": "operator"}),
        ),
        (Method::POST, "/api/keys/laptop/rotate", json!({})),
        (Method::POST, "/api/keys/laptop/freeze", Value::Null),
        (Method::DELETE, "/api/keys/laptop", Value::Null),
        (Method::PUT, "/api/teams/search", json!({})),
        (Method::DELETE, "/api/teams/search", Value::Null),
    ] {
        let reply = api(&gateway, method.clone(), path, &body).await;
        assert_eq!(reply.status, 409, "{method} {path}: {}", reply.text());
        assert!(
            reply.text().contains("configuration file"),
            "{}",
            reply.text()
        );
    }
    // A stored key may join a team of the file.
    let secret = create(&gateway, json!({"name": "ada", "team": "search"})).await;
    let own = gateway
        .request("/v1/key", &[("x-api-key", &secret)], "")
        .await;
    assert_eq!(parsed(&own)["team"], "search");
}

#[tokio::test]
async fn a_team_is_made_changed_and_deleted_only_when_no_key_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = TestGateway::start(&stored_in(folder.path())).await;
    let wanted = json!({"name": "a", "team": "ads"});
    let missing = api(&gateway, Method::POST, "/api/keys", &wanted).await;
    assert_eq!(missing.status, 400, "{}", missing.text());
    let team = json!({"budget": {"day": "5 USD"}, "when_exhausted": "warn"});
    let made = api(&gateway, Method::PUT, "/api/teams/ads", &team).await;
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(parsed(&made)["team"]["budget"]["day"], "5 USD");
    create(&gateway, json!({"name": "a", "team": "ads"})).await;
    let refused = api(&gateway, Method::DELETE, "/api/teams/ads", &Value::Null).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let moved = api(
        &gateway,
        Method::PATCH,
        "/api/keys/a",
        &json!({"team": null}),
    )
    .await;
    assert_eq!(
        parsed(&moved)["key"]["team"],
        Value::Null,
        "{}",
        moved.text()
    );
    let deleted = api(&gateway, Method::DELETE, "/api/teams/ads", &Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let bad = json!({"budget": {"day": "5 EUR"}});
    let bad = api(&gateway, Method::PUT, "/api/teams/ads", &bad).await;
    assert_eq!(bad.status, 400);
    assert!(bad.text().contains("US dollars"), "{}", bad.text());
}

#[tokio::test]
async fn a_viewer_reads_the_requests_and_usage_of_its_own_team() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str, more: &str| {
        format!("[[keys]]\nname = \"{name}\"\nkey = \"canary-canary-canary-{name}\"\n{more}\n")
    };
    let config = format!(
        "[server]\noperator_listen = \"0.0.0.0:0\"\n{}[[teams]]\nname = \"search\"\n\
         [[teams]]\nname = \"ads\"\n{}{}{}{}",
        stored_in(folder.path()),
        key("ada", "team = \"search\"\nrole = \"viewer\""),
        key("bob", "team = \"ads\""),
        key("eve", "role = \"viewer\"\nscope = \"all\""),
        key("ops", "role = \"operator\""),
    );
    let gateway = TestGateway::start(&config).await;
    for name in ["ada", "bob", "bob"] {
        let secret = format!("canary-canary-canary-{name}");
        assert_eq!(status(&gateway, &secret).await, 200);
    }
    let get = async |name: &str, path: &str| {
        let secret = format!("canary-canary-canary-{name}");
        gateway
            .send_to_operator(path, &[("x-api-key", &secret)], b"")
            .await
    };
    for (name, own, keys) in [
        ("ada", 1, &["ada"][..]),
        ("eve", 3, &["ada", "bob"]),
        ("ops", 3, &["ada", "bob"]),
    ] {
        let usage = parsed(&get(name, "/api/usage?by=key").await);
        assert_eq!(usage["total"]["requests"], own, "{name}: {usage}");
        let rows = usage["rows"].as_array().unwrap().iter();
        let seen: Vec<&str> = rows.map(|row| row["group"][0].as_str().unwrap()).collect();
        assert_eq!(seen, keys, "{name}");
        for path in ["/api/requests", "/api/requests?since=1h"] {
            let requests = parsed(&get(name, path).await);
            let count = requests["requests"].as_array().unwrap().len();
            assert_eq!(count, own, "{name} {path}: {requests}");
        }
    }
    for (name, path, status) in [
        ("bob", "/api/usage", 403),
        ("ada", "/api/usage?by=tag", 403),
        ("ada", "/metrics", 403),
        ("ada", "/api/health", 403),
        ("ada", "/api/keys", 403),
        ("eve", "/metrics", 200),
        ("eve", "/api/keys", 403),
        ("ops", "/api/keys", 200),
    ] {
        assert_eq!(get(name, path).await.status, status, "{name} {path}");
    }
}

#[tokio::test]
async fn two_gateways_share_keys_in_postgres() {
    let Some(server) = majordomo_testkit::Postgres::started() else {
        return;
    };
    let url = server.database();
    let config = format!("[ledger]\nstore = \"{url}\"\n");
    let (a, b) = tokio::join!(TestGateway::start(&config), TestGateway::start(&config));
    assert_eq!(status(&b, "").await, 200);
    let secret = create(&a, json!({"name": "ada"})).await;
    assert_eq!(status(&a, &secret).await, 200);
    let noticed = async |key: &str, expected: u16| {
        let began = tokio::time::Instant::now();
        while status(&b, key).await != expected {
            tokio::task::yield_now().await;
        }
        let took = began.elapsed();
        println!("the other gateway answers {expected} after {took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    };
    noticed("", 401).await;
    assert_eq!(status(&b, &secret).await, 200);
    let path = "/api/keys/ada/freeze";
    let frozen = api(&a, Method::POST, path, &Value::Null).await;
    assert_eq!(frozen.status, 200, "{}", frozen.text());
    assert_eq!(status(&a, &secret).await, 401);
    noticed(&secret, 401).await;
    let audit = api(&b, Method::GET, "/api/audit", &Value::Null).await;
    assert_eq!(parsed(&audit)["audit"][0]["action"], "key.freeze");
    a.stop().await;
    b.stop().await;
    // A key outlives all gateways, and its secret is nowhere in the database.
    let c = TestGateway::start(&config).await;
    assert_eq!(status(&c, "").await, 401);
    let listed = api(&c, Method::GET, "/api/keys", &Value::Null).await;
    assert_eq!(parsed(&listed)["keys"][0]["state"], "frozen");
    let name = url.rsplit('/').next().unwrap();
    let stored = "SELECT * FROM majordomo.access_secret";
    assert!(!server.sql(name, stored).contains(&secret[3..]));
}

#[tokio::test]
async fn a_postgres_that_is_away_keeps_a_gateway_closed_until_it_returns() {
    let closed = majordomo_testkit::ClosedPort::hold();
    let config = format!(
        "[ledger]\nstore = \"postgres://ada@{}/usage\"\n",
        closed.address()
    );
    let gateway = TestGateway::start(&config).await;
    assert_eq!(status(&gateway, "").await, 401);
    let refused = api(&gateway, Method::POST, "/api/keys", &json!({"name": "bob"})).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
}

#[tokio::test]
async fn a_budget_is_refused_where_each_node_of_a_cluster_would_have_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "[cluster]\nstate = \"redis://127.0.0.1:1/0\"\n";
    let config = format!("{}{cluster}", stored_in(folder.path()));
    let gateway = TestGateway::start(&config).await;
    let budget = json!({"budget": {"day": "1 USD"}});
    create(&gateway, json!({"name": "laptop"})).await;
    for (method, path, body) in [
        (
            Method::POST,
            "/api/keys",
            json!({"name": "other", "budget": {"total": "1 USD"}}),
        ),
        (Method::PATCH, "/api/keys/laptop", budget.clone()),
        (Method::PUT, "/api/teams/search", budget),
    ] {
        let refused = api(&gateway, method, path, &body).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(refused.text().contains("postgres://"), "{}", refused.text());
    }
    let listed = api(&gateway, Method::GET, "/api/keys", &Value::Null).await;
    assert_eq!(parsed(&listed)["keys"].as_array().map(Vec::len), Some(1));
}
