//! One request and the head of its answer, over one connection.

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

use super::body::ByteStream;
use super::dial::{Dialer, Route};
use super::fault;
use super::outgoing::Outgoing;
use super::pool::{Link, Place};
use super::timers::{Kind, Timers};
use super::upload::{Progress, Upload};

/// Interim answers (100, 103) before the real one.
const MOST_INTERIM: usize = 16;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("majordomo/", env!("CARGO_PKG_VERSION")));

/// Sends a request and waits for the head of its answer.
pub(crate) async fn exchange(
    dialer: &Dialer,
    place: Arc<Place>,
    outgoing: Outgoing,
    kind: Kind,
) -> Result<Response<ByteStream>> {
    let mut timers = Timers::start(outgoing.timeouts, kind);
    let mut link = place.link(dialer, &outgoing.timeouts).await?;
    let (upload, progress) = Upload::new(outgoing.body);
    let mut request = Request::new(upload);
    *request.method_mut() = outgoing.method;
    *request.headers_mut() = outgoing.headers;
    let headers = request.headers_mut();
    // A compressed answer would need a bound of its own, and a compressed
    // stream arrives in lumps; nobody compresses unless asked to.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.entry(USER_AGENT).or_insert(AGENT);

    let mut waiting = Waiting {
        place: &place,
        timers: &mut timers,
        progress,
        left: None,
        interim: Arc::default(),
    };
    loop {
        waiting.address(&mut request, &link, &outgoing.uri);
        let reused = link.is_reused();
        let sent = match &mut link {
            Link::Http1(connection) => {
                let response = connection.sender.try_send_request(request);
                waiting.for_head(response, &mut link).await?
            }
            Link::Http2(lease) => {
                let response = lease.sender.try_send_request(request);
                waiting.for_head(response, &mut link).await?
            }
        };
        let mut error = match sent {
            Ok(response) => {
                return Ok(response.map(|body| ByteStream::new(body, link, place, timers)));
            }
            Err(error) => error,
        };
        let untouched = error.take_message();
        let fault = fault::sending(&place.name, &error.into_error());
        if fault.kind() == ErrorKind::NeverSent || untouched.is_some() {
            place.distrust(&link);
        }
        // A kept connection may have died unnoticed. HTTP hands the request
        // back when not a byte of it has left, so it goes out on another one.
        match untouched {
            Some(untouched) if reused => request = untouched,
            _ => return Err(fault),
        }
        link = place.link(dialer, &outgoing.timeouts).await?;
    }
}

/// Waiting for a head: what else can happen meanwhile.
struct Waiting<'a> {
    place: &'a Place,
    timers: &'a mut Timers,
    progress: Progress,
    /// What was left of the request when last looked at.
    left: Option<usize>,
    interim: Arc<AtomicUsize>,
}

type Sent = std::result::Result<Response<Incoming>, TrySendError<Request<Upload>>>;

impl Waiting<'_> {
    /// Writes the address as this kind of connection wants it.
    fn address(&self, request: &mut Request<Upload>, link: &Link, uri: &Uri) {
        let Link::Http1(_) = link else {
            *request.uri_mut() = self.place.absolute(uri);
            return;
        };
        let headers = request.headers_mut();
        headers.insert(HOST, self.place.host.clone());
        if let Route::Forward { authorization, .. } = &self.place.route {
            if let Some(authorization) = authorization {
                headers.insert(PROXY_AUTHORIZATION, authorization.clone());
            }
            *request.uri_mut() = self.place.absolute(uri);
        } else {
            let path = uri.path_and_query().cloned();
            *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        }
        let interim = Arc::clone(&self.interim);
        hyper::ext::on_informational(request, move |_| {
            interim.fetch_add(1, Ordering::Relaxed);
        });
    }

    async fn for_head(
        &mut self,
        response: impl Future<Output = Sent>,
        link: &mut Link,
    ) -> Result<Sent> {
        let mut response = pin!(response);
        self.note_progress();
        poll_fn(|cx| {
            loop {
                link.drive(cx);
                if let Poll::Ready(sent) = response.as_mut().poll(cx) {
                    // An early answer ends the request before all of it has gone.
                    if sent.is_ok() && self.left != Some(0) {
                        self.timers.written();
                    }
                    return Poll::Ready(Ok(sent));
                }
                // As long as HTTP takes more, it may take yet more.
                if !self.note_progress() {
                    return self.poll_trouble(cx).map(Err);
                }
            }
        })
        .await
    }

    /// Says whether a piece of the request was taken since the last look.
    fn note_progress(&mut self) -> bool {
        let taken = self.progress.taken();
        let left = taken.map_or(0, |taken| taken.left);
        if self.left.replace(left) == Some(left) {
            return false;
        }
        match taken {
            Some(taken) if left > 0 => self.timers.writing(taken.at),
            _ => self.timers.written(),
        }
        true
    }

    fn poll_trouble(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let name = &self.place.name;
        if self.interim.load(Ordering::Relaxed) > MOST_INTERIM {
            let what = "sent interim answers without end";
            return Poll::Ready(fault::bad_response(name, what));
        }
        let timer = ready!(self.timers.poll_expired(cx));
        Poll::Ready(fault::timeout(name, timer, self.timers.limits()))
    }
}
