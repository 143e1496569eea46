//! A well-formed HTTP/2 server that plays one script per stream.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::Response;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connection_log::ConnectionLog;
use crate::{Connection, Identity, Request};

/// A step of a stream, which ends after the last one.
#[derive(Clone, Debug)]
pub enum StreamStep {
    /// Reads the request's body.
    ReadBody,
    /// Sends a response header with this status.
    Head(u16),
    /// Sends a chunk of the body.
    Data(Bytes),
    /// Ends the body.
    End,
    /// Resets the stream.
    Reset(Reason),
    /// Sends GOAWAY; streams in flight continue.
    GoAway,
    /// Idles until the client resets the stream.
    Stall,
    /// Idles for a while.
    Wait(Duration),
}

/// The server's settings.
#[derive(Clone, Debug, Default)]
pub struct Http2Settings {
    /// Serves TLS with this identity; plaintext with prior knowledge without one.
    pub identity: Option<Identity>,
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    pub most_streams: Option<u32>,
    /// SETTINGS_INITIAL_WINDOW_SIZE.
    pub stream_window: Option<u32>,
}

/// Plays one list of steps per stream, in order of arrival over all connections; the last
/// list serves all that follow.
#[derive(Debug)]
pub struct Http2Upstream {
    address: SocketAddr,
    log: ConnectionLog,
    accepting: JoinHandle<()>,
}

type Scripts = Arc<Mutex<VecDeque<Vec<StreamStep>>>>;

impl Http2Upstream {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start<S>(settings: Http2Settings, streams: S) -> Self
    where
        S: IntoIterator<Item = Vec<StreamStep>>,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("loopback can be bound");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let scripts: Scripts = Arc::new(Mutex::new(streams.into_iter().collect()));
        let log = ConnectionLog::default();
        let accepting = tokio::spawn(accept(listener, settings, scripts, log.clone()));
        Self {
            address,
            log,
            accepting,
        }
    }

    /// A plaintext URI with this path.
    pub fn uri(&self, path: &str) -> http::Uri {
        crate::upstream::uri("http", &self.address.to_string(), path)
    }

    /// A TLS URI with this path, for the name `localhost`.
    pub fn secure_uri(&self, path: &str) -> http::Uri {
        let host = format!("localhost:{}", self.address.port());
        crate::upstream::uri("https", &host, path)
    }

    /// The connections so far; a reset stream also sets `peer_closed`.
    pub fn connections(&self) -> Vec<Connection> {
        self.log.connections()
    }

    /// Waits until this many streams have arrived.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) {
        let asked = |seen: &[Connection]| {
            let asked: usize = seen.iter().map(|it| it.requests.len()).sum();
            (asked >= count).then_some(())
        };
        self.log.wait("the streams", within, asked).await;
    }

    /// Waits until the client has reset a stream of this connection or closed it.
    pub async fn closed(&self, index: usize, within: Duration) {
        let closed = |seen: &[Connection]| seen.get(index)?.peer_closed.map(drop);
        self.log.wait("the peer close", within, closed).await;
    }
}

impl Drop for Http2Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    settings: Http2Settings,
    scripts: Scripts,
    log: ConnectionLog,
) {
    let mut serving = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let index = log.open();
        let (settings, scripts, log) = (settings.clone(), Arc::clone(&scripts), log.clone());
        serving.spawn(start(stream, settings, scripts, index, log));
    }
}

async fn start(
    stream: TcpStream,
    settings: Http2Settings,
    scripts: Scripts,
    index: usize,
    log: ConnectionLog,
) {
    stream
        .set_nodelay(true)
        .expect("a new socket takes options");
    match &settings.identity {
        None => serve(stream, &settings, scripts, index, log).await,
        Some(identity) => {
            if let Ok(stream) = identity.acceptor().accept(stream).await {
                serve(stream, &settings, scripts, index, log).await;
            }
        }
    }
}

async fn serve<T>(
    io: T,
    settings: &Http2Settings,
    scripts: Scripts,
    index: usize,
    log: ConnectionLog,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = h2::server::Builder::new();
    if let Some(most) = settings.most_streams {
        builder.max_concurrent_streams(most);
    }
    if let Some(window) = settings.stream_window {
        builder.initial_window_size(window);
    }
    let Ok(mut connection) = builder.handshake::<_, Bytes>(io).await else {
        return;
    };
    let (go_away, mut go_away_requests) = mpsc::unbounded_channel::<()>();
    let mut playing = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            Some(()) = go_away_requests.recv() => connection.graceful_shutdown(),
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { break };
                let (parts, body) = request.into_parts();
                let head = format!("{} {}", parts.method, parts.uri);
                log.update(index, |seen| seen.requests.push(Request {
                    head,
                    body: Bytes::new(),
                    arrived: Instant::now(),
                }));
                let steps = next(&scripts);
                let player = StreamPlayer {
                    body, respond, sending: None, index,
                    log: log.clone(), go_away: go_away.clone(),
                };
                playing.spawn(player.play(steps));
            }
        }
    }
    log.update(index, |seen| {
        seen.peer_closed.get_or_insert(Instant::now());
    });
}

fn next(scripts: &Scripts) -> Vec<StreamStep> {
    let mut scripts = scripts.lock().expect("no script panics");
    match scripts.len() {
        0 => Vec::new(),
        1 => scripts[0].clone(),
        _ => scripts.pop_front().unwrap_or_default(),
    }
}

struct StreamPlayer {
    body: RecvStream,
    respond: SendResponse<Bytes>,
    sending: Option<SendStream<Bytes>>,
    index: usize,
    log: ConnectionLog,
    go_away: mpsc::UnboundedSender<()>,
}

impl StreamPlayer {
    async fn play(mut self, steps: Vec<StreamStep>) {
        for step in steps {
            if self.take(step).await.is_err() {
                return;
            }
        }
    }

    async fn take(&mut self, step: StreamStep) -> Result<(), h2::Error> {
        match step {
            StreamStep::ReadBody => self.read_body().await?,
            StreamStep::Head(status) => {
                let response = Response::builder().status(status).body(());
                let response = response.expect("a scripted status is valid");
                self.sending = Some(self.respond.send_response(response, false)?);
            }
            StreamStep::Data(bytes) => self.sending().send_data(bytes, false)?,
            StreamStep::End => self.sending().send_data(Bytes::new(), true)?,
            StreamStep::Reset(reason) => match &mut self.sending {
                Some(sending) => sending.send_reset(reason),
                None => self.respond.send_reset(reason),
            },
            StreamStep::GoAway => {
                // The send fails only if the connection has already closed.
                let _ = self.go_away.send(());
            }
            StreamStep::Stall => {
                let reset = std::future::poll_fn(|cx| match &mut self.sending {
                    Some(sending) => sending.poll_reset(cx),
                    None => self.respond.poll_reset(cx),
                });
                let _ = reset.await;
                self.log.update(self.index, |seen| {
                    seen.peer_closed.get_or_insert(Instant::now());
                });
            }
            StreamStep::Wait(time) => tokio::time::sleep(time).await,
        }
        Ok(())
    }

    fn sending(&mut self) -> &mut SendStream<Bytes> {
        self.sending.as_mut().expect("a head is sent before a body")
    }

    async fn read_body(&mut self) -> Result<(), h2::Error> {
        while let Some(piece) = self.body.data().await {
            let size = piece?.len();
            self.body.flow_control().release_capacity(size)?;
        }
        Ok(())
    }
}
