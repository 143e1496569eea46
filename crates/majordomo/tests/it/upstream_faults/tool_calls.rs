//! Tool calls in odd fragments.

use majordomo::{ErrorKind, Response, Result, ToolCall};

use super::harness::{FaultHarness, chunk, events};

const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

/// The response to a stream of these `tool_calls` elements, one per chunk.
async fn respond(pieces: &[&str]) -> Result<Response> {
    let chunks = pieces
        .iter()
        .map(|piece| chunk(&format!(r#"{{"tool_calls":[{piece}]}}"#)));
    let body: String = chunks.chain([FINISH.to_owned()]).collect();
    let (_upstream, harness) = FaultHarness::playing([events(body)]).await;
    harness.open().await?.finish().await
}

fn shown(calls: &[ToolCall]) -> Vec<String> {
    let show = |call: &ToolCall| format!("{} {}({})", call.id, call.name, call.arguments);
    calls.iter().map(show).collect()
}

#[tokio::test]
async fn oddly_chunked_tool_calls_are_assembled() {
    let rows: &[(&str, &[&str], &[&str])] = &[
        (
            "a huge index",
            &[r#"{"index":4000000000,"id":"a","function":{"name":"f","arguments":"{}"}}"#],
            &["a f({})"],
        ),
        (
            "interleaved calls",
            &[
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#,
                r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}"#,
                r#"{"index":0,"function":{"arguments":":1}"}}"#,
                r#"{"index":1,"function":{"arguments":":2}"}}"#,
            ],
            &[r#"a f({"x":1})"#, r#"b g({"y":2})"#],
        ),
        (
            "an id that changes under its index",
            &[
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
            ],
            &["a f({})", "b g({})"],
        ),
        (
            "a name that comes late",
            &[
                r#"{"index":0,"id":"a","function":{"arguments":""}}"#,
                r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#,
            ],
            &["a f({})"],
        ),
        (
            "no id",
            &[
                r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":1,"function":{"name":"f","arguments":"{}"}}"#,
            ],
            &["call_0 f({})", "call_1 f({})"],
        ),
    ];
    for (what, pieces, expected) in rows {
        let reply = respond(pieces).await.unwrap();
        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        assert_eq!(shown(&calls), *expected, "{what}");
    }
}

#[tokio::test]
async fn malformed_tool_arguments_are_passed_on_verbatim_and_fail_to_parse() {
    for broken in [r#"{\"x\":"#, "nonsense", r#"{\"x\":1}}"#] {
        let piece =
            format!(r#"{{"index":0,"id":"a","function":{{"name":"f","arguments":"{broken}"}}}}"#);
        let reply = respond(&[&piece]).await.unwrap();
        let call = reply.tool_calls().next().unwrap();
        assert!(call.parse::<serde::de::IgnoredAny>().is_err(), "{broken}");
    }
}

#[tokio::test]
async fn a_truncated_tool_call_is_never_delivered_as_whole() {
    let piece = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#;
    let body = chunk(&format!(r#"{{"tool_calls":[{piece}]}}"#));
    let (_upstream, harness) = FaultHarness::playing([events(body)]).await;
    let mut stream = harness.open().await.unwrap();
    let first = stream.next().await.unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Truncated);
}

/// A call with these arguments, in one chunk.
fn call(index: usize, arguments: &str) -> String {
    format!(
        r#"{{"index":{index},"id":"c{index}","function":{{"name":"f","arguments":"{arguments}"}}}}"#
    )
}

#[tokio::test]
async fn tool_calls_beyond_the_limits_are_rejected_whole() {
    let large = call(0, &format!(r#"{{\"x\":\"{}\"}}"#, "a".repeat(1 << 20)));
    let deep = call(0, &"[".repeat(65));
    let pieces: Vec<String> = (0..200)
        .map(|_| {
            format!(
                r#"{{"index":0,"function":{{"arguments":"{}"}}}}"#,
                "a".repeat(8 << 10)
            )
        })
        .collect();
    let opened = call(0, r#"{\"x\":\""#);
    let mut slowly = vec![&*opened];
    slowly.extend(pieces.iter().map(String::as_str));
    let many: Vec<String> = (0..129).map(|index| call(index, "{}")).collect();
    let rows = [
        ("longer than 1048576 bytes", vec![&*large]),
        ("longer than 1048576 bytes", slowly),
        ("deeper than 64 levels", vec![&*deep]),
        (
            "more than 128 tool calls",
            many.iter().map(String::as_str).collect(),
        ),
    ];
    for (what, pieces) in rows {
        let error = respond(&pieces).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{what}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test]
async fn tool_calls_within_the_limits_are_accepted() {
    let large = call(0, &format!(r#"{{\"x\":\"{}\"}}"#, "a".repeat(1_000_000)));
    let deep = call(1, &format!("{}{}", "[".repeat(64), "]".repeat(64)));
    let many: Vec<String> = (2..128).map(|index| call(index, "{}")).collect();
    let mut pieces = vec![&*large, &*deep];
    pieces.extend(many.iter().map(String::as_str));
    let reply = respond(&pieces).await.unwrap();
    assert_eq!(reply.tool_calls().count(), 128);
}
