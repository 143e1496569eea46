//! Sends one request and receives the response head, over one connection.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use http::header::{ACCEPT_ENCODING, HOST, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use majordomo_llm::{Error, ErrorKind, Result};

use super::byte_stream::ByteStream;
use super::connect::{Connector, ProxyRoute};
use super::errors;
use super::pool::{OriginPool, PooledConnection};
use super::request::TransportRequest;
use super::request_body::{RequestBody, UploadProgress};
use super::timers::{ResponseMode, Timers};

/// Maximum number of interim (1xx) responses.
const MAX_INTERIM: usize = 16;

const DEFAULT_USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("majordomo/", env!("CARGO_PKG_VERSION")));

/// Sends a request and waits for the response head.
pub(crate) async fn exchange(
    connector: &Connector,
    origin: Arc<OriginPool>,
    outgoing: TransportRequest,
    mode: ResponseMode,
) -> Result<Response<ByteStream>> {
    let mut timers = Timers::start(outgoing.timeouts, mode);
    let mut connection = origin.check_out(connector, &outgoing.timeouts).await?;
    let (body, progress) = RequestBody::new(outgoing.body);
    let mut request = Request::new(body);
    *request.method_mut() = outgoing.method;
    *request.headers_mut() = outgoing.headers;
    let headers = request.headers_mut();
    // Compression would need a decompression limit and delays streamed events.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.entry(USER_AGENT).or_insert(DEFAULT_USER_AGENT);

    let mut pending = PendingResponse {
        origin: &origin,
        timers: &mut timers,
        progress,
        left: None,
        interim: Arc::default(),
    };
    loop {
        pending.set_target(&mut request, &connection, &outgoing.uri);
        let reused = connection.is_reused();
        let sent = match &mut connection {
            PooledConnection::Http1(http1) => {
                let response = http1.sender.try_send_request(request);
                pending.receive_head(response, &mut connection).await?
            }
            PooledConnection::Http2(permit) => {
                let response = permit.sender.try_send_request(request);
                pending.receive_head(response, &mut connection).await?
            }
        };
        let mut error = match sent {
            Ok(response) => {
                return Ok(response.map(|body| ByteStream::new(body, connection, origin, timers)));
            }
            Err(error) => error,
        };
        let unsent = error.take_message();
        let failure = errors::sending(&origin.name, &error.into_error());
        if failure.kind() == ErrorKind::NeverSent || unsent.is_some() {
            origin.discard(&connection);
        }
        // A pooled connection may have been closed unnoticed. hyper returns the
        // request if none of it was sent, so another connection is safe.
        match unsent {
            Some(unsent) if reused => request = unsent,
            _ => return Err(failure),
        }
        connection = origin.check_out(connector, &outgoing.timeouts).await?;
    }
}

/// A sent request that waits for its response head.
struct PendingResponse<'a> {
    origin: &'a OriginPool,
    timers: &'a mut Timers,
    progress: UploadProgress,
    /// Unsent bytes of the request at the last check.
    left: Option<usize>,
    interim: Arc<AtomicUsize>,
}

type SendResult = std::result::Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

impl PendingResponse<'_> {
    /// Sets the request target in the form that the connection requires (RFC 9112,
    /// section 3.2).
    fn set_target(
        &self,
        request: &mut Request<RequestBody>,
        connection: &PooledConnection,
        uri: &Uri,
    ) {
        let PooledConnection::Http1(_) = connection else {
            *request.uri_mut() = self.origin.absolute(uri);
            return;
        };
        let headers = request.headers_mut();
        headers.insert(HOST, self.origin.host.clone());
        if let ProxyRoute::Forward { authorization, .. } = &self.origin.route {
            if let Some(authorization) = authorization {
                headers.insert(PROXY_AUTHORIZATION, authorization.clone());
            }
            *request.uri_mut() = self.origin.absolute(uri);
        } else {
            let path = uri.path_and_query().cloned();
            *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        }
        let interim = Arc::clone(&self.interim);
        hyper::ext::on_informational(request, move |_| {
            interim.fetch_add(1, Ordering::Relaxed);
        });
    }

    async fn receive_head(
        &mut self,
        response: impl Future<Output = SendResult>,
        connection: &mut PooledConnection,
    ) -> Result<SendResult> {
        let mut response = pin!(response);
        self.record_progress();
        poll_fn(|cx| {
            loop {
                connection.drive(cx);
                if let Poll::Ready(sent) = response.as_mut().poll(cx) {
                    // An early response ends the upload.
                    if sent.is_ok() && self.left != Some(0) {
                        self.timers.written();
                    }
                    return Poll::Ready(Ok(sent));
                }
                // Poll again as long as hyper accepts more of the body.
                if !self.record_progress() {
                    return self.poll_failure(cx).map(Err);
                }
            }
        })
        .await
    }

    /// Whether hyper has taken more of the body since the last call.
    fn record_progress(&mut self) -> bool {
        let position = self.progress.position();
        let left = position.map_or(0, |position| position.left);
        if self.left.replace(left) == Some(left) {
            return false;
        }
        match position {
            Some(position) if left > 0 => self.timers.writing(position.at),
            _ => self.timers.written(),
        }
        true
    }

    fn poll_failure(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let name = &self.origin.name;
        if self.interim.load(Ordering::Relaxed) > MAX_INTERIM {
            let what = "sent too many interim responses";
            return Poll::Ready(errors::bad_response(name, what));
        }
        let timer = ready!(self.timers.poll_expired(cx));
        Poll::Ready(errors::timeout(name, timer, self.timers.limits()))
    }
}
