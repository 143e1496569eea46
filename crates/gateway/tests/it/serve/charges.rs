//! Charges: one row per attempt sent, and how its amounts are known.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::Path;
use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use serde_json::{Value, json};

use crate::serve::routes::{self, send_request, with_image};
use crate::serve::test_gateway::TestGateway;

/// Nominally 250 ms; only a broken gateway reaches this.
const SOON: Duration = Duration::from_secs(20);

const CHAT: &str = "/v1/chat/completions";

/// A gateway that records into a separate folder.
struct Recording {
    server: TestGateway,
    folder: tempfile::TempDir,
}

/// One attempt as it was recorded: number, target, settle class, input, output.
type Charged<'a> = (u64, &'a str, &'a str, u64, u64);

impl Recording {
    async fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!("{config}\n{}", ledger_in(folder.path()));
        let server = TestGateway::start(&config).await;
        Self { server, folder }
    }

    /// The stored requests, newest first, once there are this many.
    async fn requests(&self, count: usize) -> Vec<Value> {
        loop {
            let listed = self
                .server
                .send_to_operator("/api/requests?limit=100", &[], b"")
                .await;
            assert_eq!(listed.status, 200, "{}", listed.text());
            let listed: Value = serde_json::from_slice(&listed.body).unwrap();
            let requests = listed["requests"].as_array().unwrap();
            if requests.len() >= count {
                return requests.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    /// The attempts of the only request.
    async fn attempts(&self) -> Vec<Value> {
        let requests = self.requests(1).await;
        assert_eq!(requests.len(), 1);
        requests[0]["attempts"].as_array().unwrap().clone()
    }

    async fn usage(&self, by: &str) -> Value {
        let path = format!("/api/usage?by={by}&since=1h");
        let usage = self.server.send_to_operator(&path, &[], b"").await;
        serde_json::from_slice(&usage.body).unwrap()
    }
}

fn ledger_in(folder: &Path) -> String {
    format!(
        "[ledger]\nstore = \"sqlite://{}\"\n[prices.\"up/*\"]\ninput = \"1\"\noutput = \"10\"\n",
        folder.join("ledger").display()
    )
}

fn provider(name: &str, upstream: &Upstream) -> String {
    format!(
        "[providers.{name}]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n",
        upstream.address()
    )
}

fn messages_provider(name: &str, upstream: &Upstream) -> String {
    format!(
        "[providers.{name}]\nkind = \"anthropic\"\nbase_url = \"http://{}\"\napi_key = \"k\"\n",
        upstream.address()
    )
}

fn charged(attempts: &[Value]) -> Vec<Charged<'_>> {
    let charged = attempts.iter().map(|attempt| {
        let count = |name: &str| attempt["used"][name].as_u64().unwrap();
        (
            attempt["number"].as_u64().unwrap(),
            attempt["target"].as_str().unwrap(),
            attempt["settle"].as_str().unwrap(),
            count("input"),
            count("output"),
        )
    });
    charged.collect()
}

fn request(model: &str, stream: bool) -> String {
    let body = json!({
        "model": model, "stream": stream,
        "messages": [{ "role": "user", "content": "Count to a hundred, please." }],
    });
    body.to_string()
}

fn answer(input: u64, output: u64) -> Script {
    let body = json!({
        "id": "x", "model": "m", "object": "chat.completion",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "ok" },
                      "finish_reason": "stop" }],
        "usage": { "prompt_tokens": input, "completion_tokens": output,
                   "total_tokens": input + output },
    });
    Script::new()
        .read_request()
        .respond(200, "application/json", body.to_string())
}

fn refusal(status: u16) -> Script {
    let body = r#"{"error":{"message":"no"}}"#;
    Script::new()
        .read_request()
        .respond(status, "application/json", body)
}

fn delta(text: &str) -> String {
    let chunk = json!({
        "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }],
    });
    format!("data: {chunk}\n\n")
}

const FINISH: &str = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\
    \"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn usage_chunk(input: u64, output: u64) -> String {
    let chunk = json!({
        "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": { "prompt_tokens": input, "completion_tokens": output,
                   "total_tokens": input + output },
    });
    format!("data: {chunk}\n\n")
}

fn stream() -> Script {
    Script::new().read_request().stream_head()
}

#[tokio::test]
async fn a_client_that_leaves_before_the_first_byte_is_charged_its_input_once() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    let body = request("up/m", true);
    let client = gateway.server.begin(CHAT, body.as_bytes()).await;
    upstream.wait_for_requests(1, SOON).await;
    drop(client);
    upstream.closed(0, SOON).await;
    let attempts = gateway.attempts().await;
    let [(1, "up/m", "estimated", input, 0)] = charged(&attempts)[..] else {
        panic!("{attempts:?}");
    };
    assert!((5..30).contains(&input), "{input}");
    assert_eq!(attempts[0]["cost"], input * 1_000);
}

#[tokio::test]
async fn a_client_that_leaves_mid_stream_is_charged_what_arrived() {
    let words: String = (0..100).map(|_| delta("word ")).collect();
    let upstream = Upstream::start([stream().chunk(&words).stall()]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    let mut client = gateway
        .server
        .begin(CHAT, request("up/m", true).as_bytes())
        .await;
    let mut seen = Vec::new();
    // The client reads some of it.
    while seen.len() < 1_000 {
        let mut part = [0; 1_000];
        let read = tokio::io::AsyncReadExt::read(&mut client, &mut part);
        let read = read.await.unwrap();
        seen.extend_from_slice(&part[..read]);
    }
    drop(client);
    upstream.closed(0, SOON).await;
    let attempts = gateway.attempts().await;
    let [(1, "up/m", "estimated", input, output)] = charged(&attempts)[..] else {
        panic!("{attempts:?}");
    };
    assert!(input > 0 && (80..160).contains(&output), "{attempts:?}");
}

#[tokio::test]
async fn a_messages_stream_that_is_cut_has_the_opening_usage_and_our_count() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\
        \"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\
        \"stop_reason\":null,\"usage\":{\"input_tokens\":123,\"output_tokens\":1}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
        \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    let word = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"word word word word \"}}\n\n";
    let text = format!("{start}{}", word.repeat(25));
    let upstream = Upstream::start([stream().chunk(text).reset()]).await;
    let gateway = Recording::start(&messages_provider("up", &upstream)).await;
    let body = json!({ "model": "up/m", "max_tokens": 500, "stream": true,
                       "messages": [{ "role": "user", "content": "Count." }] });
    gateway.server.post("/v1/messages", body.to_string()).await;
    let attempts = gateway.attempts().await;
    let [(1, "up/m", "partial", 123, output)] = charged(&attempts)[..] else {
        panic!("{attempts:?}");
    };
    assert!((80..160).contains(&output), "{attempts:?}");
}

#[tokio::test]
async fn an_upstream_that_is_cut_without_usage_is_estimated_and_usage_in_the_last_event_is_reported()
 {
    let cut = stream().chunk(delta("one two three four five")).reset();
    let whole = stream()
        .chunk(delta("one"))
        .chunk(FINISH)
        .chunk(usage_chunk(42, 7))
        .chunk("data: [DONE]\n\n")
        .last_chunk();
    let upstream = Upstream::start([cut, whole]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    for _ in 0..2 {
        gateway.server.post(CHAT, request("up/m", true)).await;
    }
    let requests = gateway.requests(2).await;
    let attempts = |index: usize| requests[index]["attempts"].as_array().unwrap().clone();
    assert_eq!(charged(&attempts(0)), [(1, "up/m", "reported", 42, 7)]);
    let cut = attempts(1);
    let [(1, "up/m", "estimated", input, output)] = charged(&cut)[..] else {
        panic!("{cut:?}");
    };
    assert!(input > 0 && (3..12).contains(&output), "{cut:?}");
}

#[tokio::test]
async fn usage_that_was_reported_before_a_cut_is_charged() {
    let cut = stream()
        .chunk(delta("one two three"))
        .chunk(usage_chunk(42, 70))
        .reset();
    let upstream = Upstream::start([cut]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    gateway.server.post(CHAT, request("up/m", true)).await;
    let attempts = gateway.attempts().await;
    assert_eq!(charged(&attempts), [(1, "up/m", "partial", 42, 70)]);
}

#[tokio::test]
async fn a_refusal_before_output_is_free() {
    for status in [401, 403, 404, 429, 529] {
        let upstream = Upstream::start([refusal(status), refusal(status)]).await;
        let gateway = Recording::start(&provider("up", &upstream)).await;
        let response = gateway.server.post(CHAT, request("up/m", false)).await;
        assert_ne!(response.status, 200);
        for attempt in gateway.attempts().await {
            assert_eq!(attempt["settle"], "free", "{status}");
            assert_eq!(attempt["cost"], 0, "{status}");
            assert_eq!(attempt["used"]["input"], 0, "{status}");
        }
    }
}

#[tokio::test]
async fn an_attempt_that_fails_after_tokens_and_the_one_that_serves_are_both_charged() {
    // A report of usage does not commit a stream, so the next target serves.
    let opening = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\
        \"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\
        \"stop_reason\":null,\"usage\":{\"input_tokens\":50,\"output_tokens\":300}}}\n\n";
    let failing = stream().chunk(opening).reset();
    let upstream = Upstream::start([failing]).await;
    let serving = stream()
        .chunk(delta("ok"))
        .chunk(FINISH)
        .chunk(usage_chunk(60, 5))
        .chunk("data: [DONE]\n\n")
        .last_chunk();
    let other = Upstream::start([serving]).await;
    let config = format!(
        "{}{}[aliases]\nboth = \"up/m,spare/m\"\n[chain]\nretries = 0\n",
        messages_provider("up", &upstream),
        provider("spare", &other)
    );
    let gateway = Recording::start(&config).await;
    let body = request("both", true);
    let response = gateway.server.post(CHAT, body).await;
    assert_eq!(
        response.header("x-majordomo-target"),
        Some("spare/m"),
        "{}",
        response.text()
    );
    let attempts = gateway.attempts().await;
    assert_eq!(
        charged(&attempts)[0],
        (1, "up/m", "partial", 50, 300),
        "{attempts:?}"
    );
    assert_eq!(attempts[0]["cost"], 50 * 1_000 + 300 * 10_000);
    assert_eq!(charged(&attempts)[1], (2, "spare/m", "reported", 60, 5));
}

#[tokio::test]
async fn a_target_that_is_passed_over_has_no_row() {
    let upstream = Upstream::start([answer(10, 1)]).await;
    let config = format!(
        "{}[providers.up.models.blind]\nimages = false\n[providers.up.models.m]\nimages = true\n\
         [aliases]\nboth = \"up/blind,up/m\"\n",
        provider("up", &upstream)
    );
    let gateway = Recording::start(&config).await;
    let body = routes::body(majordomo_wire::Protocol::Chat, &with_image(), "both");
    let response = gateway.server.post(CHAT, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let attempts = gateway.attempts().await;
    assert_eq!(charged(&attempts), [(1, "up/m", "reported", 10, 1)]);
}

#[tokio::test]
async fn a_describer_is_charged_to_the_calling_key_and_a_cached_description_costs_nothing() {
    let key = "[[keys]]\nname = \"laptop\"\nkey = \"a-long-enough-key\"\nrole = \"operator\"\n";
    let gateway = Recording::start(&format!("{}{key}", routes::CONFIG)).await;
    let headers = [
        ("authorization", "Bearer a-long-enough-key"),
        ("content-type", "application/json"),
    ];
    let body = routes::body(majordomo_wire::Protocol::Chat, &with_image(), "blind");
    let body = std::str::from_utf8(&body).unwrap();
    let first = gateway.server.request(CHAT, &headers, body).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let second = gateway.server.request(CHAT, &headers, body).await;
    let changes = second.header("x-majordomo-changes").unwrap_or_default();
    assert!(changes.contains("described from cache"), "{changes}");
    let path = "/api/requests?limit=10&key=laptop";
    let listed = gateway
        .server
        .send_to_operator(path, &headers[..1], b"")
        .await;
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    let requests = listed["requests"].as_array().unwrap();
    let kinds = |request: &Value| -> Vec<String> {
        let attempts = request["attempts"].as_array().unwrap().iter();
        let kinds = attempts.map(|attempt| attempt["kind"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    assert_eq!(requests.len(), 2, "{listed}");
    assert_eq!(kinds(&requests[1]), ["describe", "answer"]);
    assert_eq!(kinds(&requests[0]), ["answer"]);
}

#[tokio::test]
async fn a_description_that_two_requests_share_is_charged_once() {
    let gateway = Recording::start(routes::CONFIG).await;
    let image = with_image();
    let chat = majordomo_wire::Protocol::Chat;
    let send = || send_request(&gateway.server, chat, "blind", &image);
    tokio::join!(send(), send());
    let requests = gateway.requests(2).await;
    let attempts = requests
        .iter()
        .flat_map(|it| it["attempts"].as_array().unwrap());
    let described = attempts.filter(|attempt| attempt["kind"] == "describe");
    assert_eq!(described.count(), 1);
}

#[tokio::test]
async fn counting_listing_and_explaining_cost_nothing() {
    let gateway = Recording::start("").await;
    let body = request("demo/text", false);
    let counted = gateway
        .server
        .post("/v1/messages/count_tokens", body.clone())
        .await;
    assert_eq!(counted.status, 200, "{}", counted.text());
    gateway.server.get("/v1/models").await;
    let explained = gateway
        .server
        .send_to_operator("/api/explain", &[], body.as_bytes())
        .await;
    assert_ne!(explained.status, 500);
    let total = &gateway.usage("").await["total"];
    let used = ["input", "output", "cost_nanodollars", "unpriced"].map(|name| &total[name]);
    assert_eq!(used, [0, 0, 0, 0], "{total}");
}

#[tokio::test]
async fn the_ledger_knows_a_request_by_the_id_that_its_client_received() {
    let gateway = Recording::start("").await;
    let response = gateway.server.post(CHAT, request("demo/text", false)).await;
    let requests = gateway.requests(1).await;
    let id = response.header("x-majordomo-request-id").unwrap();
    assert_eq!(requests[0]["id"], id);
    assert_eq!(id.as_bytes()[14], b'7', "{id} is a UUID of version 7");
}

#[tokio::test]
async fn usage_is_grouped_by_team_and_tag_and_end_users_are_stored_as_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[[teams]]\nname = \"search\"\n[[keys]]\nname = \"chat\"\nkey = \"a-long-enough-key\"\n\
         team = \"search\"\nrole = \"operator\"\nasserts_users = true\n{}",
        ledger_in(folder.path()).replace("[prices", "end_users = \"hash\"\n[prices")
    );
    let server = TestGateway::start(&config).await;
    let key = ("authorization", "Bearer a-long-enough-key");
    let headers = [
        key,
        ("x-openwebui-user-email", "ada@example.com"),
        ("x-majordomo-tags", "project=x,env=ci"),
    ];
    let response = server
        .request(CHAT, &headers, &request("demo/text", false))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let ask = async |path: &str| -> Value {
        let answer = server.send_to_operator(path, &[key], b"").await;
        serde_json::from_slice(&answer.body).unwrap()
    };
    let by_team = ask("/api/usage?by=team").await;
    assert_eq!(by_team["rows"][0]["group"][0], "search");
    let by_tag = ask("/api/usage?by=tag").await;
    let tags: Vec<_> = by_tag["rows"].as_array().unwrap().iter().collect();
    assert_eq!(tags.len(), 2, "{by_tag}");
    // Two tags, one request.
    assert_eq!(by_tag["total"]["requests"], 1);
    let listed = ask("/api/requests?limit=1").await;
    let user = listed["requests"][0]["user"].as_str().unwrap();
    assert!(user.starts_with("user-"), "{user}");
    assert!(!listed.to_string().contains("ada@"), "{listed}");
}

#[tokio::test]
async fn an_attempt_is_in_the_ledger_while_it_runs() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    let body = request("up/m", false);
    let client = gateway.server.begin(CHAT, body.as_bytes()).await;
    upstream.wait_for_requests(1, SOON).await;
    let path = gateway.folder.path().join("ledger/ledger.db");
    let open = loop {
        let db = rusqlite::Connection::open(&path).unwrap();
        let select = "SELECT number, entry FROM open_attempt";
        let row = db.query_row(select, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        });
        if let Ok(row) = row {
            break row;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(open.0, 1);
    let entry: Value = serde_json::from_str(&open.1).unwrap();
    assert_eq!(entry["target"], "up/m");
    let input = entry["input_estimate"].as_i64().unwrap();
    assert_eq!(entry["cost_if_lost"], input * 1_000);
    drop(client);
}

/// The upstream's body of the only request.
fn sent(upstream: &Upstream) -> Value {
    serde_json::from_slice(&upstream.requests()[0].body).unwrap()
}

#[tokio::test]
async fn usage_is_asked_for_and_its_chunk_is_kept_from_a_client_that_did_not_ask() {
    let script = || {
        stream()
            .chunk(delta("one"))
            .chunk(format!("{FINISH}{}data: [DONE]\n\n", usage_chunk(42, 7)))
            .last_chunk()
    };
    for (asks, setting) in [(false, "true"), (true, "true"), (false, "false")] {
        let upstream = Upstream::start([script()]).await;
        let config = format!("{}stream_usage = {setting}\n", provider("up", &upstream));
        let gateway = Recording::start(&config).await;
        let mut body: Value = serde_json::from_str(&request("up/m", true)).unwrap();
        if asks {
            body["stream_options"] = json!({ "include_usage": true });
        }
        let response = gateway.server.post(CHAT, body.to_string()).await;
        let text = response.text();
        let asked = &sent(&upstream)["stream_options"]["include_usage"];
        assert_eq!(asked == &json!(true), setting == "true", "{asked}");
        // Without the setting nothing is added, so nothing is removed.
        let shown = asks || setting == "false";
        assert_eq!(text.contains("prompt_tokens"), shown, "{text}");
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        assert!(text.contains("\"finish_reason\":\"stop\""), "{text}");
        let attempts = gateway.attempts().await;
        assert_eq!(charged(&attempts), [(1, "up/m", "reported", 42, 7)]);
    }
}

#[tokio::test]
async fn an_unknown_server_is_not_asked_for_usage_and_we_count_ourselves() {
    let script = stream()
        .chunk(delta("one two three four five six seven eight"))
        .chunk(FINISH)
        .chunk("data: [DONE]\n\n")
        .last_chunk();
    let upstream = Upstream::start([script]).await;
    let gateway = Recording::start(&provider("up", &upstream)).await;
    let response = gateway.server.post(CHAT, request("up/m", true)).await;
    assert!(response.text().contains("eight"), "{}", response.text());
    assert_eq!(sent(&upstream)["stream_options"], Value::Null);
    let attempts = gateway.attempts().await;
    let [(1, "up/m", "estimated", input, output)] = charged(&attempts)[..] else {
        panic!("{attempts:?}");
    };
    assert!(input > 0 && (5..16).contains(&output), "{attempts:?}");
}

#[tokio::test]
async fn ledger_metrics_log_and_upstream_agree_to_the_token() {
    // Every request has its own amounts, so a mix-up cannot cancel out.
    let amounts: Vec<(u64, u64)> = (1..=12).map(|n| (100 * n + n, 7 * n)).collect();
    let scripts = amounts
        .iter()
        .map(|(input, output)| answer(*input, *output));
    let upstream = Upstream::start(scripts).await;
    let (input, output) = amounts
        .iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{}{}", provider("up", &upstream), ledger_in(folder.path()));
    let (server, recorder) = crate::serve::records::recorded(&config).await;
    for _ in &amounts {
        let response = server.post(CHAT, request("up/m", false)).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    // The log line is written from the same record.
    let records = recorder.records(amounts.len()).await;
    let logged = records.iter().fold((0, 0), |sum, record| {
        (sum.0 + record.usage.input, sum.1 + record.usage.output)
    });
    assert_eq!(logged, (input, output));
    let usage = server.send_to_operator("/api/usage", &[], b"").await;
    let usage: Value = serde_json::from_slice(&usage.body).unwrap();
    let total = &usage["total"];
    assert_eq!(
        (&total["input"], &total["output"]),
        (&json!(input), &json!(output))
    );
    let cost = input * 1_000 + output * 10_000;
    assert_eq!(total["cost_nanodollars"], cost);
    let metrics = server.send_to_operator("/metrics", &[], b"").await;
    let metrics = metrics.text();
    let counter = |name: &str| -> f64 {
        let lines = metrics.lines().filter(|line| line.starts_with(name));
        let values = lines.filter(|line| line.contains("up/m"));
        values
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    };
    let dollars = counter("majordomo_cost_usd_total{");
    assert_eq!((dollars * 1e9).round() as u64, cost, "{metrics}");
    let tokens = counter("majordomo_tokens_total{");
    assert_eq!(tokens as u64, input + output, "{metrics}");
}
