//! Prompt-cache breakpoints in recorded conversations of real clients.
//!
//! `MAJORDOMO_CLIENT_REQUESTS` names a folder of folders, one per client, each file with a
//! request. A conversation's earlier turns are the beginnings of its list of messages.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::serve::test_gateway::TestGateway;
use crate::serve::vendor::{Vendor, VendorReply};

const ANTHROPIC: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}"#;
const CHAT: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#;
const FIELD: &str = "\"cache_control\"";
/// Turns of a conversation that are sent, from its end: a recorded one has hundreds.
const MOST_TURNS: usize = 6;

/// A recorded request and where its conversation is.
struct Recorded {
    name: String,
    path: String,
    body: Value,
    list: &'static str,
}

fn recorded(folder: &Path) -> Vec<Recorded> {
    let children = |folder: &Path| {
        let mut all: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|it| it.expect("an entry").path())
            .collect();
        all.sort();
        all
    };
    let clients = children(folder).into_iter().filter(|it| it.is_dir());
    let files = clients.flat_map(|client| children(&client));
    let read = |file: std::path::PathBuf| {
        let text = fs::read_to_string(&file).ok()?;
        let mut request: Value = serde_json::from_str(&text).ok()?;
        let body = request["body"].take();
        let path = request["path"].as_str()?.split('?').next()?.to_owned();
        let generates = ["messages", "completions", "responses", "api/chat"];
        let generates =
            generates.iter().any(|end| path.ends_with(end)) || path.ends_with("enerateContent");
        let lists = ["messages", "input", "contents"];
        let list = lists.into_iter().find(|list| body[*list].is_array())?;
        let name = file.display().to_string();
        generates.then_some(Recorded {
            name,
            path,
            body,
            list,
        })
    };
    files.filter_map(read).collect()
}

impl Recorded {
    /// The body of each turn, for this model. A turn ends before a message of the model.
    fn turns(&self, model: &str) -> (String, Vec<Value>) {
        let mut body = self.body.clone();
        body["model"] = model.into();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("stream");
        }
        let path = match self.list {
            "contents" => format!("/v1beta/models/{model}:generateContent"),
            _ => self.path.clone(),
        };
        let messages = body[self.list].as_array().expect("a list").clone();
        let by_model = |message: &Value| {
            let role = message["role"].as_str().unwrap_or_default();
            let kind = message["type"].as_str().unwrap_or_default();
            ["assistant", "model"].contains(&role)
                || ["reasoning", "function_call", "custom_tool_call"].contains(&kind)
        };
        let ends = (1..=messages.len()).filter(|end| {
            let next = messages.get(*end);
            !by_model(&messages[end - 1]) && next.is_none_or(by_model)
        });
        let ends: Vec<usize> = ends.collect();
        let late = ends.len().saturating_sub(MOST_TURNS);
        let turn = |end: &usize| {
            let mut turn = body.clone();
            turn[self.list] = messages[..*end].into();
            turn
        };
        (path, ends[late..].iter().map(turn).collect())
    }
}

/// Removes the breakpoints that a client set, as if it had set none.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(values) => values.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// The tools, the system prompt and each message of a body, as it was sent.
fn prefix(body: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        tools: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        system: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        messages: Vec<&'a serde_json::value::RawValue>,
    }
    let sent: Sent<'_> = serde_json::from_str(body).expect("a body");
    let first = [sent.tools, sent.system];
    let first = first.map(|it| it.map(ToString::to_string).unwrap_or_default());
    let messages = sent.messages.into_iter().map(ToString::to_string);
    first.into_iter().chain(messages).collect()
}

async fn start(vendor: &Vendor, other: &Vendor) -> TestGateway {
    let config = format!(
        "[server]\nmax_body = \"64 MiB\"\n\
         [providers.up]\nkind = \"anthropic\"\nbase_url = \"http://{}\"\napi_key = \"canary\"\ncache = \"auto\"\n\
         [providers.chat]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n\
         [[routes]]\nmodel = \"auto\"\nservices = [ {{ spec = \"up/m\" }} ]\n\
         [[routes]]\nmodel = \"other\"\nservices = [ {{ spec = \"chat/m\" }} ]\ncache = \"auto\"\n",
        vendor.address(),
        other.address()
    );
    TestGateway::start(&config).await
}

#[tokio::test]
async fn every_turn_of_a_recorded_conversation_begins_with_the_bytes_of_the_turn_before() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_CLIENT_REQUESTS") else {
        return;
    };
    let vendor = Vendor::start(|_| VendorReply::new(200, ANTHROPIC)).await;
    let other = Vendor::start(|_| VendorReply::new(200, CHAT)).await;
    let gateway = start(&vendor, &other).await;
    let (mut served, mut compared, mut own, mut dialects) = (0, 0, 0, Vec::new());
    for request in recorded(&folder) {
        let (path, turns) = request.turns("auto");
        let mut before: Option<Vec<String>> = None;
        for mut turn in turns {
            let name = &request.name;
            let marks = turn.to_string().matches(FIELD).count();
            if marks > 0 && request.list == "messages" {
                let response = gateway.post(&path, turn.to_string()).await;
                let sent = vendor.requests().pop().expect("a request").body;
                assert_eq!(response.status, 200, "{name}: {}", response.text());
                assert_eq!(sent.matches(FIELD).count(), marks, "{name}: its own");
                own += 1;
            }
            unmark(&mut turn);
            let calls = vendor.requests().len();
            let response = gateway.post(&path, turn.to_string()).await;
            // Some recordings refer to files or to responses that only their vendor has.
            if response.status != 200 || vendor.requests().len() == calls {
                before = None;
                continue;
            }
            // More images than the target takes: the oldest ones are omitted, or all shrink.
            let changes = response.header("x-majordomo-changes").unwrap_or_default();
            if changes.contains("image") {
                before = None;
                continue;
            }
            let sent = vendor.requests().pop().expect("a request").body;
            let marks = sent
                .matches(r#""cache_control":{"type":"ephemeral"}"#)
                .count();
            assert!((1..=4).contains(&marks), "{name}: {marks} marks");
            let now = prefix(&sent);
            if let Some(before) = before.replace(now.clone()) {
                assert!(now.len() > before.len(), "{name}");
                for (number, (before, now)) in before.iter().zip(&now).enumerate() {
                    assert_eq!(before, now, "{name}: part {number}");
                }
                compared += 1;
            }
            served += 1;
            dialects.push(request.list);
            dialects.dedup();
        }
    }
    println!("{served} turns served, {compared} compared, {own} with breakpoints of their own");
    assert!(
        served > 100 && compared > 20 && own > 20,
        "{served} {compared} {own}"
    );
    for list in ["messages", "input", "contents"] {
        assert!(dialects.contains(&list), "{list}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn targets_of_other_dialects_get_what_they_would_get_without_it() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_CLIENT_REQUESTS") else {
        return;
    };
    let vendor = Vendor::start(|_| VendorReply::new(200, ANTHROPIC)).await;
    let other = Vendor::start(|_| VendorReply::new(200, CHAT)).await;
    let gateway = start(&vendor, &other).await;
    let mut compared = 0;
    for request in recorded(&folder) {
        let mut bodies = Vec::new();
        for model in ["other", "chat/m"] {
            let (path, turns) = request.turns(model);
            let Some(turn) = turns.last() else { continue };
            let calls = other.requests().len();
            let response = gateway.post(&path, turn.to_string()).await;
            let requests = other.requests();
            if response.status == 200 && requests.len() > calls {
                bodies.push(requests[requests.len() - 1].body.clone());
            }
        }
        if let [with, without] = &*bodies {
            assert_eq!(with, without, "{}", request.name);
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
    gateway.stop().await;
}
