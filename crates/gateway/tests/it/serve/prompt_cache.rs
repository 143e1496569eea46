//! Prompt-cache breakpoints that the gateway sets for clients that set none.

use crate::serve::test_gateway::TestGateway;
use crate::serve::vendor::{Vendor, VendorReply};

const SERVED: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":90,"output_tokens":1}}"#;
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

async fn gateway(vendor: &Vendor, cache: &str) -> TestGateway {
    let config = format!(
        "[providers.up]\nkind = \"anthropic\"\nbase_url = \"http://{}\"\napi_key = \"canary\"\n{cache}\n\
         [[routes]]\nmodel = \"auto\"\nservices = [ {{ spec = \"up/m\" }} ]\ncache = \"auto\"\n\
         [[routes]]\nmodel = \"off\"\nservices = [ {{ spec = \"up/m\" }} ]\ncache = \"off\"\n\
         [[routes]]\nmodel = \"plain\"\nservices = [ {{ spec = \"up/m\" }} ]\n",
        vendor.address()
    );
    TestGateway::start(&config).await
}

fn body(model: &str, turns: usize) -> String {
    let mut messages = vec![r#"{"role":"user","content":"hi"}"#; 1];
    for _ in 0..turns {
        messages.push(r#"{"role":"assistant","content":[{"type":"text","text":"yes"}]}"#);
        messages.push(r#"{ "role":"user", "content":"go on" }"#);
    }
    format!(
        r#"{{"model":"{model}", "max_tokens":9,"system":"Be terse.","tools":[ {{"name":"look","input_schema":{{"type":"object"}}}} ],"messages":[{}]}}"#,
        messages.join(", ")
    )
}

#[tokio::test]
async fn a_route_or_a_provider_sets_breakpoints_and_keeps_the_bytes_of_every_turn() {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let gateway = gateway(&vendor, "").await;
    for turns in 0..4 {
        let served = gateway.post("/v1/messages", body("auto", turns)).await;
        assert_eq!(served.status, 200, "{}", served.text());
        let changes = served.header("x-majordomo-changes").unwrap();
        assert!(changes.contains("cache_control added"), "{changes}");
    }
    let sent = vendor.requests();
    let marked = body("m", 3)
        .replace(
            "\"Be terse.\"",
            &format!(r#"[{{"type":"text","text":"Be terse.",{MARK}}}]"#),
        )
        .replace(r#""object"}} ]"#, &format!(r#""object"}},{MARK}}} ]"#));
    let marked = format!("{},{MARK}}}", marked.strip_suffix('}').unwrap());
    assert_eq!(sent[3].body, marked);
    let prefix = |body: &str| {
        body.split_once(" ]")
            .map(|_| body.len() - MARK.len() - 3)
            .unwrap()
    };
    for pair in sent.windows(2) {
        let end = prefix(&pair[0].body);
        assert_eq!(pair[0].body[..end], pair[1].body[..end]);
    }
    let metrics = gateway.send_to_operator("/metrics", &[], b"").await;
    for line in [
        "majordomo_route_tokens_total{route=\"auto\",kind=\"input\"} 4000",
        "majordomo_route_tokens_total{route=\"auto\",kind=\"cache_read\"} 3600",
        "majordomo_route_tokens_total{route=\"auto\",kind=\"cache_write\"} 360",
    ] {
        assert!(metrics.text().contains(line), "{line}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_route_overrides_its_providers_and_clients_override_both() {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let gateway = gateway(&vendor, "cache = \"auto\"").await;
    let own = body("plain", 0).replace(
        r#""content":"hi""#,
        &format!(r#""content":[{{"type":"text","text":"hi",{MARK}}}]"#),
    );
    for (sent, marks) in [
        (body("plain", 0), 3),
        (body("off", 0), 0),
        (body("up/m", 0), 3),
        (own.clone(), 1),
        (own.replace("plain", "auto"), 1),
    ] {
        let served = gateway.post("/v1/messages", sent.clone()).await;
        assert_eq!(served.status, 200, "{}", served.text());
        let received = vendor.requests().pop().unwrap().body;
        assert_eq!(received.matches(MARK).count(), marks, "{received}");
        if marks < 3 {
            let model = |text: &str| text.split_once(',').unwrap().1.to_owned();
            assert_eq!(model(&received), model(&sent), "byte for byte");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_translated_request_is_marked_in_the_same_way() {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let gateway = gateway(&vendor, "").await;
    let chat = r#"{"model":"auto","prompt_cache_key":"k","messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"hi"}]}"#;
    let served = gateway.post("/v1/chat/completions", chat).await;
    assert_eq!(served.status, 200, "{}", served.text());
    let received = vendor.requests().pop().unwrap().body;
    assert_eq!(received.matches(MARK).count(), 2, "{received}");
    gateway.stop().await;
}
