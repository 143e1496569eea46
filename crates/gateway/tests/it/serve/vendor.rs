//! A vendor whose responses depend on the request, such as on its key.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A request that the vendor received.
#[derive(Clone, Debug)]
pub(crate) struct VendorRequest {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl VendorRequest {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut named = lines.filter_map(|line| line.split_once(':'));
        let found = named.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// The vendor's response.
pub(crate) struct VendorReply {
    pub(crate) status: u16,
    /// Header lines, each with its line end.
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl VendorReply {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: String::new(),
            body: body.into(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }
}

type Respond = dyn Fn(&VendorRequest) -> VendorReply + Send + Sync;

/// A running vendor. It stops when this is dropped.
pub(crate) struct Vendor {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<VendorRequest>>>,
    accepting: JoinHandle<()>,
}

impl Vendor {
    pub(crate) async fn start(
        respond: impl Fn(&VendorRequest) -> VendorReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::<Mutex<Vec<VendorRequest>>>::default();
        let log = Arc::clone(&seen);
        let respond: Arc<Respond> = Arc::new(respond);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&respond), Arc::clone(&log)));
            }
        });
        Self {
            address,
            seen,
            accepting,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests for responses so far, without those that discover a model's capabilities
    /// concurrently.
    pub(crate) fn requests(&self) -> Vec<VendorRequest> {
        let seen = self.seen.lock().expect("no panic");
        let posted = seen
            .iter()
            .filter(|request| request.head.starts_with("POST "));
        posted.cloned().collect()
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    respond: Arc<Respond>,
    log: Arc<Mutex<Vec<VendorRequest>>>,
) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let request = read(&mut stream, &mut buffer).await?;
        let reply = respond(&request);
        log.lock().expect("no panic").push(request);
        let text = format!(
            "HTTP/1.1 {} Reply\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{}",
            reply.status,
            reply.headers,
            reply.body.len(),
            reply.body
        );
        stream.write_all(text.as_bytes()).await.ok()?;
    }
}

/// Reads one request; further bytes stay in the buffer.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<VendorRequest> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        more(stream, buffer).await?;
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut request = VendorRequest {
        head,
        body: String::new(),
    };
    let length = request.header("content-length").unwrap_or("0");
    let length: usize = length.parse().ok()?;
    while buffer.len() < end + length {
        more(stream, buffer).await?;
    }
    request.body = String::from_utf8_lossy(&buffer[end..end + length]).into_owned();
    buffer.drain(..end + length);
    Some(request)
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let count = stream.read_buf(buffer).await.ok()?;
    (count > 0).then_some(())
}
