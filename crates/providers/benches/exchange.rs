//! CPU time of one exchange: over the transport and as a direct call of a model,
//! compared with bare hyper.
//!
//! Run with `cargo bench -p majordomo-providers --bench exchange`. All clients send
//! the same request over loopback, alone on their thread. The unit is CPU time of
//! that thread per exchange (wall time without `/proc`). Rounds alternate between
//! the clients, so that noise affects all of them; the median of each is printed. A
//! direct call may cost 60 µs more than bare hyper, which parses no JSON.

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
use majordomo_providers::transport::{
    Proxies, Transport, TransportConfig, TransportRequest, TransportResponse,
};
use majordomo_providers::{ProviderKind, Settings};
use tokio::runtime::Runtime;
use tokio::time::Instant;

const ROUNDS: usize = 15;
const EXCHANGES: u32 = 1_000;
const STREAMS: u32 = 50;
const CHUNKS: usize = 200;

const REQUEST: &str = r#"{"model":"m","messages":[{"role":"user","content":"How are you?"}]}"#;

fn main() {
    let text = "word ".repeat(100);
    let body = format!(
        r#"{{"id":"c1","object":"chat.completion","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":100}}}}"#
    );
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let whole = serve(vec![format!("{head}{body}")]);
    let mut chunks = vec![
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned(),
    ];
    let event = r#"data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}"#;
    let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let events = (0..CHUNKS).map(|_| event).chain([end, "data: [DONE]"]);
    chunks.extend(events.map(|event| format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2)));
    chunks.push("0\r\n\r\n".to_owned());
    let stream = serve(chunks);

    compare("buffered response", whole, EXCHANGES, DirectCall::generate);
    compare("200-chunk stream", stream, STREAMS, DirectCall::events);
}

/// Measures the clients in alternating rounds.
fn compare(what: &str, server: SocketAddr, exchanges: u32, call: fn(&DirectCall, &Runtime)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let mut bare = BareHyper::connect(&runtime, server);
    let pooled = HyperUtilClient::new(server);
    let ours = OurTransport::new(server);
    let direct = DirectCall::new(server);
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(cost(exchanges, || runtime.block_on(bare.call())));
        times[1].push(cost(exchanges, || runtime.block_on(pooled.call())));
        times[2].push(cost(exchanges, || runtime.block_on(ours.call())));
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

fn cost(exchanges: u32, mut exchange: impl FnMut()) -> Duration {
    exchange();
    let began = thread_time();
    for _ in 0..exchanges {
        exchange();
    }
    (thread_time() - began) / exchanges
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The CPU time of this thread on Linux, else wall time.
fn thread_time() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let nanos = schedstat
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

/// A server that sends the same chunks in response to every request.
fn serve(chunks: Vec<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let chunks = chunks.clone();
            std::thread::spawn(move || respond(stream, &chunks));
        }
    });
    address
}

fn respond(mut stream: std::net::TcpStream, chunks: &[String]) {
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
        // The head ends with a line break, the body with a brace.
        if !buffer[..filled].ends_with(b"}") {
            continue;
        }
        filled = 0;
        for chunk in chunks {
            if stream.write_all(chunk.as_bytes()).is_err() {
                return;
            }
        }
    }
}

struct BareHyper {
    sender: http1::SendRequest<RequestBody>,
    host: String,
}

impl BareHyper {
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

    async fn call(&mut self) {
        self.sender.ready().await.expect("the server keeps it open");
        let request = Request::post("/v1/chat").header("host", &self.host);
        let request = request.header("content-type", "application/json");
        let request = request.body(RequestBody::new()).expect("a valid request");
        let response = self.sender.send_request(request).await;
        drain(response.expect("the server responds").into_body()).await;
    }
}

struct HyperUtilClient {
    client: Client<HttpConnector, RequestBody>,
    uri: Uri,
}

impl HyperUtilClient {
    fn new(server: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            uri: uri(server),
        }
    }

    async fn call(&self) {
        let request = Request::post(self.uri.clone()).header("content-type", "application/json");
        let request = request.body(RequestBody::new()).expect("a valid request");
        let response = self.client.request(request).await;
        drain(response.expect("the server responds").into_body()).await;
    }
}

struct OurTransport {
    transport: Transport,
    uri: Uri,
}

impl OurTransport {
    fn new(server: SocketAddr) -> Self {
        Self {
            transport: Transport::new(TransportConfig::default().proxies(Proxies::Direct)),
            uri: uri(server),
        }
    }

    async fn call(&self) {
        let request = TransportRequest::post(self.uri.clone(), REQUEST)
            .header("content-type", "application/json")
            .expect("a valid header");
        let response = self.transport.stream(request).await;
        let Ok(TransportResponse::Success(_, mut body)) = response else {
            panic!("the server responds");
        };
        while let Some(chunk) = body.next().await {
            std::hint::black_box(chunk.expect("the server finishes"));
        }
    }
}

/// A model of a provider, called without a chain.
struct DirectCall(Arc<dyn Model>);

impl DirectCall {
    fn new(server: SocketAddr) -> Self {
        let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
        let settings = Settings::new("x", transport).base_url(format!("http://{server}/v1"));
        let provider = ProviderKind::OpenAi
            .provider(settings)
            .expect("a good address");
        Self(provider.model("m").expect("any id is a model"))
    }

    fn generate(&self, runtime: &Runtime) {
        let response = runtime.block_on(self.0.generate(chat_request()));
        std::hint::black_box(response.expect("the server responds"));
    }

    fn events(&self, runtime: &Runtime) {
        runtime.block_on(async {
            let mut events = self
                .0
                .events(chat_request())
                .await
                .expect("the server responds");
            while let Some(event) = std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await {
                std::hint::black_box(event.expect("the server finishes"));
            }
        });
    }
}

fn chat_request() -> majordomo_llm::Request {
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

/// A minimal request body.
struct RequestBody(Option<Bytes>);

impl RequestBody {
    fn new() -> Self {
        Self(Some(Bytes::from_static(REQUEST.as_bytes())))
    }
}

impl Body for RequestBody {
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
