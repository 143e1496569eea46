//! Memory that a body takes while it is parsed.

use crate::gateway::{GatewayCommand, post};

const MIB: usize = 1 << 20;

/// Memory besides bodies: a worker's buffers, and pages that the allocator caches.
const OVERHEAD: usize = 4 * MIB;

/// Requests for an unknown provider: parsed, but never sent.
fn bodies() -> Vec<(&'static str, u16, String)> {
    let begun = r#"{"model":"unknown/x","messages":[{"role":"user","content":"hi"}]"#;
    let nested = |depth| {
        format!(
            "{begun},\"metadata\":{}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let keys: String = (0..1_000_000).map(|n| format!(",\"k{n}\":1")).collect();
    let digits = "9".repeat(1_000_000);
    let long = "x".repeat(50_000_000);
    let twice = |field: &str| format!("{begun},\"user\":\"{}\",{field}}}", &long[..20_000_000]);
    vec![
        ("129 levels", 400, nested(129)),
        ("100,000 levels", 400, nested(100_000)),
        ("2,000,000 levels", 400, nested(2_000_000)),
        (
            "many arrays",
            404,
            format!("{begun},\"metadata\":[{}[]]}}", "[],".repeat(5_000_000)),
        ),
        (
            "1,000,000 keys inside",
            404,
            format!("{begun},\"metadata\":{{\"k\":1{keys}}}}}"),
        ),
        ("1,000,000 keys", 400, format!("{begun}{keys}}}")),
        (
            "1,000,000 digits",
            400,
            format!("{begun},\"max_tokens\":{digits}}}"),
        ),
        ("one string", 404, format!("{begun},\"user\":\"{long}\"}}")),
        ("one text", 404, begun.replace("hi", &long) + "}"),
        ("model twice", 400, twice("\"model\":\"demo/text\"")),
        ("messages twice", 400, twice("\"messages\":[]")),
    ]
}

#[tokio::test]
async fn parsing_a_body_takes_at_most_twice_its_size() {
    let mut over = Vec::new();
    for (name, status, body) in bodies() {
        let gateway =
            GatewayCommand::with("[server]\nmax_body = \"64MiB\"\nmax_values = 20000000\n")
                .start()
                .await;
        // One-time allocations do not count.
        for path in ["/v1/chat/completions", "/v1/models"] {
            gateway
                .send(post(path, "", "{\"model\":\"unknown/x\",\"messages\":[]}"))
                .await;
        }
        gateway.reset_peak();
        let idle = gateway.memory();
        let request = post("/v1/chat/completions", "", &body);
        let response = gateway.send(&request).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")),
            "{name}: {response}"
        );
        let (highest, most) = (gateway.peak_memory(), idle + 2 * body.len() + OVERHEAD);
        println!(
            "{name}: {} KiB took {} KiB",
            body.len() / 1024,
            highest.saturating_sub(idle) / 1024
        );
        if highest > most {
            over.push(format!("{name}: {idle} became {highest}, more than {most}"));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// Elements of a few bytes that a codec turns into structs of hundreds.
#[tokio::test]
async fn tiny_elements_beyond_the_limit_are_refused_before_they_take_memory() {
    let list = |element: &str| vec![element; (24 * MIB) / (element.len() + 1)].join(",");
    let rows = [
        (
            "/api/chat",
            r#"{"model":"demo/text","messages":[{"role":"user","images":[LIST]}]}"#,
            r#""""#,
        ),
        (
            "/v1/responses",
            r#"{"model":"demo/text","input":[LIST]}"#,
            "{}",
        ),
        (
            "/api/chat",
            r#"{"model":"demo/text","messages":[{"role":"assistant","tool_calls":[LIST]}]}"#,
            r#"{"function":{}}"#,
        ),
        (
            "/v1beta/models/demo/text:generateContent",
            r#"{"contents":[LIST]}"#,
            "{}",
        ),
        (
            "/v1/chat/completions",
            r#"{"model":"demo/text","messages":[],"stop":[LIST]}"#,
            r#""""#,
        ),
        (
            "/v1/messages",
            r#"{"model":"demo/text","max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[LIST]}}]}]}"#,
            r#"{"type":"image"}"#,
        ),
    ];
    for (path, body, element) in rows {
        let body = body.replace("LIST", &list(element));
        let gateway = GatewayCommand::with("").start().await;
        gateway.send(post(path, "", "{}")).await;
        gateway.reset_peak();
        let idle = gateway.memory();
        let response = gateway.send(&post(path, "", &body)).await;
        assert!(
            response.starts_with("HTTP/1.1 400"),
            "{path} {element}: {response}"
        );
        let (highest, most) = (gateway.peak_memory(), idle + 2 * body.len() + OVERHEAD);
        assert!(highest <= most, "{path} {element}: {idle} became {highest}");
    }
}
