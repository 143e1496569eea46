//! Helpers shared by the transport tests.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use majordomo_llm::{Error, Result};
use majordomo_providers::transport::{
    ByteStream, Proxies, ResponseHead, Transport, TransportConfig, TransportRequest,
    TransportResponse,
};

/// Long enough for a busy machine, short enough for a test.
pub(crate) const SOON: Duration = Duration::from_secs(5);
/// How soon an upstream must notice a dropped call.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);

/// A configuration independent of the environment.
pub(crate) fn config() -> TransportConfig {
    TransportConfig::default().proxies(Proxies::Direct)
}

/// A transport with that configuration.
pub(crate) fn transport() -> Transport {
    Transport::new(config())
}

/// A small request.
pub(crate) fn post(uri: Uri) -> TransportRequest {
    TransportRequest::post(uri, r#"{"model":"m"}"#)
}

/// Sends a request that must succeed and buffers its response.
pub(crate) async fn send_buffered(
    transport: &Transport,
    request: TransportRequest,
) -> Result<Bytes> {
    match transport.send(request).await? {
        TransportResponse::Success(_, body) => Ok(body),
        TransportResponse::ErrorStatus(head, _) => panic!("error status {}", head.status()),
    }
}

/// Sends a request that must succeed and streams its response.
pub(crate) async fn send_streaming(
    transport: &Transport,
    request: TransportRequest,
) -> Result<ByteStream> {
    match transport.stream(request).await? {
        TransportResponse::Success(_, body) => Ok(body),
        TransportResponse::ErrorStatus(head, _) => panic!("error status {}", head.status()),
    }
}

/// Sends a request that must get an error status.
pub(crate) async fn send_refused(
    transport: &Transport,
    request: TransportRequest,
) -> (ResponseHead, Bytes) {
    match transport.send(request).await {
        Ok(TransportResponse::ErrorStatus(head, body)) => (head, body),
        Ok(TransportResponse::Success(..)) => panic!("not an error status"),
        Err(error) => panic!("{error}"),
    }
}

/// Reads a stream to its end; returns its bytes and its error, if any.
pub(crate) async fn drain(mut stream: ByteStream) -> (Vec<u8>, Option<Error>) {
    let mut all = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => all.extend_from_slice(&chunk),
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

/// The error of a stream that must fail, before or after its head.
pub(crate) async fn stream_error(transport: &Transport, request: TransportRequest) -> Error {
    match send_streaming(transport, request).await {
        Err(error) => error,
        Ok(stream) => drain(stream).await.1.expect("the stream must fail"),
    }
}
