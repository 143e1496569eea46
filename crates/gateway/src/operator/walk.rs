//! Walks every listed path as a viewer of one team, who must see no data of other teams.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::trust::PATHS;
use crate::{Gateway, ServeOptions};

/// All names of the other team contain this word.
const CANARY: &str = "canary";

/// Queries that are sent to every path. Most mean nothing to most paths.
const QUERIES: [&str; 9] = [
    "",
    "?limit=100&since=1d",
    "?by=key&since=1d",
    "?by=team,key,model,target&since=1d",
    "?by=tag&since=1d",
    "?by=key&format=csv",
    "?by=key&then=team&since=24h",
    "?key=canary-phone&team=canary-ads&limit=9",
    "?q=canary&rows=html",
];

fn config(folder: &std::path::Path) -> String {
    let mut text = format!(
        "[ledger]\nstore = \"sqlite://{}/ledger\"\n[providers.demo]\nkind = \"demo\"\n\
         [limits]\nbudget = {{ month = \"100 USD\" }}\n",
        folder.display()
    );
    for (team, key) in [("search", "laptop"), ("canary-ads", "canary-phone")] {
        text.push_str(&format!(
            "[[teams]]\nname = \"{team}\"\nbudget = {{ month = \"9 USD\" }}\n\
             [[keys]]\nname = \"{key}\"\nkey = \"secret-of-{key}-0123456789\"\nteam = \"{team}\"\n\
             budget = {{ day = \"3 USD\" }}\n"
        ));
    }
    text.push_str(
        "[[keys]]\nname = \"ada\"\nkey = \"secret-of-ada-0123456789\"\nteam = \"search\"\n\
         role = \"viewer\"\n\
         [[keys]]\nname = \"ops\"\nkey = \"secret-of-ops-0123456789\"\nrole = \"operator\"\n",
    );
    text
}

/// A gateway whose operator's listener requires keys.
pub(super) struct Running {
    clients: SocketAddr,
    pub(super) operator: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(super) async fn start(folder: &std::path::Path, config: &str) -> Self {
        let file = folder.join("majordomo.toml");
        std::fs::write(&file, config).expect("a file");
        let options = ServeOptions::default()
            .with_config(Some(file))
            .with_listen(Some(([127, 0, 0, 1], 0).into()))
            .with_operator_listen(Some(([0, 0, 0, 0], 0).into()));
        let started = Gateway::start(&options, BTreeMap::new()).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        let clients = gateway.address().expect("it listens");
        let port = gateway.operator_address().expect("it listens").port();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(gateway.run(async {
            let _ = stopped.await;
        }));
        Self {
            clients,
            operator: SocketAddr::from(([127, 0, 0, 1], port)),
            stop,
            task,
        }
    }

    pub(super) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.expect("it does not panic");
    }
}

/// Sends a request and reads the whole response; of an event stream, the first chunk.
pub(super) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("HTTP");
    let connection = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let response = sender
        .send_request(request.body(body).expect("a request"))
        .await;
    let response = response.expect("a response");
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let mut body = response.into_body();
    let bytes = match kind.is_some_and(|kind| kind == "text/event-stream") {
        true => {
            let first = body.frame().await.expect("a chunk").expect("a chunk");
            first.into_data().unwrap_or_default()
        }
        false => body.collect().await.expect("a body").to_bytes(),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    connection.abort();
    (status, text)
}

/// The responses that a reader gets from every path, with every query, as page and as data.
async fn walk(operator: SocketAddr, key: &str, id: &str) -> Vec<(String, u16, String)> {
    let bearer = format!("Bearer secret-of-{key}-0123456789");
    let mut seen = Vec::new();
    for (method, path, _) in PATHS {
        let path = match *path {
            "/requests/*" => format!("/requests/{id}"),
            "/api/captures/*" => format!("/api/captures/{id}"),
            "/api/requests/*" => format!("/api/requests/{id}"),
            "/api/targets/*" => "/api/targets/demo/none/release".to_owned(),
            path => path.replace('*', "canary-phone"),
        };
        for query in QUERIES {
            for accept in ["text/html", "application/json"] {
                let headers = [("authorization", bearer.as_str()), ("accept", accept)];
                let uri = format!("{path}{query}");
                let body = match *method {
                    "GET" => "",
                    _ => r#"{"model":"demo/none","key":"canary-phone"}"#,
                };
                let (status, text) = send(operator, method, &uri, &headers, body).await;
                seen.push((format!("{method} {uri}"), status, text));
            }
        }
    }
    seen
}

#[tokio::test]
async fn a_viewer_of_one_team_sees_nothing_of_another_on_any_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let gateway = Running::start(folder.path(), &config(folder.path())).await;
    let (clients, operator) = (gateway.clients, gateway.operator);
    for (key, model) in [
        ("laptop", "demo/text"),
        ("canary-phone", "demo/text"),
        ("canary-phone", "demo/canary"),
    ] {
        let secret = format!("secret-of-{key}-0123456789");
        let tag = format!("project={key}");
        let headers = [("x-api-key", secret.as_str()), ("x-majordomo-tags", &tag)];
        let body = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"{key} asks"}}]}}"#
        );
        send(clients, "POST", "/v1/chat/completions", &headers, &body).await;
    }
    let bearer = [("authorization", "Bearer secret-of-ops-0123456789")];
    let (_, requests) = send(operator, "GET", "/api/requests", &bearer, "").await;
    let requests: Value = serde_json::from_str(&requests).expect("JSON");
    let requests = requests["requests"].as_array().expect("a list");
    let id = |key: &str| {
        let mut found = requests.iter().filter(|request| request["key"] == key);
        let found = found
            .next()
            .unwrap_or_else(|| panic!("{key} in {requests:?}"));
        found["id"].as_str().expect("an id").to_owned()
    };

    for (uri, status, text) in walk(operator, "ada", &id("canary-phone")).await {
        assert!(status < 500, "{uri}: {status} {text}");
        // The page repeats the filter, and a refusal the group.
        let text = text.replace(r#"value="canary""#, "");
        assert!(!text.contains(CANARY), "{uri}: {text}");
    }
    // The data of its own team is present, so the walk looks in the right places.
    let own = walk(operator, "ada", &id("laptop")).await;
    let all = walk(operator, "ops", &id("canary-phone")).await;
    for path in [
        "/",
        "/requests/",
        "/usage",
        "/api/requests",
        "/api/usage",
        "/api/budgets",
    ] {
        let shows = |seen: &[(String, u16, String)], name: &str| {
            seen.iter().any(|(uri, status, text)| {
                uri.starts_with(&format!("GET {path}")) && *status == 200 && text.contains(name)
            })
        };
        assert!(shows(&own, "laptop"), "{path} shows the own team");
        assert!(shows(&all, CANARY), "{path} shows all to the operator");
    }
    gateway.stop().await;
}

/// A pixel whose comment is the canary, so that it is found in the bytes of the image, too.
fn picture() -> String {
    let text = format!("GIF89a\u{1}\0\u{1}\0\0\0\0!\u{fe}\u{c}{CANARY}-image\0;");
    let bytes: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

/// Everything below a folder.
fn files(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap_or_default())),
        }
    }
    found
}

#[tokio::test]
async fn content_is_in_memory_for_keys_that_opted_in_and_nowhere_for_others() {
    for capture in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[ledger]\nstore = \"sqlite://{}/ledger\"\n[providers.demo]\nkind = \"demo\"\n\
             [[keys]]\nname = \"laptop\"\nkey = \"secret-of-laptop-0123456789\"\n\
             capture = {capture}\n\
             [[keys]]\nname = \"ops\"\nkey = \"secret-of-ops-0123456789\"\nrole = \"operator\"\n",
            folder.path().display()
        );
        let gateway = Running::start(folder.path(), &text).await;
        let image = picture();
        let body = format!(
            r#"{{"model":"demo/text","messages":[{{"role":"user","content":[
               {{"type":"text","text":"repeat after me: {CANARY} prompt"}},
               {{"type":"image_url","image_url":{{"url":"data:image/gif;base64,{image}"}}}}]}}]}}"#
        );
        let headers = [("x-api-key", "secret-of-laptop-0123456789")];
        let path = "/v1/chat/completions";
        let (_, answer) = send(gateway.clients, "POST", path, &headers, &body).await;
        let bearer = [("authorization", "Bearer secret-of-ops-0123456789")];
        let (_, requests) = send(gateway.operator, "GET", "/api/requests", &bearer, "").await;
        let requests: Value = serde_json::from_str(&requests).expect("JSON");
        let id = requests["requests"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let holds = |text: &str| text.contains(CANARY) || text.contains(&image);
        let seen = walk(gateway.operator, "ops", &id).await;
        let holders: Vec<&str> = seen
            .iter()
            // The walk itself names the canary in its queries.
            .filter(|(uri, _, _)| !uri.contains(CANARY))
            .filter(|(_, _, text)| holds(&text.replace(r#"canary-phone"#, "")))
            .map(|(uri, _, _)| uri.as_str())
            .collect();
        let captured = format!("GET /api/captures/{id}");
        match capture {
            true => assert!(
                !holders.is_empty() && holders.iter().all(|uri| uri.starts_with(&captured)),
                "{holders:?}"
            ),
            false => assert!(holders.is_empty(), "{holders:?} {answer}"),
        }
        gateway.stop().await;
        for (path, content) in files(folder.path()) {
            let content = String::from_utf8_lossy(&content);
            assert!(!holds(&content), "{}", path.display());
        }
    }
}
