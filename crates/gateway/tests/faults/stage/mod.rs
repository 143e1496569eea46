//! A gateway with short timers, a client that may lie, and every log line.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use majordomo_gateway::{Gateway, Limits, Options};
use majordomo_testkit::{Script, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Nothing takes this long unless it is broken.
pub(crate) const FOREVER: Duration = Duration::from_secs(30);
/// The client's key, and the one that the gateway shows its upstream.
pub(crate) const CLIENT_KEY: &str = "CANARY-client-key";
pub(crate) const UPSTREAM_KEY: &str = "CANARY-upstream-key";

/// A running gateway.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) operator: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// A gateway with these lines in its file.
    pub(crate) async fn start(config: &str) -> Self {
        Self::with(config, Limits::default()).await
    }

    /// The same with other limits.
    pub(crate) async fn with(config: &str, limits: Limits) -> Self {
        let _ = logs();
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("majordomo.toml");
        std::fs::write(&file, config).expect("a file can be written");
        let options = Options {
            config: Some(file),
            listen: Some(([127, 0, 0, 1], 0).into()),
        };
        let started = Gateway::start_with(&options, BTreeMap::new(), limits).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        let (stop, stopped) = oneshot::channel();
        Self {
            address: gateway.address().expect("it listens"),
            operator: gateway.operator_address().expect("it listens"),
            running: Some(tokio::spawn(gateway.run(async {
                let _ = stopped.await;
            }))),
            stop: Some(stop),
            _folder: folder,
        }
    }

    /// Tells the gateway to stop.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
    }

    /// Waits until it has stopped.
    pub(crate) async fn stopped(&mut self) {
        let running = self.running.take().expect("it is waited for once");
        let ended = timeout(FOREVER, running).await.expect("it stops");
        ended.expect("it does not panic");
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Sends bytes and reads everything until the gateway closes.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.connect().await;
        client.send(bytes).await;
        client.rest().await
    }

    /// Asks the operator's listener.
    pub(crate) async fn look(&self, path: &str) -> String {
        let mut client = Client::connect(self.operator).await;
        let host = self.operator;
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        client.send(head).await;
        client.rest().await
    }

    /// Looks until the operator sees what is expected.
    pub(crate) async fn look_until(&self, path: &str, expected: &str) {
        let looking = async {
            while !self.look(path).await.contains(expected) {
                tokio::task::yield_now().await;
            }
        };
        let seen = timeout(FOREVER, looking).await;
        seen.unwrap_or_else(|_| panic!("{path} never says {expected}"));
    }

    /// A plain request still works.
    pub(crate) async fn assert_alive(&self) {
        let answer = self.raw(ask("demo/text", false)).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// A raw connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("it listens");
        Self { stream }
    }

    /// Sends bytes; the gateway may have closed by then.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Everything until the gateway closes; a reset is an end, too.
    pub(crate) async fn rest(&mut self) -> String {
        let mut all = Vec::new();
        let read = timeout(FOREVER, self.stream.read_to_end(&mut all)).await;
        let _ = read.unwrap_or_else(|_| panic!("still open: {:?}", String::from_utf8_lossy(&all)));
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Reads until this text came.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        let reading = async {
            let mut space = [0; 4096];
            loop {
                let count = self.stream.read(&mut space).await.expect("it is open");
                all.extend_from_slice(&space[..count]);
                let seen = String::from_utf8_lossy(&all);
                assert!(count > 0, "closed before {text:?}: {seen}");
                if seen.contains(text) {
                    return seen.into_owned();
                }
            }
        };
        let read = timeout(FOREVER, reading).await;
        read.unwrap_or_else(|_| panic!("{text:?} never comes"))
    }
}

/// A whole request with a body, after which the connection may close.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: gateway\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A question in OpenAI's dialect.
pub(crate) fn ask(model: &str, stream: bool) -> String {
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    let headers = format!("connection: close\r\nauthorization: Bearer {CLIENT_KEY}\r\n");
    post("/v1/chat/completions", &headers, &body)
}

/// A provider `up` at this upstream, asked with a canary.
pub(crate) fn provider(upstream: &Upstream) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}\"\napi_key = \"{UPSTREAM_KEY}\"\n",
        upstream.address()
    )
}

/// One event of a stream.
pub(crate) const EVENT: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";

/// An upstream whose stream begins and then stands still.
pub(crate) async fn standing_still(count: usize) -> Upstream {
    let script = Script::new()
        .read_request()
        .stream_head()
        .chunk(EVENT)
        .stall();
    Upstream::start(vec![script; count]).await
}

/// All lines that were logged in this process so far.
pub(crate) fn logged() -> String {
    let lines = logs().lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&lines).into_owned()
}

/// The lines about one request.
pub(crate) fn lines_of(id: &str) -> Vec<String> {
    let all = logged();
    let about = all.lines().filter(|line| line.contains(id));
    about.map(str::to_owned).collect()
}

/// A header's value in a raw answer.
pub(crate) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    headers
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The status of each answer on a connection, in order.
pub(crate) fn statuses(answers: &str) -> Vec<u16> {
    let found = answers.split("HTTP/1.1 ").skip(1);
    found
        .filter_map(|rest| rest.get(..3)?.parse().ok())
        .collect()
}

fn logs() -> &'static Arc<Mutex<Vec<u8>>> {
    static LOGS: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    LOGS.get_or_init(|| {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(move || Sink(Arc::clone(&sink)))
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("nobody else listens");
        lines
    })
}

struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
