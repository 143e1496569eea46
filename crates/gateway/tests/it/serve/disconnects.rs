//! A disconnect cancels the request in every phase.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::time::Duration;

use majordomo::{Event, Part, Request, Response};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

/// Nominally 250 ms; only a broken gateway reaches this.
const SOON: Duration = Duration::from_secs(20);

/// The phase of a request when its client disconnects.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The provider has the request and sends nothing.
    Headers,
    /// The provider started a stream without content.
    BeforeContent,
    /// The client has a part of the response.
    MidStream,
    /// The provider has sent a part of a buffered response.
    MidBody,
}

/// The provider's script, and how much it sends before it stalls.
fn script(protocol: Protocol, phase: Phase) -> (Script, usize) {
    let events = [
        Event::Start {
            id: Some("answer-1".into()),
            model: Some(wires::REPORTED.into()),
        },
        Event::Text(String::new()),
        Event::Text("One, ".into()),
    ];
    let script = Script::new().read_request();
    let (script, sent) = match phase {
        Phase::Headers => (script, 0),
        Phase::BeforeContent => {
            let chunk = wires::frames(protocol, &events)[..2].concat();
            assert!(!chunk.is_empty(), "{protocol:?}");
            (script.stream_head().chunk(&chunk), chunk.len())
        }
        Phase::MidStream => {
            let chunk = wires::streamed(protocol, &events);
            (script.stream_head().chunk(&chunk), chunk.len())
        }
        Phase::MidBody => {
            let response = Response::new(vec![Part::text("One, two.")]);
            let half = wires::whole(protocol, &response);
            let half = half.slice(..half.len() / 2);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n";
            (script.send(head).send(half.clone()), half.len())
        }
    };
    (script.stall(), sent)
}

async fn leaves(client: Protocol, provider: Protocol, phase: Phase, stream: bool) {
    let (script, sent) = script(provider, phase);
    let upstream = Upstream::start([script]).await;
    let gateway = TestGateway::start(&wires::provider("up", provider, upstream.address())).await;
    let body = wires::request_for(client, &Request::user("Count."), "up/m0", stream);
    let path = wires::path(client, "up/m0", stream);
    let mut connection = gateway.begin(&path, &body).await;
    upstream.wait_for_requests(1, SOON).await;
    upstream.sent(0, sent, SOON).await;
    if phase == Phase::MidStream {
        let mut first = [0; 1];
        connection.read_exact(&mut first).await.expect("an answer");
    }
    assert_eq!(upstream.connections()[0].peer_closed, None);
    drop(connection);
    upstream.closed(0, SOON).await;
    // No other target is called.
    assert_eq!(upstream.requests().len(), 1, "{client:?} {phase:?}");
}

fn after(protocol: Protocol) -> Protocol {
    let at = Protocol::ALL.iter().position(|it| *it == protocol);
    Protocol::ALL[(at.expect("one of all") + 1) % Protocol::ALL.len()]
}

#[tokio::test]
async fn a_disconnect_in_any_phase_of_a_stream_closes_the_upstream() {
    for client in Protocol::ALL {
        for provider in [client, after(client)] {
            for phase in [Phase::Headers, Phase::BeforeContent, Phase::MidStream] {
                leaves(client, provider, phase, true).await;
            }
        }
    }
}

#[tokio::test]
async fn a_disconnect_in_any_phase_of_a_buffered_response_closes_the_upstream() {
    for client in Protocol::ALL {
        for provider in [client, after(client)] {
            for phase in [Phase::Headers, Phase::MidBody] {
                leaves(client, provider, phase, false).await;
            }
        }
    }
}

#[tokio::test]
async fn a_reset_http2_stream_closes_the_upstream() {
    use http_body_util::Full;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    for phase in [Phase::Headers, Phase::MidStream] {
        let (script, sent) = script(Protocol::Chat, phase);
        let upstream = Upstream::start([script]).await;
        let provider = wires::provider("up", Protocol::Chat, upstream.address());
        let gateway = TestGateway::start(&provider).await;
        let socket = tokio::net::TcpStream::connect(gateway.address)
            .await
            .unwrap();
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
        let (mut sender, connection) = handshake.await.unwrap();
        let driver = tokio::spawn(connection);
        let body = wires::request_for(Protocol::Chat, &Request::user("Count."), "up/m0", true);
        let request = http::Request::post("http://localhost/v1/chat/completions");
        let request = request.body(Full::new(body)).unwrap();
        let received = tokio::spawn(sender.send_request(request));
        upstream.wait_for_requests(1, SOON).await;
        upstream.sent(0, sent, SOON).await;
        if phase == Phase::MidStream {
            let reply = received.await.unwrap().unwrap();
            assert_eq!(reply.status(), 200);
            drop(reply);
        } else {
            received.abort();
        }
        upstream.closed(0, SOON).await;
        // Only the stream is reset: the connection serves others.
        assert!(!driver.is_finished());
        drop(sender);
        driver.abort();
    }
}

/// This machine's connections to a port, by local address, and whether each is still
/// connecting.
#[cfg(target_os = "linux")]
fn connections_to(port: u16) -> HashMap<String, bool> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table of connections");
    let wanted = format!(":{port:04X}");
    let found = table.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
        let opening = state == "02";
        peer.ends_with(&wanted).then(|| (own.to_owned(), opening))
    });
    found.collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_attempt_is_abandoned_on_disconnect() {
    use majordomo_testkit::BlackHole;

    for client in Protocol::ALL {
        for stream in [false, true] {
            let hole = BlackHole::open();
            let port = hole.address().port();
            // The black hole's own connections fill its backlog in the background.
            let fillers = connections_to(port);
            let being_opened = || {
                let connections = connections_to(port).into_iter();
                let ours = connections.filter(|(own, _)| !fillers.contains_key(own));
                ours.filter(|(_, opening)| *opening).count()
            };
            let count = async |wanted: usize| {
                let counted = async {
                    while being_opened() != wanted {
                        tokio::task::yield_now().await;
                    }
                };
                let counted = tokio::time::timeout(SOON, counted).await;
                assert!(counted.is_ok(), "{} instead of {wanted}", being_opened());
            };
            let gateway = TestGateway::start(&wires::provider("up", client, hole.address())).await;
            let body = wires::request_for(client, &Request::user("Count."), "up/m0", stream);
            let path = wires::path(client, "up/m0", stream);
            let connection = gateway.begin(&path, &body).await;
            count(1).await;
            drop(connection);
            count(0).await;
        }
    }
}

#[tokio::test]
async fn a_disconnect_while_waiting_for_a_permit_calls_no_upstream() {
    let whole = Response::new(vec![Part::text("One.")]);
    let scripts = [
        Script::new().read_request().stall(),
        wires::answering(Protocol::Chat, &whole, false),
    ];
    let upstream = Upstream::start(scripts).await;
    let provider = wires::provider("up", Protocol::Chat, upstream.address());
    let route = "[[routes]]\nmodel = \"one\"\nservices = [ { spec = \"up/m0\", capacity = 1 } ]\n";
    let gateway = TestGateway::start(&format!("{provider}{route}")).await;
    let path = wires::path(Protocol::Chat, "one", false);
    let send_request =
        |text: &str| wires::request_for(Protocol::Chat, &Request::user(text), "one", false);

    let seated = gateway.begin(&path, &send_request("first")).await;
    upstream.wait_for_requests(1, SOON).await;
    let mut waiting = gateway.begin(&path, &send_request("second")).await;
    waiting.shutdown().await.expect("a client may leave");
    // The gateway has noticed the disconnect once it closes.
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(SOON, waiting.read_to_end(&mut rest)).await;
    assert!(closed.is_ok() && rest.is_empty(), "{rest:?}");
    drop(seated);
    upstream.closed(0, SOON).await;

    let reply = gateway.post(&path, send_request("third")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(upstream.requests().len(), 2, "the first and the third");
}
