//! Failover before the first token, and never after it.

use bytes::Bytes;
use majordomo::{Error, ErrorKind, Event, FinishReason, Part, Request, Response, Usage};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{Protocol, with_model};

use crate::serve::test_gateway::{TestGateway, TestResponse};
use crate::serve::wires;

const WORDS: [&str; 6] = ["One, ", "two, ", "three, ", "four, ", "five, ", "six."];

/// A response of a few events.
pub(crate) fn events() -> Vec<Event> {
    let mut events = vec![Event::Start {
        id: Some("answer-1".into()),
        model: Some(wires::REPORTED.into()),
    }];
    // Some servers send an empty delta first.
    events.push(Event::Text(String::new()));
    events.extend(WORDS.map(|word| Event::Text(word.into())));
    events.push(Event::EndPart(None));
    events.push(Event::Usage(Usage::new(11, 12)));
    events.push(Event::Finish(FinishReason::Stop));
    events
}

fn text() -> String {
    WORDS.concat()
}

/// The frames that a dialect's stream sends before the first token.
fn preamble(protocol: Protocol) -> Bytes {
    let preamble = wires::frames(protocol, &events())[..2].concat();
    assert!(!preamble.is_empty(), "{protocol:?}");
    preamble.into()
}

/// A response truncated after this, by closing the connection or ending the body.
pub(crate) fn cut(script: Script, bytes: &[u8], abrupt: bool) -> Script {
    let script = script.read_request().stream_head();
    let script = match bytes.is_empty() {
        true => script,
        false => script.chunk(bytes),
    };
    if abrupt { script } else { script.last_chunk() }
}

fn after(protocol: Protocol) -> Protocol {
    let at = Protocol::ALL.iter().position(|it| *it == protocol);
    Protocol::ALL[(at.expect("one of all") + 1) % Protocol::ALL.len()]
}

pub(crate) async fn send_request(
    gateway: &TestGateway,
    client: Protocol,
    model: &str,
) -> TestResponse {
    let body = wires::request_for(client, &Request::user("Count."), model, true);
    gateway.post(&wires::path(client, model, true), body).await
}

/// The event that ends a complete response; errors may mention its bare name.
fn terminator(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "data: [DONE]",
        Protocol::Responses => r#""type":"response.completed""#,
        Protocol::Messages => r#""type":"message_stop""#,
        Protocol::Gemini => "\"finishReason\":\"",
        Protocol::Ollama => "\"done\":true",
    }
}

/// Checks that the response is complete, or is a prefix of the text followed by the
/// dialect's error; returns whether it is complete.
pub(crate) fn check(client: Protocol, reply: &TestResponse, what: &str) -> bool {
    let output = reply.text();
    assert_eq!(reply.status, 200, "{what}: {output}");
    match wires::understood(client, &reply.body, true) {
        Ok(response) => {
            assert_eq!(response.text(), text(), "{what}");
            assert!(!reply.cut, "{what}");
            true
        }
        Err(error) => {
            // An error event, not merely the end of the stream.
            assert_eq!(
                error.kind(),
                ErrorKind::Provider,
                "{what}: {error}\n{output}"
            );
            let partial = error.partial().map(Response::text).unwrap_or_default();
            assert!(text().starts_with(&partial), "{what}: {partial}");
            assert!(!output.contains(terminator(client)), "{what}: {output}");
            assert!(reply.cut, "{what}: {output}");
            false
        }
    }
}

/// An incompressible image.
fn noise() -> Vec<u8> {
    const SIDE: u32 = 1_450;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIDE, SIDE);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::NoCompression);
    let mut dice = fastrand::Rng::with_seed(6);
    let pixels: Vec<u8> = (0..SIDE * SIDE * 3).map(|_| dice.u8(..)).collect();
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    bytes
}

#[tokio::test]
async fn a_large_image_is_resent_to_the_next_target() {
    let data = noise();
    assert!(data.len() > 6_000_000);
    let request = Request::user("What is this?").part(Part::image("image/png", data.clone()));
    let overloaded = |protocol: Protocol| {
        let body = protocol.codec().write_error(&Error::http(503, "busy")).body;
        let script = Script::new().read_request();
        script.respond(503, "application/json", body).times(20)
    };
    let response = Response::new(vec![Part::text("Noise.")]);
    for client in Protocol::ALL {
        for second in [client, after(client)] {
            let busy = Upstream::start([overloaded(client)]).await;
            let serving = Upstream::start([wires::answering(second, &response, false)]).await;
            let mut config = wires::provider("busy", client, busy.address());
            config.push_str(&wires::provider("serving", second, serving.address()));
            // No limit is declared, so that nothing is downscaled.
            let config = config.replace("images = true", "images = { max_bytes = \"9MB\" }");
            let gateway = TestGateway::start(&config).await;
            let model = "busy/m0,serving/m1";
            let sent = wires::request_for(client, &request, model, false);
            let reply = gateway
                .post(&wires::path(client, model, false), sent.clone())
                .await;
            let what = format!("{client:?} to {second:?}: {}", reply.text());
            assert_eq!(reply.status, 200, "{what}");
            assert_eq!(reply.header("x-majordomo-target"), Some("serving/m1"));
            assert_eq!(reply.header("x-majordomo-attempts"), Some("3"), "{what}");
            let received = serving.requests()[0].body.clone();
            if client == second && client != Protocol::Gemini {
                assert!(received == with_model(&sent, "m1"), "{what}");
            }
            let read = second.codec().read_request(received).unwrap();
            let Some(Part::Image(image)) = read.request.prompt().messages[0].parts.last() else {
                panic!("{what}: no picture");
            };
            assert!(image.data[..] == data[..], "{what}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_fails_before_its_content_is_served_by_the_next_target() {
    let mut config = String::new();
    let mut upstreams = Vec::new();
    for protocol in Protocol::ALL {
        let dying = cut(Script::new(), &preamble(protocol), true);
        let whole = wires::streamed(protocol, &events());
        let whole = Script::new()
            .read_request()
            .respond(200, wires::stream_type(protocol), whole)
            .times(20);
        for (role, script) in [("dying", dying), ("serving", whole)] {
            let upstream = Upstream::start([script]).await;
            let name = format!("{role}-{}", wires::name(protocol));
            config.push_str(&wires::provider(&name, protocol, upstream.address()));
            upstreams.push(upstream);
        }
    }
    let gateway = TestGateway::start(&config).await;
    for (number, client) in Protocol::ALL.into_iter().enumerate() {
        for (other, second) in [client, after(client)].into_iter().enumerate() {
            for first in [client, after(client)] {
                let (first, second) = (wires::name(first), wires::name(second));
                let fresh = 2 * number + other;
                let target = format!("serving-{second}/m{fresh}");
                let model = format!("dying-{first}/m{fresh},{target}");
                let reply = send_request(&gateway, client, &model).await;
                let what = format!("{client:?} asks {model}");
                assert!(check(client, &reply, &what), "{what}: {}", reply.text());
                assert_eq!(reply.header("x-majordomo-target"), Some(&*target), "{what}");
                let attempts = reply.header("x-majordomo-attempts");
                assert_ne!(attempts, Some("1"), "{what}");
                if wires::name(client) == second {
                    assert_eq!(reply.body, wires::streamed(client, &events()), "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_fails_after_its_first_token_ends_with_the_dialects_error() {
    let whole = Script::new().read_request().stall();
    let next = Upstream::start([whole]).await;
    let mut config = wires::provider("next", Protocol::Chat, next.address());
    let mut upstreams = Vec::new();
    for protocol in Protocol::ALL {
        let dying = cut(
            Script::new(),
            &wires::streamed(protocol, &events()[..4]),
            true,
        );
        let upstream = Upstream::start([dying]).await;
        config.push_str(&wires::provider(
            wires::name(protocol),
            protocol,
            upstream.address(),
        ));
        upstreams.push(upstream);
    }
    let gateway = TestGateway::start(&config).await;
    for (number, client) in Protocol::ALL.into_iter().enumerate() {
        for upstream in Protocol::ALL {
            let target = format!("{}/m{number}", wires::name(upstream));
            let reply = send_request(&gateway, client, &format!("{target},next/m0")).await;
            let what = format!("{client:?} asks {target}");
            assert!(!check(client, &reply, &what), "{what}");
            assert_eq!(reply.header("x-majordomo-target"), Some(&*target), "{what}");
            let error = wires::understood(client, &reply.body, true).unwrap_err();
            assert!(error.message().contains(&target), "{what}: {error}");
            let partial = error.partial().map(Response::text);
            assert_eq!(partial.as_deref(), Some("One, two, "), "{what}");
        }
    }
    assert!(next.requests().is_empty());
}

#[tokio::test]
async fn an_error_event_fails_over_before_content_and_is_forwarded_after() {
    let overloaded = Error::http(529, "overloaded").with_code("overloaded_error");
    let stream = |protocol, body: Bytes| {
        let script = Script::new().read_request();
        script
            .respond(200, wires::stream_type(protocol), body)
            .times(20)
    };
    let mut config = "[chain]\nretries = 0\n".to_owned();
    let mut upstreams = Vec::new();
    for protocol in Protocol::ALL {
        let name = wires::name(protocol);
        for (role, body) in [
            (
                "early",
                wires::broken_off(protocol, &events()[..2], &overloaded),
            ),
            (
                "late",
                wires::broken_off(protocol, &events()[..4], &overloaded),
            ),
            ("serving", wires::streamed(protocol, &events())),
        ] {
            let upstream = Upstream::start([stream(protocol, body)]).await;
            let name = format!("{role}-{name}");
            config.push_str(&wires::provider(&name, protocol, upstream.address()));
            upstreams.push(upstream);
        }
    }
    let gateway = TestGateway::start(&config).await;
    for (number, client) in Protocol::ALL.into_iter().enumerate() {
        for upstream in Protocol::ALL {
            let name = wires::name(upstream);
            let model = format!("early-{name}/m{number},serving-{name}/m{number}");
            let reply = send_request(&gateway, client, &model).await;
            let what = format!("{client:?} asks {model}");
            assert!(check(client, &reply, &what), "{what}: {}", reply.text());
            assert_eq!(reply.header("x-majordomo-attempts"), Some("2"), "{what}");

            let model = format!("late-{name}/m{number},serving-{name}/m{number}");
            let reply = send_request(&gateway, client, &model).await;
            let what = format!("{client:?} asks {model}");
            assert!(!check(client, &reply, &what), "{what}: {}", reply.text());
            assert!(reply.text().contains("overloaded"), "{what}");
        }
    }
}

#[tokio::test]
async fn an_empty_response_fails_over_to_the_next_target() {
    let silent = [
        events().remove(0),
        Event::Usage(Usage::default()),
        Event::Finish(FinishReason::Stop),
    ];
    for client in Protocol::ALL {
        let script = |body: Bytes| {
            let script = Script::new().read_request();
            script
                .respond(200, wires::stream_type(client), body)
                .times(9)
        };
        let empty = Upstream::start([script(wires::streamed(client, &silent))]).await;
        let serving = Upstream::start([script(wires::streamed(client, &events()))]).await;
        let config = [
            wires::provider("empty", client, empty.address()),
            wires::provider("serving", client, serving.address()),
        ];
        let gateway = TestGateway::start(&config.concat()).await;
        let reply = send_request(&gateway, client, "empty/m0,serving/m0").await;
        let what = format!("{client:?}: {}", reply.text());
        assert!(check(client, &reply, &what), "{what}");
        assert_eq!(
            reply.header("x-majordomo-target"),
            Some("serving/m0"),
            "{what}"
        );
    }
}
