//! What one exchange over the transport costs, beside bare hyper.
//!
//! `cargo bench -p majordomo-providers --bench exchange`; the same request and
//! answer on loopback, the client alone on its thread, CPU time of that thread
//! per exchange (wall time where the system does not tell). Rounds take turns,
//! so that a busy machine slows all of them; the median of each is printed.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::client::conn::http1;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use majordomo_providers::transport::{Config, Outgoing, Proxies, Reply, Transport};
use tokio::runtime::Runtime;
use tokio::time::Instant;

const ROUNDS: usize = 15;
const EXCHANGES: u32 = 1_000;
const STREAMS: u32 = 50;
const CHUNKS: usize = 200;

const QUESTION: &str = r#"{"model":"m","messages":[{"role":"user","content":"How are you?"}]}"#;

fn main() {
    let answer = format!("{{\"text\":\"{}\"}}", "word ".repeat(100));
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    let whole = serve(vec![format!("{head}{answer}")]);
    let mut pieces = vec![
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned(),
    ];
    let event = "data: {\"delta\":\"word \"}\n\n";
    pieces.extend((0..CHUNKS).map(|_| format!("{:x}\r\n{event}\r\n", event.len())));
    pieces.push("0\r\n\r\n".to_owned());
    let stream = serve(pieces);

    compare("whole answer", whole, EXCHANGES);
    compare("200-chunk stream", stream, STREAMS);
}

/// Measures the three clients in turns.
fn compare(what: &str, server: SocketAddr, exchanges: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let mut bare = Bare::connect(&runtime, server);
    let pooled = Pooled::new(server);
    let ours = Ours::new(server);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(cost(exchanges, || runtime.block_on(bare.ask())));
        times[1].push(cost(exchanges, || runtime.block_on(pooled.ask())));
        times[2].push(cost(exchanges, || runtime.block_on(ours.ask())));
    }
    let [bare, pooled, ours] = times.map(median);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("{what}, µs per exchange:");
    println!("  bare hyper connection    {:>8.1}", micros(bare));
    println!("  hyper-util pooled client {:>8.1}", micros(pooled));
    println!(
        "  transport                {:>8.1}  ({:+.1} over bare, ratio {:.2})",
        micros(ours),
        micros(ours) - micros(bare),
        micros(ours) / micros(bare)
    );
}

fn cost(exchanges: u32, mut ask: impl FnMut()) -> Duration {
    ask();
    let began = thread_time();
    for _ in 0..exchanges {
        ask();
    }
    (thread_time() - began) / exchanges
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The CPU time of this thread where Linux tells it, else the time that passes.
fn thread_time() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let nanos = told
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

/// A server that answers every request with the same pieces.
fn serve(pieces: Vec<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let pieces = pieces.clone();
            std::thread::spawn(move || answer(stream, &pieces));
        }
    });
    address
}

fn answer(mut stream: std::net::TcpStream, pieces: &[String]) {
    stream
        .set_nodelay(true)
        .expect("a new socket takes options");
    let mut buffer = [0; 8192];
    let mut filled = 0;
    loop {
        match stream.read(&mut buffer[filled..]) {
            Ok(size) if size > 0 => filled += size,
            _ => return,
        }
        if !buffer[..filled].ends_with(QUESTION.as_bytes()) {
            continue;
        }
        filled = 0;
        for piece in pieces {
            if stream.write_all(piece.as_bytes()).is_err() {
                return;
            }
        }
    }
}

struct Bare {
    sender: http1::SendRequest<Question>,
    host: String,
}

impl Bare {
    fn connect(runtime: &Runtime, server: SocketAddr) -> Self {
        let connecting = async {
            let stream = tokio::net::TcpStream::connect(server).await?;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(stream)
        };
        let stream = runtime.block_on(connecting).expect("the server accepts");
        let handshake = runtime.block_on(http1::handshake(TokioIo::new(stream)));
        let (sender, connection) = handshake.expect("HTTP/1 has no handshake that fails");
        runtime.spawn(connection);
        let host = server.to_string();
        Self { sender, host }
    }

    async fn ask(&mut self) {
        self.sender.ready().await.expect("the server keeps it open");
        let request = Request::post("/v1/chat").header("host", &self.host);
        let request = request.header("content-type", "application/json");
        let request = request.body(Question::new()).expect("a valid request");
        let response = self.sender.send_request(request).await;
        drain(response.expect("the server answers").into_body()).await;
    }
}

struct Pooled {
    client: Client<HttpConnector, Question>,
    uri: Uri,
}

impl Pooled {
    fn new(server: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            uri: uri(server),
        }
    }

    async fn ask(&self) {
        let request = Request::post(self.uri.clone()).header("content-type", "application/json");
        let request = request.body(Question::new()).expect("a valid request");
        let response = self.client.request(request).await;
        drain(response.expect("the server answers").into_body()).await;
    }
}

struct Ours {
    transport: Transport,
    uri: Uri,
}

impl Ours {
    fn new(server: SocketAddr) -> Self {
        Self {
            transport: Transport::new(Config::default().proxies(Proxies::Direct)),
            uri: uri(server),
        }
    }

    async fn ask(&self) {
        let request = Outgoing::post(self.uri.clone(), QUESTION)
            .header("content-type", "application/json")
            .expect("a valid header");
        let reply = self.transport.stream(request).await;
        let Ok(Reply::Accepted(_, mut body)) = reply else {
            panic!("the server answers");
        };
        while let Some(piece) = body.next().await {
            std::hint::black_box(piece.expect("the server finishes"));
        }
    }
}

fn uri(server: SocketAddr) -> Uri {
    let text = format!("http://{server}/v1/chat");
    text.parse().expect("a loopback address is a URI")
}

async fn drain(body: hyper::body::Incoming) {
    let mut body = pin!(body);
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        std::hint::black_box(frame.expect("the server finishes"));
    }
}

/// The simplest body there is.
struct Question(Option<Bytes>);

impl Question {
    fn new() -> Self {
        Self(Some(Bytes::from_static(QUESTION.as_bytes())))
    }
}

impl Body for Question {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
