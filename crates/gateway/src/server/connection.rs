//! One connection: its timers, its requests, its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::answer;
use crate::state::Shared;

/// A connection that says nothing for so long is closed.
const FIRST_BYTE: Duration = Duration::from_secs(10);
/// A header must be complete after this.
const HEADER: Duration = Duration::from_secs(10);
/// The longest header.
const LARGEST_HEADER: usize = 64 * 1024;
/// How HTTP/2 begins, as far as it must be read to know.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Serves a connection until it ends or the server stops.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    state: Shared,
    mut stopping: watch::Receiver<bool>,
) {
    // A stream's small events must not wait for each other.
    let _ = stream.set_nodelay(true);
    let Some(version) = version(&stream).await else {
        return;
    };
    let service = service_fn(move |request| {
        let state = state.load_full();
        async move { Ok::<_, Infallible>(answer(state, request).await) }
    });
    let io = TokioIo::new(stream);
    let ended = match version {
        Version::Http1 => {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER)
                .max_headers(100)
                .max_buf_size(LARGEST_HEADER)
                .serve_connection(io, service);
            let mut connection = pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopped(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
        Version::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(100)
                .max_header_list_size(16 * 1024)
                .keep_alive_interval(Duration::from_secs(30))
                .serve_connection(io, service);
            let mut connection = pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopped(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, reason = %error, "a connection ended early");
    }
}

/// The server is to stop.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

enum Version {
    Http1,
    Http2,
}

/// Looks at the first bytes without taking them.
async fn version(stream: &TcpStream) -> Option<Version> {
    let mut first = [0; PREFACE.len()];
    let look = async {
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
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(FIRST_BYTE, look).await.ok().flatten()
}
