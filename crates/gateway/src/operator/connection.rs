//! One connection of the operator listener, with TLS if the gateway has it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::open_connections::InFlight;
use super::{OperatorContext, OperatorPeer, respond};
use crate::server::TlsAcceptorHandle;

/// Timeout of a handshake and of a head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves a connection until it ends; errors concern only its client.
pub(super) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptorHandle>,
    context: Arc<OperatorContext>,
    peer: OperatorPeer,
    busy: InFlight,
) {
    let Some(acceptor) = tls else {
        return over_http1(stream, context, peer, busy).await;
    };
    // The acceptor's ALPN offers both versions.
    match timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            over_http2(stream, context, peer, busy).await;
        }
        Ok(Ok(stream)) => over_http1(stream, context, peer, busy).await,
        Ok(Err(_)) | Err(_) => {}
    }
}

async fn over_http1<S>(stream: S, context: Arc<OperatorContext>, peer: OperatorPeer, busy: InFlight)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let context = Arc::clone(&context);
        let (serving, peer) = (busy.begin(), peer.clone());
        async move {
            let response = respond(&context, &peer, request).await;
            Ok::<_, Infallible>(response.map(|body| body.holding(serving)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

async fn over_http2<S>(stream: S, context: Arc<OperatorContext>, peer: OperatorPeer, busy: InFlight)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let context = Arc::clone(&context);
        let (serving, peer) = (busy.begin(), peer.clone());
        async move {
            let response = respond(&context, &peer, request).await;
            Ok::<_, Infallible>(response.map(|body| body.holding(serving)))
        }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(16)
        .max_header_list_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}
