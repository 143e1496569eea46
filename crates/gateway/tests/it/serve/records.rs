//! The record of a finished request, as its sinks receive it.

use std::sync::{Arc, Mutex};

use majordomo::chain::AttemptKind;
use majordomo_gateway::{
    CallOutcome, FinishedRequest, RequestKind, RequestOutcome, RequestSink, RoutedRequest,
    StartedRequest,
};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;

use crate::serve::routes::{CONFIG, send_request, with_image};
use crate::serve::test_gateway::TestGateway;

/// Keeps what it receives.
#[derive(Default)]
pub(crate) struct Recorder {
    started: Mutex<Vec<String>>,
    routed: Mutex<Vec<(String, String)>>,
    finished: Mutex<Vec<Arc<FinishedRequest>>>,
}

impl RequestSink for Recorder {
    fn started(&self, request: &StartedRequest<'_>) {
        self.started
            .lock()
            .expect("no panic")
            .push(request.id.to_string());
    }

    fn routed(&self, request: &RoutedRequest<'_>) {
        let routed = (request.id.to_owned(), request.model.to_owned());
        self.routed.lock().expect("no panic").push(routed);
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        self.finished
            .lock()
            .expect("no panic")
            .push(Arc::clone(record));
    }
}

impl Recorder {
    /// The records, once there are this many.
    pub(crate) async fn records(&self, count: usize) -> Vec<Arc<FinishedRequest>> {
        loop {
            let records = self.finished.lock().expect("no panic").clone();
            if records.len() >= count {
                return records;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The number of requests that started.
    pub(crate) fn started(&self) -> usize {
        self.started.lock().expect("no panic").len()
    }
}

pub(crate) async fn recorded(config: &str) -> (TestGateway, Arc<Recorder>) {
    let recorder = Arc::<Recorder>::default();
    let sink = Arc::clone(&recorder);
    let server = TestGateway::start_with(config, |gateway| gateway.add_sink(sink)).await;
    (server, recorder)
}

fn upstream_config(upstream: &Upstream) -> String {
    format!(
        r#"
[providers.up]
kind = "openai"
base_url = "http://{}/v1"
api_key = "upstream-key"
"#,
        upstream.address()
    )
}

#[tokio::test]
async fn a_record_has_what_a_ledger_needs() {
    let (server, recorder) = recorded(CONFIG).await;
    let long = majordomo::Request::user("word ".repeat(500)).max_tokens(50);
    let response = send_request(&server, Protocol::Messages, "long", &long).await;
    let record = recorder.records(1).await.remove(0);
    assert_eq!(response.header("x-majordomo-request-id"), Some(&*record.id));
    assert_eq!(record.kind, RequestKind::Generate);
    assert_eq!(record.dialect.as_str(), "anthropic-messages");
    assert_eq!(record.model, "long");
    assert_eq!(record.route(), Some("long"));
    assert_eq!(record.rule(), Some("long prompts"));
    assert_eq!(record.outcome, RequestOutcome::Complete);
    assert_eq!(record.status, 200);
    let [call] = &*record.calls else {
        panic!("{:?}", record.calls);
    };
    assert_eq!((call.number, call.kind), (1, AttemptKind::Answer));
    assert_eq!(call.target, "other/text");
    assert_eq!(call.outcome, CallOutcome::Served);
    assert_eq!(call.usage, record.usage);
    assert!(call.usage.input > 100, "{:?}", call.usage);
    assert!(call.at + call.took <= record.took);
}

#[tokio::test]
async fn a_start_is_announced_before_the_record() {
    let (server, recorder) = recorded("").await;
    let body = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;
    server.post("/v1/chat/completions", body).await;
    let record = recorder.records(1).await.remove(0);
    let id = record.id.to_string();
    let started = recorder.started.lock().expect("no panic").clone();
    assert_eq!(started, [&*id]);
    let routed = recorder.routed.lock().expect("no panic").clone();
    assert_eq!(routed, [(id, "demo/text".to_owned())]);
}

#[tokio::test]
async fn a_description_is_a_call_of_its_own() {
    let (server, recorder) = recorded(CONFIG).await;
    send_request(&server, Protocol::Chat, "blind", &with_image()).await;
    let record = recorder.records(1).await.remove(0);
    let calls = record.calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.number, call.kind, &*call.target))
        .collect();
    assert_eq!(
        calls,
        [
            (1, AttemptKind::Describe, "demo/vision"),
            (2, AttemptKind::Answer, "demo/text"),
        ]
    );
    assert!(record.calls[0].usage.output > 0);
}

#[tokio::test]
async fn embeddings_and_token_counts_are_recorded() {
    let upstream = Upstream::start([Script::new().read_request().respond(
        200,
        "application/json",
        r#"{"data":[]}"#,
    )])
    .await;
    let (server, recorder) = recorded(&upstream_config(&upstream)).await;
    let body = r#"{"model":"up/embedder","input":"hi"}"#;
    let response = server.post("/v1/embeddings", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let body = r#"{"model":"up/a","messages":[{"role":"user","content":"hi"}]}"#;
    let response = server.post("/v1/messages/count_tokens", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let records = recorder.records(2).await;
    assert_eq!(records[0].kind, RequestKind::Embed);
    assert_eq!(records[0].model, "up/embedder");
    assert_eq!(records[0].calls[0].kind, AttemptKind::Embed);
    assert_eq!(records[1].kind, RequestKind::CountTokens);
    assert_eq!(records[1].model, "up/a");
    assert_eq!(records[1].outcome, RequestOutcome::Complete);
}

#[tokio::test]
async fn a_failed_call_is_recorded_with_its_class_and_status() {
    let refuse = || {
        let body = r#"{"error":{"message":"down"}}"#;
        Script::new()
            .read_request()
            .respond(500, "application/json", body)
    };
    let upstream = Upstream::start([refuse(), refuse()]).await;
    let (server, recorder) = recorded(&upstream_config(&upstream)).await;
    let body = r#"{"model":"up/a","messages":[{"role":"user","content":"hi"}]}"#;
    let response = server.post("/v1/chat/completions", body).await;
    let record = recorder.records(1).await.remove(0);
    assert_eq!(record.outcome, RequestOutcome::Failed);
    assert_eq!(record.status, response.status.as_u16());
    let calls = record.calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.number, call.outcome, call.class, call.status))
        .collect();
    let failed = CallOutcome::Failed;
    let class = Some(majordomo::Class::Transient);
    assert_eq!(
        calls,
        [(1, failed, class, Some(500)), (2, failed, class, Some(500))]
    );
}

#[tokio::test]
async fn a_refused_request_is_recorded_without_calls() {
    let config = "[[keys]]\nname = \"laptop\"\nkey = \"a-long-enough-key\"\n";
    let (server, recorder) = recorded(config).await;
    let response = server.post("/v1/chat/completions", "{}").await;
    assert_eq!(response.status, 401);
    let record = recorder.records(1).await.remove(0);
    assert_eq!(record.outcome, RequestOutcome::Failed);
    assert_eq!((record.status, record.calls.len()), (401, 0));
    assert_eq!((&*record.model, &record.caller.key), ("", &None));
    assert_eq!(recorder.started(), 1);
}

#[tokio::test]
async fn a_request_is_counted_for_its_key_team_end_user_and_tags() {
    let config = "[[teams]]\nname = \"search\"\n\
                  [[keys]]\nname = \"chat\"\nkey = \"a-long-enough-key\"\nteam = \"search\"\n\
                  asserts_users = true\n";
    let (server, recorder) = recorded(config).await;
    let body = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;
    let key = ("authorization", "Bearer a-long-enough-key");
    let headers = [
        key,
        ("x-openwebui-user-email", "ada@example.com"),
        ("x-majordomo-tags", "project=x,env=ci"),
    ];
    let reply = server.request("/v1/chat/completions", &headers, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let record = recorder.records(1).await.remove(0);
    let caller = &record.caller;
    assert_eq!(caller.key.as_deref(), Some("chat"));
    assert_eq!(caller.team.as_deref(), Some("search"));
    assert_eq!(caller.user.as_deref(), Some("ada@example.com"));
    let tags: Vec<&str> = caller.tags.iter().map(|tag| &**tag).collect();
    assert_eq!(tags, ["project=x", "env=ci"]);
    let headers = [key, ("x-majordomo-tags", "project")];
    let reply = server.request("/v1/chat/completions", &headers, body).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(
        reply.text().contains("project=x,env=ci"),
        "{}",
        reply.text()
    );
}
