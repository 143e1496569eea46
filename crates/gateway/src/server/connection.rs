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

use super::answer::{answer, odd};
use super::held::Held;
use super::house::House;
use super::patience::Patient;
use super::progress::Streams;
use super::socket::Socket;
use super::tls::Acceptor;
use super::turn::Turn;

/// The largest head that is read at all; what is served is smaller.
const LARGEST_HEAD: usize = 64 * 1024;
/// The most headers of a request.
const MOST_HEADERS: usize = 100;
/// What was sent must have arrived after so long.
#[cfg(target_os = "linux")]
const VANISHED: Duration = Duration::from_secs(45);
/// How HTTP/2 begins, as far as it must be read to know.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Serves a connection until it ends or the server stops.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    house: Arc<House>,
    tls: Option<Acceptor>,
) {
    // A stream's small events must not wait for each other.
    let _ = stream.set_nodelay(true);
    watch_over(&stream);
    // Each kind is boxed, since a task is as large as the largest of them.
    let ended = match tls {
        None => match timeout(house.limits.first_byte, version(&stream)).await {
            Ok(Some(Version::Http1)) => Box::pin(http1(stream, peer, house)).await,
            Ok(Some(Version::Http2)) => Box::pin(http2(stream, peer, house)).await,
            Ok(None) | Err(_) => return,
        },
        Some(acceptor) => {
            match timeout(house.limits.first_byte, Box::pin(acceptor.accept(stream))).await {
                Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                    Box::pin(http2(stream, peer, house)).await
                }
                Ok(Ok(stream)) => Box::pin(http1(stream, peer, house)).await,
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
        .with_time(Duration::from_secs(15))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(VANISHED));
}

async fn http1<S>(stream: S, peer: SocketAddr, house: Arc<House>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let turn = Arc::new(Turn::default());
    let stream = Patient::new(stream, house.limits.write_stall);
    let socket = Socket::new(stream, Arc::clone(&turn), &house.limits);
    let stopping = house.stopping.heard();
    let idle = house.limits.idle;
    let service =
        service_fn(move |request| one(Arc::clone(&house), peer, Arc::clone(&turn), request));
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

async fn http2<S>(stream: S, peer: SocketAddr, house: Arc<House>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let turn = Arc::new(Turn::default());
    let stopping = house.stopping.heard();
    let stall = house.limits.write_stall;
    let stream = Patient::new(stream, stall);
    let idle = unused_for(Arc::clone(&turn), house.limits.idle);
    let service =
        service_fn(move |request| one(Arc::clone(&house), peer, Arc::clone(&turn), request));
    let connection = http2::Builder::new(Streams { stall })
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
        // Answers that were written and never taken are not waited for.
        return timeout(stall, connection).await.unwrap_or(Ok(()));
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
    house: Arc<House>,
    peer: SocketAddr,
    turn: Arc<Turn>,
    request: Request<Incoming>,
) -> Result<Response<Held>, Infallible> {
    let begun = turn.begin();
    let refused = turn.refused().or_else(|| odd(&request));
    let old = request.version() < HttpVersion::HTTP_2;
    // Where its chunks end is not watched, so nothing may come behind them.
    let last = old && (refused.is_some() || request.headers().contains_key(TRANSFER_ENCODING));
    // The work needs memory that a stream, once it has begun, does not.
    let (answer, permit) = Box::pin(answer(&house, peer.ip(), refused, request)).await;
    let mut answer = answer.map(|body| Held::new(body, permit, Some(begun), &house.cut));
    if last || (old && answer.status() == http::StatusCode::REQUEST_TIMEOUT) {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    Ok(answer)
}

enum Version {
    Http1,
    Http2,
}

/// Looks at the first bytes without taking them.
async fn version(stream: &TcpStream) -> Option<Version> {
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut first).await.ok()?;
        if seen == 0 {
            return None;
        }
        if !PREFACE.starts_with(&first[..seen]) {
            return Some(Version::Http1);
        }
        if seen == PREFACE.len() {
            return Some(Version::Http2);
        }
        // The beginning of a preface: the rest is about to come.
        sleep(Duration::from_millis(1)).await;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn c25_a_client_that_vanishes_is_noticed_within_45_seconds() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
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
