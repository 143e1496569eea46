//! The HTTP client that all providers share: connection pool, timeouts, size
//! limits.
//!
//! It is independent of dialects. It follows no redirects and does not retry; every
//! failure becomes a [`majordomo_llm::Error`] that names the host. Dropping a call
//! or a stream closes its connection or resets its HTTP/2 stream.
//!
//! `connect` establishes connections, `pool` reuses them, `exchange` runs one
//! request; `timers` enforces [`Timeouts`] and `errors` maps failures.
//!
//! ```no_run
//! use http::Uri;
//! use majordomo_providers::transport::{TransportConfig, TransportRequest, TransportResponse, Transport};
//!
//! # async fn example() -> majordomo_llm::Result<()> {
//! let transport = Transport::new(TransportConfig::default());
//! let request = TransportRequest::get(Uri::from_static("http://localhost:11434/api/tags"));
//! match transport.send(request).await? {
//!     TransportResponse::Success(_, body) => println!("{} bytes", body.len()),
//!     TransportResponse::ErrorStatus(head, body) => println!("{}: {body:?}", head.status()),
//! }
//! # Ok(()) }
//! ```

mod byte_stream;
mod config;
mod connect;
mod errors;
mod exchange;
mod pool;
mod request;
mod request_body;
mod response;
mod timeouts;
mod timers;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use majordomo_llm::Result;

pub use byte_stream::ByteStream;
pub use config::{HttpVersions, Proxies, TransportConfig};
pub use connect::{Resolve, SystemResolver};
pub use request::{Credential, TransportRequest};
pub use response::{ResponseHead, TransportResponse};
pub use timeouts::Timeouts;

use connect::Connector;
use exchange::exchange;
use pool::{ConnectionPool, OriginPool};
use timers::ResponseMode;

/// Limits on the size and duration of an error response's body.
const MAX_ERROR_BODY: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP client. Clones share the connection pool.
#[derive(Clone)]
pub struct Transport(Arc<TransportInner>);

struct TransportInner {
    connector: Connector,
    pool: ConnectionPool,
    max_response_bytes: usize,
    wall_clock: fn() -> SystemTime,
}

impl Transport {
    /// Creates a transport without connections. Certificates and names are loaded
    /// on first use, so this cannot fail.
    pub fn new(config: TransportConfig) -> Self {
        Self(Arc::new(TransportInner {
            connector: Connector::new(&config),
            pool: ConnectionPool::new(&config),
            max_response_bytes: config.max_response_bytes,
            wall_clock: config.wall_clock,
        }))
    }

    /// The wall clock, for dates in responses.
    pub fn now(&self) -> SystemTime {
        (self.0.wall_clock)()
    }

    /// Sends a request and buffers the response.
    pub async fn send(&self, request: TransportRequest) -> Result<TransportResponse<Bytes>> {
        let origin = self.0.pool.origin(&request.uri)?;
        let (head, body) = match self.open(&origin, request, ResponseMode::Buffered).await? {
            TransportResponse::Success(head, body) => (head, body),
            TransportResponse::ErrorStatus(head, error_body) => {
                return Ok(TransportResponse::ErrorStatus(head, error_body));
            }
        };
        let max = self.0.max_response_bytes;
        let collected = if body.remaining().is_some_and(|size| size > max as u64) {
            Ok(None)
        } else {
            body.collect(max).await
        };
        match collected {
            Ok(Some(body)) => Ok(TransportResponse::Success(head, body)),
            Ok(None) => {
                let what = format!("sent a response of more than {max} bytes");
                Err(head.add_request_id(errors::bad_response(&origin.name, what)))
            }
            Err(error) => Err(head.add_request_id(error)),
        }
    }

    /// Sends a request and streams the response.
    pub async fn stream(&self, request: TransportRequest) -> Result<TransportResponse<ByteStream>> {
        let origin = self.0.pool.origin(&request.uri)?;
        self.open(&origin, request, ResponseMode::Streamed).await
    }

    /// Sends a request to an address that did not come from the configuration. Redirects and
    /// error statuses are returned unchanged. The connection is not pooled.
    pub async fn send_unpooled(
        &self,
        request: TransportRequest,
    ) -> Result<(ResponseHead, ByteStream)> {
        let origin = self.0.pool.temporary_origin(&request.uri)?;
        let response = exchange(&self.0.connector, origin, request, ResponseMode::Streamed).await?;
        let (parts, body) = response.into_parts();
        Ok((ResponseHead::new(parts, self.0.wall_clock), body))
    }

    async fn open(
        &self,
        origin: &Arc<OriginPool>,
        request: TransportRequest,
        mode: ResponseMode,
    ) -> Result<TransportResponse<ByteStream>> {
        let response = exchange(&self.0.connector, Arc::clone(origin), request, mode).await?;
        let (parts, body) = response.into_parts();
        let head = ResponseHead::new(parts, self.0.wall_clock);
        let status = head.status();
        if status.is_client_error() || status.is_server_error() || status.as_u16() >= 600 {
            // A compressed body is omitted; the status suffices.
            let error_body = match content_coding(&head) {
                Some(_) => Bytes::new(),
                None => body.error_body(MAX_ERROR_BODY, ERROR_BODY_TIMEOUT).await,
            };
            return Ok(TransportResponse::ErrorStatus(head, error_body));
        }
        match unusable(&head) {
            None => Ok(TransportResponse::Success(head, body)),
            Some(what) => Err(head.add_to(errors::bad_response(&origin.name, what))),
        }
    }
}

/// Why a response that is not an error status is unusable.
fn unusable(head: &ResponseHead) -> Option<String> {
    let status = head.status();
    if status.is_redirection() {
        return Some(format!(
            "responded with a redirect ({}), which is not followed; check the base URL",
            status.as_u16()
        ));
    }
    if !status.is_success() || matches!(status.as_u16(), 204 | 205) {
        return Some(format!(
            "responded with status {}, which carries no response",
            status.as_u16()
        ));
    }
    let encoding = content_coding(head)?;
    Some(format!(
        "sent a compressed response ({encoding}) despite `accept-encoding: identity`"
    ))
}

/// The content coding, unless it is `identity`. Nothing is decompressed, so
/// decompression bombs have no effect.
fn content_coding(head: &ResponseHead) -> Option<&str> {
    let encoding = head.headers().get(CONTENT_ENCODING)?;
    let name = encoding.to_str().unwrap_or("unreadable").trim();
    (!name.is_empty() && !name.eq_ignore_ascii_case("identity")).then_some(name)
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
