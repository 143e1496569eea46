//! One connection: its timers, its requests, its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, Version as HttpVersion};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::context::ServerContext;
use super::dispatch::{dispatch, odd};
use super::guarded_body::GuardedBody;
use super::preface::{Version, version};
use super::progress::Streams;
use super::socket::Socket;
use super::tls::TlsAcceptorHandle;
use super::turn::Turn;
use super::write_timeout::WriteTimeout;

/// The largest head that is read at all; what is served is smaller.
const LARGEST_HEAD: usize = 64 * 1024;
/// The most headers of a request.
const MOST_HEADERS: usize = 100;
/// What was sent must have arrived after so long. The kernel's own timers are
/// coarse; with what they add, a client is gone after 45 seconds at most.
#[cfg(target_os = "linux")]
const VANISHED: Duration = Duration::from_secs(42);

/// Serves a connection until it ends or the server stops.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
) {
    // A stream's small events must not wait for each other.
    let _ = stream.set_nodelay(true);
    watch_over(&stream);
    // Each kind is boxed, since a task is as large as the largest of them.
    let ended = match tls {
        None => match timeout(context.limits.first_byte, version(stream)).await {
            Ok(Some((Version::Http1, stream))) => Box::pin(http1(stream, peer, context)).await,
            Ok(Some((Version::Http2, stream))) => Box::pin(http2(stream, peer, context)).await,
            Ok(None) | Err(_) => return,
        },
        Some(acceptor) => {
            match timeout(context.limits.first_byte, Box::pin(acceptor.accept(stream))).await {
                Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                    Box::pin(http2(stream, peer, context)).await
                }
                Ok(Ok(stream)) => Box::pin(http1(stream, peer, context)).await,
                Ok(Err(error)) => {
                    tracing::debug!(%peer, reason = %error, "a client could not agree on TLS");
                    return;
                }
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, reason = %error, "a connection ended early");
    }
}

/// A client that vanished without a word is noticed all the same: its machine
/// answers no probe, or takes nothing that was sent. A system that knows no such
/// options does without.
fn watch_over(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_secs(12))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(VANISHED));
}

async fn http1<S>(stream: S, peer: SocketAddr, context: Arc<ServerContext>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let turn = Arc::new(Turn::default());
    let stream = WriteTimeout::new(stream, context.limits.write_stall);
    let socket = Socket::new(stream, Arc::clone(&turn), &context.limits);
    let stopping = context.stopping.triggered();
    let idle = context.limits.idle;
    let service =
        service_fn(move |request| one(Arc::clone(&context), peer, Arc::clone(&turn), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // It also ends a connection that waits for its next request; a head that
        // has begun has a shorter time, which the socket knows.
        .header_read_timeout(idle)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

async fn http2<S>(stream: S, peer: SocketAddr, context: Arc<ServerContext>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let turn = Arc::new(Turn::default());
    let stopping = context.stopping.triggered();
    let stall = context.limits.write_stall;
    let polls = context.polls.clone();
    let stream = WriteTimeout::new(stream, stall);
    let idle = unused_for(Arc::clone(&turn), context.limits.idle);
    let crossed = Arc::clone(&turn);
    let service =
        service_fn(move |request| one(Arc::clone(&context), peer, Arc::clone(&turn), request));
    let connection = http2::Builder::new(Streams { stall, polls })
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(16 * 1024)
        .keep_alive_interval(Duration::from_secs(30))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let unused = tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stopping => false,
        () = idle => true,
    };
    connection.as_mut().graceful_shutdown();
    if unused {
        // A request that crossed our goodbye is served to its end. Answers that
        // were written and never taken are not waited for.
        return tokio::select! {
            ended = connection => ended,
            () = unused_for(crossed, stall) => Ok(()),
        };
    }
    connection.await
}

/// A connection of HTTP/2 had no request at two looks in a row.
async fn unused_for(turn: Arc<Turn>, time: Duration) {
    let mut unused = false;
    loop {
        sleep(time / 2).await;
        let used = turn.take_end() || !turn.is_idle();
        if unused && !used {
            return;
        }
        unused = !used;
    }
}

/// One request and its answer.
async fn one(
    context: Arc<ServerContext>,
    peer: SocketAddr,
    turn: Arc<Turn>,
    request: Request<Incoming>,
) -> Result<Response<GuardedBody>, Infallible> {
    let begun = turn.begin();
    let refused = turn.refused().or_else(|| odd(&request));
    let old = request.version() < HttpVersion::HTTP_2;
    // Where its chunks end is not watched, so nothing may come behind them.
    let last = old && (refused.is_some() || request.headers().contains_key(TRANSFER_ENCODING));
    // The work needs memory that a stream, once it has begun, does not.
    let (answer, permit) = Box::pin(dispatch(&context, peer.ip(), refused, request)).await;
    let mut answer = answer.map(|body| GuardedBody::new(body, permit, Some(begun), &context.cut));
    if last || (old && answer.status() == http::StatusCode::REQUEST_TIMEOUT) {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use majordomo::fake::{Fake, Step};
    use majordomo::transport::{Transport, TransportConfig as Client};
    use majordomo_testkit::frames;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::super::limits::Limits;
    use super::*;
    use crate::config::Config;
    use crate::state::GatewayState;

    /// The next frame, its type and what it holds; pings are answered.
    async fn frame(client: &mut DuplexStream) -> Option<(u8, Vec<u8>)> {
        const ACK: u8 = 1;
        loop {
            let mut head = [0; 9];
            client.read_exact(&mut head).await.ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            client.read_exact(&mut payload).await.ok()?;
            if head[3] != frames::PING {
                return Some((head[3], payload));
            }
            if head[4] & ACK == 0 {
                let ack = frames::frame(frames::PING, ACK, 0, &payload);
                // It may have said everything by now.
                let _ = client.write_all(&ack).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_crosses_the_goodbye_of_an_idle_connection_is_served_to_its_end() {
        let limits = Limits::default();
        let slow = Fake::new("slow");
        slow.enqueue("m", [Step::reply("at last").after(limits.write_stall * 4)]);
        let transport = Transport::new(Client::default());
        let state =
            GatewayState::new(&Config::empty(), &BTreeMap::new(), &transport, None).unwrap();
        state.registry.register(slow);
        let context = ServerContext::new(Arc::new(state), limits.clone());
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(http2(server, peer, context));
        let hello = [
            frames::PREFACE,
            &frames::settings(),
            &frames::settings_ack(),
        ]
        .concat();
        client.write_all(&hello).await.unwrap();
        let began = tokio::time::Instant::now();
        // Its ping behind the goodbye is not answered yet, so it still listens.
        while frame(&mut client).await.expect("it is open").0 != frames::GOAWAY {}
        assert!(began.elapsed() >= limits.idle);
        let body = br#"{"model":"slow/m","messages":[{"role":"user","content":"hi"}]}"#;
        let ask = [
            frames::post(1, "/v1/chat/completions", "k"),
            frames::data(1, body, true),
        ];
        client.write_all(&ask.concat()).await.unwrap();
        let mut answer = Vec::new();
        while let Some((kind, payload)) = frame(&mut client).await {
            if kind == frames::DATA {
                answer.extend(payload);
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("at last"), "{answer}");
        served.await.unwrap().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn c25_the_sockets_timers_notice_a_client_that_vanishes() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        watch_over(&stream);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let quiet = socket.tcp_keepalive_time().unwrap();
        let probing = socket.tcp_keepalive_interval().unwrap();
        let probes = socket.tcp_keepalive_retries().unwrap();
        assert!(quiet + probing * probes <= VANISHED);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(VANISHED));
    }
}
