//! A client's own subscription: who receives it, who pays, and whose errors are whose.

use crate::serve::test_gateway::{TestGateway, TestResponse};
use crate::serve::vendor::{Vendor, VendorReply};

const OWN: &str = "CANARY-own-key";
const GATEWAY: &str = "CANARY-gateway-key";
const SUBSCRIPTION: &str = "CANARY-subscription";

const SERVED: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5000,"output_tokens":100}}"#;
const CHAT_SERVED: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#;
const REQUEST: &str =
    r#"{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;

fn config(vendor: &Vendor) -> String {
    format!(
        "[[keys]]\nname = \"laptop\"\nkey = \"{GATEWAY}\"\nbudget = {{ total = \"0.000001 USD\" }}\n\
         [[keys]]\nname = \"rich\"\nkey = \"{GATEWAY}-rich\"\n\
         [prices.\"claude/m\"]\ninput = \"10\"\noutput = \"10\"\n\
         [providers.claude]\nkind = \"anthropic\"\nbase_url = \"http://{}\"\napi_key = \"{OWN}\"\nclient_credentials = \"forward\"\n",
        vendor.address()
    )
}

async fn send(gateway: &TestGateway, model: &str, headers: &[(&str, &str)]) -> TestResponse {
    let body = REQUEST.replace("MODEL", model);
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    gateway.request("/v1/messages", &all, &body).await
}

fn subscriber() -> [(&'static str, &'static str); 3] {
    [
        ("x-majordomo-key", GATEWAY),
        ("authorization", "Bearer CANARY-subscription"),
        ("anthropic-beta", "oauth-2025-04-20"),
    ]
}

/// Looks for canaries wherever the operator can look.
async fn assert_nothing_leaks(gateway: &TestGateway) {
    let look = async |path: &str| {
        let seen = gateway.send_to_operator(path, &[], b"").await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text());
        assert!(!seen.text().contains("CANARY"), "{path}: {}", seen.text());
        seen
    };
    for path in [
        "/",
        "/metrics",
        "/api/health",
        "/targets",
        "/usage",
        "/config",
    ] {
        look(path).await;
    }
    let requests = look("/api/requests").await.json();
    let requests = requests["requests"].as_array().expect("a list");
    assert!(!requests.is_empty(), "the requests are recorded");
    for request in requests {
        let id = request["id"].as_str().expect("an id");
        let page = look(&format!("/requests/{id}")).await;
        assert!(page.text().contains("claude/"), "{}", page.text());
        look(&format!("/api/requests/{id}")).await;
    }
}

#[tokio::test]
async fn a_subscription_is_sent_to_its_vendor_instead_of_our_key_and_the_client_pays() {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    let served = send(&gateway, "claude/m", &subscriber()).await;
    assert_eq!(served.status, 200, "{}", served.text());
    assert_eq!(
        served.header("x-majordomo-cost"),
        Some("0.00 USD"),
        "the budget does not cover it"
    );
    let request = &vendor.requests()[0];
    let bearer = format!("Bearer {SUBSCRIPTION}");
    assert_eq!(request.header("authorization"), Some(&*bearer));
    assert_eq!(request.header("anthropic-beta"), Some("oauth-2025-04-20"));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("x-majordomo-key"), None);
    assert!(!request.head.contains(GATEWAY) && !request.head.contains(OWN));
    assert_nothing_leaks(&gateway).await;
    gateway.stop().await;
}

#[tokio::test]
async fn without_a_gateway_key_of_its_own_header_a_credential_is_the_gateway_key() {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    let rich = format!("{GATEWAY}-rich");
    let bearer = format!("Bearer {rich}");
    for (headers, status) in [
        (&[("authorization", &*bearer)][..], 200),
        (&[("x-majordomo-key", &*rich)], 200),
        (&[("authorization", "Bearer CANARY-subscription")], 401),
        (
            &[("x-majordomo-key", "wrong"), ("authorization", &*bearer)],
            401,
        ),
        (
            &[("x-majordomo-key", &*rich), ("x-majordomo-key", GATEWAY)],
            400,
        ),
    ] {
        let response = send(&gateway, "claude/m", headers).await;
        assert_eq!(response.status, status, "{headers:?}: {}", response.text());
        assert!(!response.text().contains("CANARY"), "{}", response.text());
    }
    let requests = vendor.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests
            .iter()
            .all(|it| it.header("x-api-key") == Some(OWN))
    );
    gateway.stop().await;
}

#[tokio::test]
async fn a_subscription_is_not_shown_to_another_vendor_on_failover_or_redirect() {
    let other = Vendor::start(|_| VendorReply::new(200, CHAT_SERVED)).await;
    let address = other.address();
    let vendor = Vendor::start(move |request| match request.body.contains("redirected") {
        true => VendorReply::new(302, "").header("location", &format!("http://{address}/")),
        false => VendorReply::new(500, "{}"),
    })
    .await;
    let twin = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let config = config(&vendor)
        + &format!(
            "[providers.other]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\napi_key = \"CANARY-other\"\n\
             [providers.twin]\nkind = \"anthropic\"\nbase_url = \"http://{}\"\napi_key = \"CANARY-twin\"\n",
            twin.address()
        );
    let gateway =
        TestGateway::start(&config.replace("budget = { total = \"0.000001 USD\" }", "")).await;
    for model in [
        "claude/m,other/m",
        "claude/m,twin/m",
        "claude/redirected,other/m",
    ] {
        let served = send(&gateway, model, &subscriber()).await;
        assert_eq!(served.status, 200, "{model}: {}", served.text());
    }
    assert!(
        vendor
            .requests()
            .iter()
            .all(|it| it.head.contains(SUBSCRIPTION))
    );
    let others = [other.requests(), twin.requests()].concat();
    assert_eq!(others.len(), 3);
    for request in others {
        assert!(!request.head.contains(SUBSCRIPTION), "{}", request.head);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_errors_of_a_subscription_are_the_clients_and_harm_no_other() {
    let echo =
        format!(r#"{{"type":"error","error":{{"type":"x","message":"no: {SUBSCRIPTION}"}}}}"#);
    let vendor = Vendor::start(move |request| {
        if !request.head.contains(SUBSCRIPTION) {
            return VendorReply::new(200, SERVED);
        }
        let status = ["401", "403", "402", "429"]
            .into_iter()
            .find(|it| request.body.contains(it));
        let status = status.and_then(|it| it.parse().ok()).unwrap_or(500);
        VendorReply::new(status, &*echo).header("retry-after", "77")
    })
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    let rich = format!("{GATEWAY}-rich");
    for status in [401, 403, 402, 429] {
        let refused = send(&gateway, &format!("claude/m{status}"), &subscriber()).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(!refused.text().contains("CANARY"), "{}", refused.text());
        if status == 429 {
            assert_eq!(refused.header("retry-after"), Some("77"));
        }
        let model = format!("claude/m{status}");
        let served = send(&gateway, &model, &[("x-api-key", &rich)]).await;
        assert_eq!(served.status, 200, "{}", served.text());
    }
    assert_nothing_leaks(&gateway).await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_subscription_needs_no_key_of_ours() {
    let vendor = Vendor::start(|request| match request.head.contains(SUBSCRIPTION) {
        true => VendorReply::new(200, SERVED),
        false => VendorReply::new(401, "{}"),
    })
    .await;
    let config = config(&vendor).replace(OWN, "CANARY-revoked");
    let gateway = TestGateway::start(&config).await;
    let rich = format!("{GATEWAY}-rich");
    let refused = send(&gateway, "claude/m", &[("x-api-key", &rich)]).await;
    assert_eq!(refused.status, 502, "our key is rejected, and rests");
    let served = send(&gateway, "claude/m", &subscriber()).await;
    assert_eq!(served.status, 200, "{}", served.text());
    gateway.stop().await;
}

#[tokio::test]
async fn images_and_embeddings_are_paid_by_the_client_as_well() {
    let vendor = Vendor::start(|request| {
        if request.body.contains("refused") {
            let echo = format!(r#"{{"error":{{"message":"no: {SUBSCRIPTION}"}}}}"#);
            return VendorReply::new(402, echo);
        }
        if request.body.contains("\"down\"") {
            return VendorReply::new(500, "{}");
        }
        let body = match request.head.contains("/embeddings ") {
            true => r#"{"data":[{"index":0,"embedding":[1.0]}],"usage":{"prompt_tokens":5}}"#,
            false => r#"{"data":[{"b64_json":"iVBORw0KGgo="}]}"#,
        };
        VendorReply::new(200, body)
    })
    .await;
    let other = Vendor::start(|_| VendorReply::new(200, r#"{"images":["iVBORw0KGgo="]}"#)).await;
    let config = config(&vendor)
        .replace("anthropic", "openai")
        .replace("\"\napi_key", "/v1\"\napi_key")
        + &format!(
            "[providers.swap]\nkind = \"llama-swap\"\nbase_url = \"http://{}\"\napi_key = \"CANARY-other\"\n",
            other.address()
        );
    let gateway = TestGateway::start(&config).await;
    let rows = [
        ("/v1/images/generations", "prompt"),
        ("/v1/embeddings", "input"),
    ];
    for (path, field) in rows {
        for (text, status) in [("a pear", 200), ("refused", 402)] {
            let body = format!(r#"{{"model":"claude/m","{field}":"{text}"}}"#);
            let headers = [("content-type", "application/json")];
            let headers = [&headers[..], &subscriber()[..2]].concat();
            let served = gateway.request(path, &headers, &body).await;
            assert_eq!(served.status, status, "{path}: {}", served.text());
            assert!(!served.text().contains("CANARY"), "{}", served.text());
            let request = vendor.requests().pop().expect("a request");
            let bearer = format!("Bearer {SUBSCRIPTION}");
            assert_eq!(request.header("authorization"), Some(&*bearer), "{path}");
            assert!(!request.head.contains(OWN) && !request.head.contains(GATEWAY));
        }
    }
    let body = r#"{"model":"claude/down,swap/m","prompt":"a pear"}"#;
    let rich = format!("{GATEWAY}-rich");
    let headers = [("x-majordomo-key", &*rich), subscriber()[1]];
    let served = gateway
        .request("/v1/images/generations", &headers, body)
        .await;
    assert_eq!(served.status, 200, "{}", served.text());
    let request = other.requests().pop().expect("it failed over");
    assert!(!request.head.contains(SUBSCRIPTION), "{}", request.head);
    let requests = gateway.send_to_operator("/api/requests", &[], b"").await;
    let requests = requests.json();
    let requests = requests["requests"].as_array().expect("a list");
    assert_eq!(requests.len(), 5);
    // A call that the vendor refused is free, whoever would have paid.
    let paid = requests
        .iter()
        .filter(|it| it["model"] == "claude/m" && it["status"] == 200);
    assert_eq!(paid.clone().count(), 2);
    for request in paid {
        let id = request["id"].as_str().expect("an id");
        let page = gateway
            .send_to_operator(&format!("/requests/{id}"), &[], b"")
            .await;
        assert!(
            page.text().contains("<td>client_paid</td>"),
            "{}",
            page.text()
        );
    }
    assert_nothing_leaks(&gateway).await;
    gateway.stop().await;
}
