//! How often and how much a request allocates, so that neither grows unnoticed.
//!
//! Allocated memory is then written, so its size bounds the bytes copied in user space. The
//! gateway runs on the thread that counts; the client and the upstream have separate threads.
//! A separate binary, because it replaces the global allocator.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use allocation_counter::AllocationInfo;
use majordomo_gateway::{Gateway, ServeOptions};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

const CHAT: &str = r#"{"id":"chatcmpl-1","created":1,"model":"m","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}}"#;
const MESSAGES: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":2}}"#;

/// A stream of Chat Completions: a start, chunks of one word, an end.
fn chat_stream() -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"created\":1,\"model\":\"m\",\"object\":\"chat.completion.chunk\",\
             \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut text = chunk(r#"{"role":"assistant","content":""}"#, "null");
    for _ in 0..CHUNKS {
        text += &chunk(r#"{"content":"word "}"#, "null");
    }
    text + &chunk("{}", "\"stop\"") + "data: [DONE]\n\n"
}

/// The same stream in Anthropic's dialect.
fn messages_stream() -> String {
    let event =
        |name: &str, rest: &str| format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n");
    let mut text = event(
        "message_start",
        r#","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}"#,
    );
    let block = r#","index":0,"content_block":{"type":"text","text":""}"#;
    text += &event("content_block_start", block);
    for _ in 0..CHUNKS {
        let delta = r#","index":0,"delta":{"type":"text_delta","text":"word "}"#;
        text += &event("content_block_delta", delta);
    }
    text += &event("content_block_stop", r#","index":0"#);
    let end =
        r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}"#;
    text += &event("message_delta", end);
    text + &event("message_stop", "")
}

/// Chunks of a stream.
const CHUNKS: usize = 100;
/// Before counting, connections are opened and buffers grow to their size.
const WARM_UP: usize = 20;
const COUNTED: usize = 50;

/// One kind of request, and the most that it may allocate.
struct Row {
    name: &'static str,
    path: &'static str,
    body: String,
    most_allocations: u64,
    most_kib: u64,
}

/// A coding agent's request: 24 tools with long descriptions, and a conversation.
fn agent(model: &str, settings: &str) -> String {
    let words = "Reads a file, line by line, and returns \\\"what\\\" it says.\\n".repeat(48);
    let tool = |n: usize| {
        let field =
            |name: &str| format!(r#""{name}":{{"type":"string","description":"A {name}."}}"#);
        let fields: Vec<String> = (0..6).map(|n| field(&format!("field_{n}"))).collect();
        let fields = fields.join(",");
        format!(
            r#"{{"name":"tool_{n}","description":"{words}","input_schema":{{"type":"object","properties":{{{fields}}}}}}}"#
        )
    };
    let tools: Vec<String> = (0..24).map(tool).collect();
    let turn = r#"{"role":"user","content":[{"type":"text","text":"Go on."}]},{"role":"assistant","content":[{"type":"text","text":"Done."}]},"#;
    format!(
        r#"{{"model":"{model}","max_tokens":4096,{settings}"system":[{{"type":"text","text":"{words}"}}],"tools":[{}],"messages":[{}{{"role":"user","content":"Hello?"}}]}}"#,
        tools.join(","),
        turn.repeat(8)
    )
}

/// Up to twenty percent above the counts from the time at which the bounds were set, in a
/// debug build, whose futures are larger than those of a release.
fn rows() -> Vec<Row> {
    // With a limit: one that the gateway must set is a change, which costs what listing it
    // costs.
    let small = |target: &str| {
        format!(
            r#"{{"model":"{target}/m","max_tokens":99,"messages":[{{"role":"user","content":"Hello?"}}]}}"#
        )
    };
    let stream = |target: &str| small(target).replacen('{', r#"{"stream":true,"#, 1);
    let row = |path| {
        move |name, body, most_allocations, most_kib| Row {
            name,
            path,
            body,
            most_allocations,
            most_kib,
        }
    };
    let chat = row("/v1/chat/completions");
    let messages = row("/v1/messages");
    // A model that has no such setting.
    let effort = r#""output_config":{"effort":"high"},"#;
    vec![
        chat("small, same dialect", small("oa"), 92, 56),
        chat("small, translated", small("an"), 114, 61),
        chat("stream of 100 chunks, same dialect", stream("oa"), 113, 92),
        chat("stream of 100 chunks, translated", stream("an"), 405, 205),
        messages("agent, same dialect", agent("an/m", effort), 366, 505),
        messages(
            "agent, edited",
            agent("an/claude-sonnet-4-5", effort),
            520,
            595,
        ),
        messages("agent, translated", agent("oa/m", effort), 435, 720),
    ]
}

#[test]
fn a_request_allocates_no_more_than_its_bound() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gateway = start(&runtime, folder.path());
    let mut wrong = Vec::new();
    for row in rows() {
        let counted = count(&runtime, gateway, &row);
        let (allocations, bytes) = (
            counted.count_total / COUNTED as u64,
            counted.bytes_total / COUNTED as u64,
        );
        let most = row.most_kib * 1_024;
        let line = format!(
            "{}: {allocations} allocations of {} allowed, {bytes} bytes of {most} (body {})",
            row.name,
            row.most_allocations,
            row.body.len(),
        );
        println!("{line}");
        if allocations > row.most_allocations || bytes > most {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A gateway with a provider of each dialect, on this thread.
fn start(runtime: &Runtime, folder: &std::path::Path) -> SocketAddr {
    let upstream = upstream();
    let file = folder.join("majordomo.toml");
    let config = format!(
        "[ledger]\nstore = \"off\"\n\
         [providers.oa]\nkind = \"openai\"\nbase_url = \"http://{upstream}/v1\"\napi_key = \"none\"\n\
         [providers.an]\nkind = \"anthropic\"\nbase_url = \"http://{upstream}\"\napi_key = \"none\"\n"
    );
    std::fs::write(&file, config).unwrap();
    let options = ServeOptions::default()
        .with_config(Some(file))
        .with_listen(Some(([127, 0, 0, 1], 0).into()))
        .with_operator_listen(None);
    runtime.block_on(async {
        let gateway = Gateway::start(&options, BTreeMap::new()).await.unwrap();
        let address = gateway.address().unwrap();
        tokio::spawn(gateway.run(std::future::pending()));
        address
    })
}

/// The allocations of the gateway's thread for some requests on one connection.
fn count(runtime: &Runtime, gateway: SocketAddr, row: &Row) -> AllocationInfo {
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        row.path,
        row.body.len()
    );
    let request = [head.as_bytes(), row.body.as_bytes()].concat();
    let stream = TcpStream::connect(gateway).unwrap();
    let connection = send(runtime, stream, request.clone(), WARM_UP);
    let mut connection = Some(connection);
    allocation_counter::measure(|| {
        let stream = connection.take().unwrap();
        connection = Some(send(runtime, stream, request.clone(), COUNTED));
    })
}

/// Sends requests from another thread while the gateway runs on this one.
fn send(runtime: &Runtime, mut stream: TcpStream, request: Vec<u8>, count: usize) -> TcpStream {
    let (done, finished) = oneshot::channel();
    let client = thread::spawn(move || {
        for _ in 0..count {
            stream.write_all(&request).unwrap();
            let (head, _) = read_message(&mut BufReader::new(&stream)).unwrap();
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        }
        let _ = done.send(());
        stream
    });
    // If the client fails, its panic is reported by the join.
    let _ = runtime.block_on(finished);
    client.join().unwrap()
}

/// An upstream that responds to every request in the dialect of its path.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve(&stream.unwrap()));
        }
    });
    address
}

fn serve(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read_message(&mut reader) {
        let streams = memmem(&body, br#""stream":true"#);
        let (kind, body) = match (head.contains("/messages"), streams) {
            (true, false) => ("application/json", MESSAGES.to_owned()),
            (false, false) => ("application/json", CHAT.to_owned()),
            (true, true) => ("text/event-stream", messages_stream()),
            (false, true) => ("text/event-stream", chat_stream()),
        };
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut writer = stream;
        if writer.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

fn memmem(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The head and body of the next message; `None` at the end.
fn read_message(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lengths = head.lines().filter_map(|line| line.split_once(": "));
    let length = lengths
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .find_map(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    if head.contains("transfer-encoding: chunked") {
        while !body.ends_with(b"\r\n0\r\n\r\n") {
            let piece = reader.fill_buf().ok().filter(|piece| !piece.is_empty())?;
            body.extend_from_slice(piece);
            let length = piece.len();
            reader.consume(length);
        }
    }
    Some((head, body))
}
