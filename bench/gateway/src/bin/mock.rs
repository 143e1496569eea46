//! `mock PORT`: an upstream that responds immediately, in two dialects.
//!
//! The model selects the response: `small` is not streamed, `burst` is a stream of 200
//! chunks with one write each, `flood` the same stream in one write, and `paced` the same
//! with 10 ms between chunks.

use std::io::Result;
use std::sync::Arc;
use std::time::Duration;

use majordomo_bench::{Messages, find};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

const CHUNKS: usize = 200;
const PACE: Duration = Duration::from_millis(10);
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const END: &[u8] = b"0\r\n\r\n";

/// All responses, built once.
struct Answers {
    chat: Dialect,
    messages: Dialect,
}

struct Dialect {
    whole: Vec<u8>,
    stream: Vec<Vec<u8>>,
    /// The whole stream, including its terminator.
    at_once: Vec<u8>,
}

impl Dialect {
    fn new(body: &str, stream: Vec<Vec<u8>>) -> Self {
        Self {
            whole: whole(body),
            at_once: [stream.concat().as_slice(), END].concat(),
            stream,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "9100".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let answers = Arc::new(Answers {
        chat: chat(),
        messages: messages(),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        let answers = Arc::clone(&answers);
        tokio::spawn(async move {
            // The load generator handles broken connections.
            let _ = serve(stream, &answers).await;
        });
    }
}

async fn serve(mut stream: TcpStream, answers: &Answers) -> Result<()> {
    stream.set_nodelay(true)?;
    let (from, mut to) = stream.split();
    let mut requests = Messages::new(from);
    while let Some(request) = requests.next().await? {
        let dialect = match request.head.contains("/messages") {
            true => &answers.messages,
            false => &answers.chat,
        };
        // The model is near the start or the end of a body, so a large image is not searched.
        let ends = [
            &request.body[..request.body.len().min(300)],
            &request.body[request.body.len().saturating_sub(300)..],
        ];
        let says = |what: &[u8]| ends.iter().any(|end| find(what, end).is_some());
        let pace = says(b"\"paced\"");
        let flood = says(b"\"flood\"");
        if !pace && !flood && !says(b"\"burst\"") {
            to.write_all(&dialect.whole).await?;
            continue;
        }
        to.write_all(HEAD).await?;
        if flood {
            to.write_all(&dialect.at_once).await?;
            continue;
        }
        for chunk in &dialect.stream {
            if pace {
                tokio::time::sleep(PACE).await;
            }
            to.write_all(chunk).await?;
        }
        to.write_all(END).await?;
    }
    Ok(())
}

fn whole(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// An HTTP chunk around an event.
fn chunk(event: &str) -> Vec<u8> {
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

fn chat() -> Dialect {
    let frame = r#""id":"chatcmpl-bench","created":1760000000,"model":"mock""#;
    let usage = r#""usage":{"prompt_tokens":12,"completion_tokens":200,"total_tokens":212}"#;
    let body = format!(
        r#"{{{frame},"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"The answer is forty-two, as everybody knows."}},"finish_reason":"stop"}}],{usage}}}"#
    );
    let event = |delta: &str, finish: &str, rest: &str| {
        chunk(&format!(
            "data: {{{frame},\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]{rest}}}\n\n"
        ))
    };
    let mut stream = vec![event(r#"{"role":"assistant","content":""}"#, "null", "")];
    stream.extend((0..CHUNKS).map(|n| event(&format!(r#"{{"content":" word{n}"}}"#), "null", "")));
    stream.push(event("{}", "\"stop\"", &format!(",{usage}")));
    stream.push(chunk("data: [DONE]\n\n"));
    Dialect::new(&body, stream)
}

fn messages() -> Dialect {
    let body = r#"{"id":"msg_bench","type":"message","role":"assistant","model":"mock","content":[{"type":"text","text":"The answer is forty-two, as everybody knows."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":200}}"#;
    let event = |name: &str, data: &str| chunk(&format!("event: {name}\ndata: {data}\n\n"));
    let mut stream = vec![
        event(
            "message_start",
            r#"{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"mock","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}"#,
        ),
        event(
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        ),
    ];
    stream.extend((0..CHUNKS).map(|n| {
        event(
            "content_block_delta",
            &format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" word{n}"}}}}"#),
        )
    }));
    stream.push(event(
        "content_block_stop",
        r#"{"type":"content_block_stop","index":0}"#,
    ));
    stream.push(event(
        "message_delta",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":200}}"#,
    ));
    stream.push(event("message_stop", r#"{"type":"message_stop"}"#));
    Dialect::new(body, stream)
}
