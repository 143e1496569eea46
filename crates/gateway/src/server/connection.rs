//! Serves one connection: protocol detection, timeouts, requests and shutdown.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::activity::ConnectionActivity;
use super::context::ServerContext;
use super::dispatch::{check_head, dispatch};
use super::guarded_body::GuardedBody;
use super::protocol::{HttpProtocol, sniff_protocol};
use super::retirement::{never_used, unused};
use super::socket::Socket;
use super::stream_progress::StreamExecutor;
use super::tls::TlsAcceptorHandle;
use super::write_timeout::WriteTimeout;
use crate::capture::CaptureWriter;

/// Read buffer for a head; accepted heads are smaller.
const LARGEST_HEAD: usize = 64 * 1024;
/// Maximum number of headers of a request.
const MOST_HEADERS: usize = 100;
/// TCP_USER_TIMEOUT. Kernel timers are coarse: in practice a dead peer is detected
/// within 45 seconds.
#[cfg(target_os = "linux")]
const DEAD_PEER_TIMEOUT: Duration = Duration::from_secs(42);

/// Serves a connection until it ends or the server stops.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
) {
    // Small stream events must not wait for Nagle's algorithm.
    let _ = stream.set_nodelay(true);
    detect_dead_peer(&stream);
    // Boxed, since a task is as large as its largest variant.
    let ended = match tls {
        None => {
            let sniffed = timeout(context.limits.first_byte, sniff_protocol(stream));
            let sniffed = tokio::select! {
                biased;
                sniffed = sniffed => sniffed,
                () = Box::pin(never_used(&context)) => return,
            };
            match sniffed {
                Ok(Some((HttpProtocol::Http1, stream))) => {
                    Box::pin(http1(stream, peer, context)).await
                }
                Ok(Some((HttpProtocol::Http2, stream))) => {
                    Box::pin(http2(stream, peer, context)).await
                }
                Ok(None) | Err(_) => return,
            }
        }
        Some(acceptor) => {
            match timeout(context.limits.first_byte, Box::pin(acceptor.accept(stream))).await {
                Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                    Box::pin(http2(stream, peer, context)).await
                }
                Ok(Ok(stream)) => Box::pin(http1(stream, peer, context)).await,
                Ok(Err(error)) => {
                    tracing::debug!(%peer, reason = %error, "a TLS handshake failed");
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

/// Detects a peer that vanished without closing, by TCP keep-alive probes and
/// unacknowledged data. Systems without these options do without.
fn detect_dead_peer(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_secs(12))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(DEAD_PEER_TIMEOUT));
}

async fn http1<S>(stream: S, peer: SocketAddr, context: Arc<ServerContext>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let activity = Arc::new(ConnectionActivity::default());
    let stream = WriteTimeout::new(stream, context.limits.write_stall);
    let socket = Socket::new(stream, Arc::clone(&activity), &context.limits);
    let unused = pin!(unused(Arc::clone(&context), Arc::clone(&activity)));
    let idle = context.limits.idle;
    let service = service_fn(move |request| {
        serve_request(Arc::clone(&context), peer, Arc::clone(&activity), request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // Also closes a connection that waits for its next request; a head that has
        // begun has a shorter timeout, which the socket enforces.
        .header_read_timeout(idle)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // What has arrived is read first.
        biased;
        ended = connection.as_mut() => ended,
        () = unused => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

async fn http2<S>(stream: S, peer: SocketAddr, context: Arc<ServerContext>) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let activity = Arc::new(ConnectionActivity::default());
    let stopping = context.stopping.triggered();
    let stall = context.limits.write_stall;
    let polls = context.polls.clone();
    let stream = WriteTimeout::new(stream, stall);
    let idle = idle_for(Arc::clone(&activity), context.limits.idle);
    let crossed = Arc::clone(&activity);
    let service = service_fn(move |request| {
        serve_request(Arc::clone(&context), peer, Arc::clone(&activity), request)
    });
    let connection = http2::Builder::new(StreamExecutor { stall, polls })
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
        // A request that crossed our GOAWAY is served to completion. Responses that
        // the client never reads are not waited for.
        return tokio::select! {
            ended = connection => ended,
            () = idle_for(crossed, stall) => Ok(()),
        };
    }
    connection.await
}

/// Completes when an HTTP/2 connection had no request at two consecutive checks.
async fn idle_for(activity: Arc<ConnectionActivity>, time: Duration) {
    let mut unused = false;
    loop {
        sleep(time / 2).await;
        let used = activity.take_completed() || !activity.is_idle();
        if unused && !used {
            return;
        }
        unused = !used;
    }
}

/// Serves one request.
async fn serve_request(
    context: Arc<ServerContext>,
    peer: SocketAddr,
    activity: Arc<ConnectionActivity>,
    request: Request<Incoming>,
) -> Result<Response<GuardedBody>, Infallible> {
    let active = activity.begin_request();
    let rejected = activity.take_rejection().or_else(|| check_head(&request));
    let old = request.version() < Version::HTTP_2;
    // The end of a chunked body is not tracked, so no request may follow it.
    let mut last = old && (rejected.is_some() || request.headers().contains_key(TRANSFER_ENCODING));
    // Boxed: handling needs memory that a running stream does not.
    let (mut response, permit) = Box::pin(dispatch(&context, peer.ip(), rejected, request)).await;
    let captured = response.extensions_mut().remove::<CaptureWriter>();
    let mut response = response
        .map(|body| GuardedBody::new(body, permit, Some(active), &context.cut).copied_to(captured));
    if old && context.leaving.is_triggered() {
        activity.end_with_this();
        last = true;
    }
    if last || (old && response.status() == http::StatusCode::REQUEST_TIMEOUT) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    Ok(response)
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

    /// The type and payload of the next frame; acknowledges pings.
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
                // The server may have closed by now.
                let _ = client.write_all(&ack).await;
            }
        }
    }

    /// A connection whose client sends a request after it has received a GOAWAY, and
    /// before it acknowledges the ping that follows. Returns the last stream of each
    /// GOAWAY, when the first one came, and the response.
    async fn crossing(stopping: bool) -> (Vec<u32>, Duration, String) {
        let limits = Limits::default();
        let slow = Fake::new("slow");
        slow.enqueue("m", [Step::reply("at last").after(limits.write_stall * 4)]);
        let transport = Transport::new(Client::default());
        let state =
            GatewayState::new(&Config::empty(), &BTreeMap::new(), &transport, None).unwrap();
        state.registry.register(slow);
        let context =
            ServerContext::new(Arc::new(state), limits.clone(), ([127, 0, 0, 1], 0).into());
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        if stopping {
            context.stopping.trigger();
        }
        let served = tokio::spawn(http2(server, peer, context));
        let hello = [
            frames::PREFACE,
            &frames::settings(),
            &frames::settings_ack(),
        ]
        .concat();
        client.write_all(&hello).await.unwrap();
        let began = tokio::time::Instant::now();
        let last_stream = |payload: &[u8]| {
            let id = <[u8; 4]>::try_from(&payload[..4]).unwrap();
            u32::from_be_bytes(id)
        };
        let mut last_streams = Vec::new();
        // The ping after the GOAWAY is not acknowledged yet, so the server still
        // reads.
        while last_streams.is_empty() {
            let (kind, payload) = frame(&mut client).await.expect("it is open");
            if kind == frames::GOAWAY {
                last_streams.push(last_stream(&payload));
            }
        }
        let waited = began.elapsed();
        let body = br#"{"model":"slow/m","messages":[{"role":"user","content":"hi"}]}"#;
        let ask = [
            frames::post(1, "/v1/chat/completions", "k"),
            frames::data(1, body, true),
        ];
        client.write_all(&ask.concat()).await.unwrap();
        let mut response = Vec::new();
        while let Some((kind, payload)) = frame(&mut client).await {
            if kind == frames::DATA {
                response.extend(payload);
            } else if kind == frames::GOAWAY {
                last_streams.push(last_stream(&payload));
            }
        }
        served.await.unwrap().unwrap();
        let response = String::from_utf8_lossy(&response).into_owned();
        (last_streams, waited, response)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_crosses_the_goaway_of_an_idle_connection_is_served() {
        let (_, waited, response) = crossing(false).await;
        assert!(waited >= Limits::default().idle);
        assert!(response.contains("at last"), "{response}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_crosses_the_goaway_of_a_stopping_server_is_served() {
        let (last_streams, _, response) = crossing(true).await;
        assert!(response.contains("at last"), "{response}");
        // The first one only says that it ends, RFC 9113, section 6.8.
        assert_eq!(last_streams, [u32::MAX >> 1, 1]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn socket_timers_detect_a_client_that_vanishes() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        detect_dead_peer(&stream);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let quiet = socket.tcp_keepalive_time().unwrap();
        let probing = socket.tcp_keepalive_interval().unwrap();
        let probes = socket.tcp_keepalive_retries().unwrap();
        assert!(quiet + probing * probes <= DEAD_PEER_TIMEOUT);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(DEAD_PEER_TIMEOUT));
    }
}
