//! What every transport test asks with.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use majordomo_llm::{Error, Result};
use majordomo_providers::transport::{
    ByteStream, Config, Head, Outgoing, Proxies, Reply, Transport,
};

/// Long enough for a busy machine, short enough for a test.
pub(crate) const SOON: Duration = Duration::from_secs(5);
/// How soon an upstream must see that we have left.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);

/// Settings that do not depend on the machine's environment.
pub(crate) fn config() -> Config {
    Config::default().proxies(Proxies::Direct)
}

/// A transport with those settings.
pub(crate) fn transport() -> Transport {
    Transport::new(config())
}

/// A small request.
pub(crate) fn post(uri: Uri) -> Outgoing {
    Outgoing::post(uri, r#"{"model":"m"}"#)
}

/// A whole answer that was accepted.
pub(crate) async fn whole(transport: &Transport, request: Outgoing) -> Result<Bytes> {
    match transport.whole(request).await? {
        Reply::Accepted(_, body) => Ok(body),
        Reply::Refused(head, _) => panic!("refused with {}", head.status()),
    }
}

/// A stream that was accepted.
pub(crate) async fn stream(transport: &Transport, request: Outgoing) -> Result<ByteStream> {
    match transport.stream(request).await? {
        Reply::Accepted(_, body) => Ok(body),
        Reply::Refused(head, _) => panic!("refused with {}", head.status()),
    }
}

/// A whole answer that was refused.
pub(crate) async fn refusal(transport: &Transport, request: Outgoing) -> (Head, Bytes) {
    match transport.whole(request).await {
        Ok(Reply::Refused(head, body)) => (head, body),
        Ok(Reply::Accepted(..)) => panic!("accepted"),
        Err(error) => panic!("{error}"),
    }
}

/// How a stream ended: what came, and the error if there was one.
pub(crate) async fn drain(mut stream: ByteStream) -> (Vec<u8>, Option<Error>) {
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(piece) => all.extend_from_slice(&piece),
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

/// The error of a stream that must fail, before or after its head.
pub(crate) async fn stream_error(transport: &Transport, request: Outgoing) -> Error {
    match stream(transport, request).await {
        Err(error) => error,
        Ok(stream) => drain(stream).await.1.expect("the stream must fail"),
    }
}
