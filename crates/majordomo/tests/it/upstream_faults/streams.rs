//! Streams that break before and after their commit point.

use std::time::Duration;

use majordomo::llm::Timer;
use majordomo::providers::ProviderKind;
use majordomo::transport::Timeouts;
use majordomo::{Class, ErrorKind, Event, FinishReason, Request, StreamItem};
use majordomo_testkit::{Script, Upstream};

use super::harness::{DONE, FaultHarness, Head, RETRIED, SOON, UNUSABLE, chunk, events};
use crate::support::drain;

fn text(text: &str) -> String {
    chunk(&format!(r#"{{"content":"{text}"}}"#))
}

/// A stream that has started and stays open.
fn begun(body: &str) -> Script {
    Script::new().read_request().stream_head().chunk(body)
}

#[tokio::test]
async fn a_stalled_stream_ends_with_the_idle_timeout_and_the_partial_response() {
    let three = format!("{}{}{}", text("a"), text("b"), text("c"));
    let upstream = Upstream::start([begun(&three).stall()]).await;
    let timeouts = Timeouts::default().with_idle(Duration::from_millis(100));
    let harness = Head::at(upstream.uri("")).timeouts(timeouts).harness();
    let error = harness.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Idle));
    assert_eq!(error.partial().unwrap().text(), "abc");
    assert_eq!(harness.failures(), 1);
    assert_eq!(
        harness.tail.call_count("m"),
        0,
        "no failover after the commit"
    );
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_stream_of_pings_only_ends_with_the_first_event_timeout() {
    let pings = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let paced = (0..100).fold(Script::new().read_request().stream_head(), |script, _| {
        script.chunk(pings).wait(Duration::from_millis(20))
    });
    let upstream = Upstream::start([paced]).await;
    let timeouts = Timeouts::default().with_first_event(Duration::from_millis(200));
    let head = Head::at(upstream.uri("")).kind(ProviderKind::Anthropic);
    let harness = head.timeouts(timeouts).harness();
    assert_eq!(harness.send_streaming().await, RETRIED);
}

#[tokio::test]
async fn a_stream_that_only_pings_after_its_start_ends_with_the_event_idle_timeout() {
    let start = begun(&text("hello"));
    let paced = (0..100).fold(start, |script, _| {
        script.chunk(": ping\n\n").wait(Duration::from_millis(20))
    });
    let upstream = Upstream::start([paced]).await;
    let timeouts = Timeouts::default().with_event_idle(Duration::from_millis(200));
    let harness = Head::at(upstream.uri("")).timeouts(timeouts).harness();
    let error = harness.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::EventIdle));
    assert_eq!(error.partial().unwrap().text(), "hello");
    assert_eq!((harness.failures(), harness.tail.call_count("m")), (1, 0));
}

/// A valid stream per dialect: its start with the text `hello`, and its end.
const DIALECTS: &[(ProviderKind, &str, &str)] = &[
    (
        ProviderKind::OpenAi,
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n",
        DONE,
    ),
    (
        ProviderKind::OpenAiResponses,
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m1\",\"role\":\"assistant\",\"content\":[]}}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"item_id\":\"m1\",\"delta\":\"hello\"}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"m1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hello\"}]}]}}\n\n",
    ),
    (
        ProviderKind::Anthropic,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        ProviderKind::Google,
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hello\"}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[]},\"finishReason\":\"STOP\"}]}\n\n",
    ),
    (
        ProviderKind::OllamaCloud,
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"done\":false}\n",
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    ),
];

async fn harness(kind: ProviderKind, script: Script) -> (Upstream, FaultHarness) {
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.uri("")).kind(kind).harness();
    (upstream, harness)
}

#[tokio::test]
async fn the_end_of_the_body_without_a_finish_is_a_truncated_stream() {
    for (kind, beginning, _) in DIALECTS {
        let (_upstream, harness) = harness(*kind, events(beginning)).await;
        let error = harness.open().await.unwrap().finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{kind:?}: {error}");
        assert_eq!(error.class(), Class::BadResponse, "{kind:?}");
        assert_eq!(error.partial().unwrap().text(), "hello", "{kind:?}");
        assert_eq!(harness.failures(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_terminator_without_a_finish_reason_ends_the_stream() {
    let body = format!("{}data: [DONE]\n\n", text("hello"));
    let (_upstream, harness) = FaultHarness::playing([events(body)]).await;
    let reply = harness.open().await.unwrap().finish().await.unwrap();
    assert_eq!(reply.text(), "hello");
    assert_eq!(reply.finish, FinishReason::Stop);
    assert_eq!(harness.failures(), 0);
}

#[tokio::test]
async fn events_after_the_finish_are_ignored() {
    for (kind, beginning, end) in DIALECTS {
        // Gemini has no terminator: its response ends with its body.
        let again = if *kind == ProviderKind::Google {
            end
        } else {
            beginning
        };
        for more in [*end, *again, "garbage\n\n"] {
            let script = begun(beginning).chunk(end).chunk(more).last_chunk();
            let (_upstream, harness) = harness(*kind, script).await;
            let reply = harness.open().await.unwrap().finish().await.unwrap();
            assert_eq!(
                (&*reply.text(), &*reply.model),
                ("hello", "head/m"),
                "{kind:?}"
            );
            assert_eq!(harness.failures(), 0, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_keeps_sending_after_the_finish_is_disconnected() {
    let script = begun(&format!("{}{DONE}", text("hello"))).flood("3\r\n: k\r\n");
    let (upstream, harness) = FaultHarness::playing([script]).await;
    let reply = harness.open().await.unwrap().finish().await.unwrap();
    assert_eq!(reply.text(), "hello");
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_mid_stream_error_keeps_its_class_in_every_dialect() {
    let rate = "rate_limit_exceeded";
    let errors = [
        (ProviderKind::OpenAi, format!("data: {{\"error\":{{\"message\":\"slow down\",\"code\":\"{rate}\"}}}}\n\n"), Class::Transient),
        (ProviderKind::OpenAi, "data: {\"error\":{\"message\":\"no money\",\"code\":\"insufficient_quota\"}}\n\n".to_owned(), Class::Quota),
        (ProviderKind::OpenAiResponses, format!("data: {{\"type\":\"response.failed\",\"response\":{{\"id\":\"r1\",\"status\":\"failed\",\"error\":{{\"code\":\"{rate}\",\"message\":\"slow down\"}}}}}}\n\n"), Class::Transient),
        (ProviderKind::Anthropic, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n".to_owned(), Class::Transient),
        (ProviderKind::Google, "data: {\"error\":{\"code\":429,\"message\":\"slow down\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"7s\"}]}}\n\n".to_owned(), Class::RateLimited),
        (ProviderKind::OllamaCloud, "{\"error\":\"the runner crashed\"}\n".to_owned(), Class::Transient),
    ];
    for (kind, error, class) in errors {
        let (_, beginning, _) = DIALECTS.iter().find(|it| it.0 == kind).unwrap();
        let script = begun(beginning).chunk(&error).last_chunk();
        let (_upstream, harness) = harness(kind, script).await;
        let failure = harness.open().await.unwrap().finish().await.unwrap_err();
        assert_eq!(failure.class(), class, "{kind:?}: {failure}");
        assert_eq!(failure.partial().unwrap().text(), "hello", "{kind:?}");
        let counted = u32::from(class == Class::Transient);
        assert_eq!(harness.failures(), counted, "{kind:?}");
        let waits = harness.benched("head/m") == Duration::from_secs(7);
        assert_eq!(waits, class == Class::RateLimited, "{kind:?}");
        assert_eq!(harness.tail.call_count("m"), 0, "{kind:?}");
    }
}

#[tokio::test]
async fn a_stream_that_dies_before_its_first_text_fails_over_invisibly() {
    let role = chunk(r#"{"role":"assistant","content":""}"#);
    for script in [begun(&role), begun(&role).reset()] {
        let (_upstream, harness) = FaultHarness::playing([script]).await;
        let chain = harness.chain("head/m,tail/m");
        let mut open = chain.open(Request::user("hi")).await.unwrap();
        assert_eq!(open.target, "tail/m");
        let events: Vec<Event> = drain(&mut open.events)
            .await
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap();
        let starts = events.iter().filter(|it| matches!(it, Event::Start { .. }));
        assert!(
            starts.count() <= 1,
            "one preamble, the winner's: {events:?}"
        );
        assert!(!format!("{events:?}").contains("c1"), "{events:?}");
    }
}

#[tokio::test]
async fn a_stream_that_dies_after_its_first_text_is_reported_to_the_caller() {
    for script in [begun(&text("hel")), begun(&text("hel")).reset()] {
        let (_upstream, harness) = FaultHarness::playing([script]).await;
        let mut stream = harness.open().await.unwrap();
        let first = stream.next().await.unwrap().unwrap();
        assert_eq!(first, StreamItem::Text("hel".into()));
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.partial().unwrap().text(), "hel");
        assert!(stream.next().await.is_none(), "nothing after the error");
        assert_eq!(harness.tail.call_count("m"), 0);
        assert_eq!(harness.failures(), 1);
    }
}

#[tokio::test]
async fn a_half_closed_connection_is_a_truncated_stream() {
    let role = chunk(r#"{"role":"assistant","content":""}"#);
    let (upstream, harness) = FaultHarness::playing([begun(&role).shut_write().stall()]).await;
    assert_eq!(harness.send_streaming().await, UNUSABLE);
    upstream.closed(0, SOON).await;
}
