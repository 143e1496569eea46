//! A provider on separate threads that reads everything and responds briefly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const CHAT: &str = r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
const MESSAGES: &str = r#"{"id":"x","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#;
const GEMINI: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}"#;
const COUNT: &str = r#"{"input_tokens":1}"#;
const EMBEDDINGS: &str =
    r#"{"object":"list","data":[],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}"#;

/// Size of a response requested as `large`.
const LARGE: usize = 24 << 20;

/// How long the silent provider waits.
const THOUGHT: Duration = Duration::from_millis(300);

/// Serves until the test process ends.
pub(super) fn start() -> SocketAddr {
    listen(serve)
}

/// Reads requests and closes the connection after a while.
pub(super) fn start_silent() -> SocketAddr {
    listen(|mut stream| {
        stream.set_read_timeout(Some(THOUGHT)).ok()?;
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        Some(())
    })
}

fn listen(serve: fn(TcpStream) -> Option<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(stream: TcpStream) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut path) = (0_u64, String::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if path.is_empty() {
                path = line.clone();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut head = Vec::new();
        let beginning = length.min(200);
        reader
            .by_ref()
            .take(beginning)
            .read_to_end(&mut head)
            .ok()?;
        let rest = length - beginning;
        std::io::copy(&mut reader.by_ref().take(rest), &mut std::io::sink()).ok()?;
        let large = head.windows(5).any(|word| word == b"large");
        let body = response(&path, large);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        out.write_all(head.as_bytes()).ok()?;
        out.write_all(body.as_bytes()).ok()?;
    }
}

fn response(path: &str, large: bool) -> String {
    let body = match path {
        path if path.contains("count_tokens") => COUNT,
        path if path.contains("embeddings") => EMBEDDINGS,
        path if path.contains("messages") => MESSAGES,
        path if path.contains("generatecontent") => GEMINI,
        _ => CHAT,
    };
    if large {
        body.replace("\"ok\"", &format!("\"{}\"", "\\u0001".repeat(LARGE / 6)))
    } else {
        body.to_owned()
    }
}
