//! What one exchange costs, over the transport and as a direct call of a
//! model, beside bare hyper.
//!
//! `cargo bench -p majordomo-providers --bench exchange`; the same request and
//! answer on loopback, the client alone on its thread, CPU time of that thread
//! per exchange (wall time where the system does not tell). Rounds take turns,
//! so that a busy machine slows all of them; the median of each is printed. A
//! direct call may cost 60 µs more than bare hyper, which reads no JSON.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::client::conn::http1;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use majordomo_llm::{Model, Provider};
use majordomo_providers::transport::{Config, Outgoing, Proxies, Reply, Transport};
use majordomo_providers::{ProviderKind, Settings};
use tokio::runtime::Runtime;
use tokio::time::Instant;

const ROUNDS: usize = 15;
const EXCHANGES: u32 = 1_000;
const STREAMS: u32 = 50;
const CHUNKS: usize = 200;

const QUESTION: &str = r#"{"model":"m","messages":[{"role":"user","content":"How are you?"}]}"#;

fn main() {
    let text = "word ".repeat(100);
    let answer = format!(
        r#"{{"id":"c1","object":"chat.completion","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":100}}}}"#
    );
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    let whole = serve(vec![format!("{head}{answer}")]);
    let mut pieces = vec![
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned(),
    ];
    let event = r#"data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}"#;
    let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let events = (0..CHUNKS).map(|_| event).chain([end, "data: [DONE]"]);
    pieces.extend(events.map(|event| format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2)));
    pieces.push("0\r\n\r\n".to_owned());
    let stream = serve(pieces);

    compare("whole answer", whole, EXCHANGES, Direct::generate);
    compare("200-chunk stream", stream, STREAMS, Direct::events);
}

/// Measures the clients in turns.
fn compare(what: &str, server: SocketAddr, exchanges: u32, call: fn(&Direct, &Runtime)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let mut bare = Bare::connect(&runtime, server);
    let pooled = Pooled::new(server);
    let ours = Ours::new(server);
    let direct = Direct::new(server);
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(cost(exchanges, || runtime.block_on(bare.ask())));
        times[1].push(cost(exchanges, || runtime.block_on(pooled.ask())));
        times[2].push(cost(exchanges, || runtime.block_on(ours.ask())));
        times[3].push(cost(exchanges, || call(&direct, &runtime)));
    }
    let [bare, pooled, ours, direct] = times.map(median);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("{what}, µs per exchange:");
    println!("  bare hyper connection    {:>8.1}", micros(bare));
    println!("  hyper-util pooled client {:>8.1}", micros(pooled));
    for (name, time) in [("transport", ours), ("direct call", direct)] {
        println!(
            "  {name:<24} {:>8.1}  ({:+.1} over bare, ratio {:.2})",
            micros(time),
            micros(time) - micros(bare),
            micros(time) / micros(bare)
        );
    }
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
        // The head ends with a line, the body with a brace.
        if !buffer[..filled].ends_with(b"}") {
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

/// A model of a provider, asked without a chain.
struct Direct(Arc<dyn Model>);

impl Direct {
    fn new(server: SocketAddr) -> Self {
        let transport = Transport::new(Config::default().proxies(Proxies::Direct));
        let settings = Settings::new("x", transport).base_url(format!("http://{server}/v1"));
        let provider = ProviderKind::OpenAi
            .provider(settings)
            .expect("a good address");
        Self(provider.model("m").expect("any id is a model"))
    }

    fn generate(&self, runtime: &Runtime) {
        let answer = runtime.block_on(self.0.generate(question()));
        std::hint::black_box(answer.expect("the server answers"));
    }

    fn events(&self, runtime: &Runtime) {
        runtime.block_on(async {
            let mut events = self.0.events(question()).await.expect("the server answers");
            while let Some(event) = std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await {
                std::hint::black_box(event.expect("the server finishes"));
            }
        });
    }
}

fn question() -> majordomo_llm::Request {
    majordomo_llm::Request::user("How are you?")
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
