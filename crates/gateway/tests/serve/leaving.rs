//! A client that leaves takes its request with it, however far that had come.

use std::time::Duration;

use majordomo::{Event, Part, Request, Response};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use tokio::io::AsyncReadExt;

use crate::stage::Stage;
use crate::wires;

/// What is nominally done within 250 ms; only a broken gateway takes so long.
const SOON: Duration = Duration::from_secs(20);

/// How far a request has come when its client leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The provider has the request and says nothing.
    Headers,
    /// The provider began a stream, and the model has said nothing.
    BeforeContent,
    /// The client has a part of the answer.
    MidStream,
    /// The provider has sent a part of an answer that is wanted whole.
    MidBody,
}

/// What the provider does, and how much it sends before it stalls.
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
    let stage = Stage::start(&wires::provider("up", provider, upstream.address())).await;
    let body = wires::question(client, &Request::user("Count."), "up/m0", stream);
    let path = wires::path(client, "up/m0", stream);
    let mut connection = stage.begin(&path, &body).await;
    upstream.asked(1, SOON).await;
    upstream.sent(0, sent, SOON).await;
    if phase == Phase::MidStream {
        let mut first = [0; 1];
        connection.read_exact(&mut first).await.expect("an answer");
    }
    assert_eq!(upstream.connections()[0].peer_closed, None);
    drop(connection);
    upstream.closed(0, SOON).await;
    // Nobody is asked instead.
    assert_eq!(upstream.requests().len(), 1, "{client:?} {phase:?}");
}

fn after(protocol: Protocol) -> Protocol {
    let at = Protocol::ALL.iter().position(|it| *it == protocol);
    Protocol::ALL[(at.expect("one of all") + 1) % Protocol::ALL.len()]
}

#[tokio::test]
async fn the_provider_is_left_in_every_phase_of_a_stream() {
    for client in Protocol::ALL {
        for provider in [client, after(client)] {
            for phase in [Phase::Headers, Phase::BeforeContent, Phase::MidStream] {
                leaves(client, provider, phase, true).await;
            }
        }
    }
}

#[tokio::test]
async fn the_provider_is_left_in_every_phase_of_a_whole_answer() {
    for client in Protocol::ALL {
        for provider in [client, after(client)] {
            for phase in [Phase::Headers, Phase::MidBody] {
                leaves(client, provider, phase, false).await;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_of_http2_that_is_reset_leaves_its_provider() {
    use http_body_util::Full;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    for phase in [Phase::Headers, Phase::MidStream] {
        let (script, sent) = script(Protocol::Chat, phase);
        let upstream = Upstream::start([script]).await;
        let provider = wires::provider("up", Protocol::Chat, upstream.address());
        let stage = Stage::start(&provider).await;
        let socket = tokio::net::TcpStream::connect(stage.address).await.unwrap();
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
        let (mut sender, connection) = handshake.await.unwrap();
        let driver = tokio::spawn(connection);
        let body = wires::question(Protocol::Chat, &Request::user("Count."), "up/m0", true);
        let request = http::Request::post("http://gateway/v1/chat/completions");
        let request = request.body(Full::new(body)).unwrap();
        let asked = tokio::spawn(sender.send_request(request));
        upstream.asked(1, SOON).await;
        upstream.sent(0, sent, SOON).await;
        if phase == Phase::MidStream {
            let answer = asked.await.unwrap().unwrap();
            assert_eq!(answer.status(), 200);
            drop(answer);
        } else {
            asked.abort();
        }
        upstream.closed(0, SOON).await;
        // Only the stream is gone: the connection serves others.
        assert!(!driver.is_finished());
        drop(sender);
        driver.abort();
    }
}

/// Connections of this machine to a port that are being opened.
#[cfg(target_os = "linux")]
fn being_opened(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table of connections");
    let wanted = format!(":{port:04X}");
    let opening = table.lines().filter(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let (peer, state) = (fields.next(), fields.next());
        peer.is_some_and(|peer| peer.ends_with(&wanted)) && state == Some("02")
    });
    opening.count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_being_opened_is_given_up() {
    use majordomo_testkit::BlackHole;

    let count = async |port, wanted: usize| {
        let counted = async {
            while being_opened(port) != wanted {
                tokio::task::yield_now().await;
            }
        };
        let counted = tokio::time::timeout(SOON, counted).await;
        let now = being_opened(port);
        assert!(counted.is_ok(), "{now} instead of {wanted}");
    };
    for client in Protocol::ALL {
        for stream in [false, true] {
            let hole = BlackHole::open();
            let port = hole.address().port();
            // The hole's own connections are being opened, too.
            let before = being_opened(port);
            let stage = Stage::start(&wires::provider("up", client, hole.address())).await;
            let body = wires::question(client, &Request::user("Count."), "up/m0", stream);
            let path = wires::path(client, "up/m0", stream);
            let connection = stage.begin(&path, &body).await;
            count(port, before + 1).await;
            drop(connection);
            count(port, before).await;
        }
    }
}
