//! An upstream that counts, per model: requests, and how many are open at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// Tokens of every response.
pub(crate) const OUTPUT: u64 = 10;
/// Input tokens that it reports.
pub(crate) const INPUT: u64 = 1;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) open: u64,
    pub(crate) most_open: u64,
}

type Counts = Arc<Mutex<BTreeMap<String, Count>>>;

/// Responds to Chat Completions; to the model `seats` slowly.
pub(crate) struct Mock {
    pub(crate) address: SocketAddr,
    counts: Counts,
    task: JoinHandle<()>,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Mock {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback");
        let address = listener.local_addr().expect("an address");
        let counts = Counts::default();
        let shared = Arc::clone(&counts);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self {
            address,
            counts,
            task,
        }
    }

    pub(crate) fn count(&self, model: &str) -> Count {
        let counts = self.counts.lock().expect("not poisoned");
        counts.get(model).copied().unwrap_or_default()
    }
}

/// Counts a request while it is open.
struct Open<'a>(&'a Counts, String);

impl<'a> Open<'a> {
    fn new(counts: &'a Counts, model: String) -> Self {
        let mut all = counts.lock().expect("not poisoned");
        let count = all.entry(model.clone()).or_default();
        count.requests += 1;
        count.open += 1;
        count.most_open = count.most_open.max(count.open);
        drop(all);
        Self(counts, model)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut all = self.0.lock().expect("not poisoned");
        all.entry(self.1.clone()).or_default().open -= 1;
    }
}

async fn serve(mut stream: TcpStream, counts: Counts) {
    while let Some(body) = read_request(&mut stream).await {
        let model = body.split("\"model\":\"").nth(1);
        let model = model.and_then(|rest| rest.split('"').next()).unwrap_or("");
        let open = Open::new(&counts, model.to_owned());
        if model == "seats" {
            let mut gone = [0];
            // A gateway that dies leaves at once.
            tokio::select! {
                () = sleep(Duration::from_millis(150)) => {}
                _ = stream.read(&mut gone) => return,
            }
        }
        let total = INPUT + OUTPUT;
        let body = format!(
            r#"{{"id":"c","object":"chat.completion","created":1,"model":"{model}","choices":[{{"index":0,"message":{{"role":"assistant","content":"word"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{INPUT},"completion_tokens":{OUTPUT},"total_tokens":{total}}}}}"#
        );
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        // A request that counts as open has ended before the gateway knows.
        drop(open);
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The body of the next request.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut space = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(body.to_owned());
            }
        }
        match stream.read(&mut space).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&space[..count]),
            _ => return None,
        }
    }
}
