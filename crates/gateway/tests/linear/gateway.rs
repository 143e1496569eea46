//! A gateway with one provider of each dialect, all in this process, so that its CPU
//! time is the whole cost of a request.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use majordomo::{Part, Response};
use majordomo_gateway::{Gateway, ServeOptions};
use majordomo_wire::{Protocol, Reply};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::fronts::Front;

/// How a target's model handles images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eyes {
    /// Every image.
    Good,
    /// The newest few images.
    Few,
    /// Descriptions.
    Blind,
}

impl Eyes {
    const ALL: [Self; 3] = [Self::Good, Self::Few, Self::Blind];

    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Few => "few",
            Self::Blind => "blind",
        }
    }

    fn setting(self) -> &'static str {
        match self {
            Self::Good => "images = true\n",
            Self::Few => "images = { max = 8 }\n",
            Self::Blind => "images = false\ndescribe = \"gemini/good\"\n",
        }
    }
}

/// Rules at every position, none of which matches: each is evaluated per request.
const CONDITIONS: &[&str] = &[
    r#"position = "agent.claude_code", op = "equals", value = "subagent""#,
    r#"position = "context_system", op = "contains", value = "no such words""#,
    r#"position = "context_system", op = "regex", value = "no (such|other) words$""#,
    r#"position = "context_user", op = "contains", value = "no such words""#,
    r#"position = "context_user", op = "regex", value = "no (such|other) words$""#,
    r#"position = "header", name = "x-team", op = "equals", value = "red""#,
    r#"position = "images", op = "gt", value = 1000000"#,
    r#"position = "key", op = "equals", value = "nobody""#,
    r#"position = "latest_user", op = "contains", value = "no such words""#,
    r#"position = "model", op = "equals", value = "other""#,
    r#"position = "thinking", op = "enabled""#,
    r#"position = "token", op = "gt", value = 1000000000"#,
    r#"position = "tool", op = "glob", value = "no*such*tool""#,
    r#"position = "tool_use", op = "equals", value = "no such tool""#,
];

pub(crate) fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "chat",
        Protocol::Responses => "responses",
        Protocol::Messages => "messages",
        Protocol::Gemini => "gemini",
        Protocol::Ollama => "ollama",
    }
}

/// The route to a target.
pub(crate) fn route(target: Protocol, eyes: Eyes) -> String {
    format!("to-{}-{}", name(target), eyes.name())
}

pub(crate) struct MeasuredGateway {
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl MeasuredGateway {
    pub(crate) async fn start() -> Self {
        let mut config = "[vision]\nquestion = true\nlatest = \"turn\"\nhistory = \"cached\"\n\
             [fetch]\nenabled = true\n"
            .to_owned();
        for target in Protocol::ALL {
            config.push_str(&provider(target, upstream(target).await));
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("majordomo.toml");
        std::fs::write(&file, config).expect("a file can be written");
        let options = ServeOptions::default()
            .with_config(Some(file))
            .with_listen(Some(([127, 0, 0, 1], 0).into()))
            .with_operator_listen(None);
        let started = Gateway::start(&options, BTreeMap::new()).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        let address = gateway.address().expect("it listens");
        tokio::spawn(gateway.run(std::future::pending()));
        Self {
            address,
            _folder: folder,
        }
    }

    /// Status and text of the response, and the CPU time it took.
    pub(crate) async fn request(&self, path: &str, headers: usize, body: &Bytes) -> TimedResponse {
        let betas: String = (0..headers)
            .map(|n| format!("anthropic-beta: b{n}\r\n"))
            .collect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             connection: close\r\n{betas}content-length: {}\r\n\r\n",
            body.len()
        );
        let before = cpu_time();
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let mut http_response = Vec::new();
        // A refusal may arrive before the whole body is sent.
        let (mut read, mut write) = stream.split();
        let send = async {
            let _ = write.write_all(head.as_bytes()).await;
            let _ = write.write_all(body).await;
        };
        let (_, _) = tokio::join!(send, read.read_to_end(&mut http_response));
        let took = cpu_time() - before;
        let text = String::from_utf8_lossy(&http_response).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok());
        TimedResponse {
            status: status.unwrap_or(0),
            text,
            took,
        }
    }
}

pub(crate) struct TimedResponse {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) took: Duration,
}

/// CPU time of this process: other processes on the machine do not count.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// A provider with a model per kind of image support, and a route to each.
fn provider(target: Protocol, at: SocketAddr) -> String {
    let (kind, base) = match target {
        Protocol::Chat => ("openai", "/v1"),
        Protocol::Responses => ("openai-responses", "/v1"),
        Protocol::Messages => ("anthropic", ""),
        Protocol::Gemini => ("google", ""),
        Protocol::Ollama => ("ollama", ""),
    };
    let name = name(target);
    let mut text = format!(
        "[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"http://{at}{base}\"\napi_key = \"none\"\n"
    );
    for eyes in Eyes::ALL {
        let model = eyes.name();
        let setting = eyes.setting();
        text.push_str(&format!(
            "[providers.{name}.models.{model}]\ntools = true\n{setting}"
        ));
    }
    for eyes in Eyes::ALL {
        let (route, model) = (route(target, eyes), eyes.name());
        text.push_str(&format!(
            "[[routes]]\nmodel = \"{route}\"\nservices = [ {{ spec = \"{name}/{model}\" }} ]\n"
        ));
        for (n, condition) in CONDITIONS.iter().enumerate() {
            text.push_str(&format!(
                "[[routes.smart]]\nname = \"rule {n}\"\nwhen = [ {{ {condition} }} ]\n\
                 services = [ {{ spec = \"{name}/{model}\" }} ]\n"
            ));
        }
    }
    text
}

/// An upstream's response.
#[derive(Clone)]
struct Answers {
    whole: Bytes,
    streamed: Bytes,
}

impl Answers {
    fn of(target: Protocol) -> Self {
        let reply = Reply {
            id: "answer-1".into(),
            model: "m".into(),
            created: 1_700_000_000,
            stream_usage: true,
            ..Reply::default()
        };
        let response = Response::new(vec![Part::text("yes")]);
        let whole = target.codec().write_response(&response, &reply).body;
        let mut writer = target.codec().stream_writer(&reply);
        let mut streamed = BytesMut::new();
        for event in response.to_events() {
            writer.write(&event, &mut streamed);
        }
        Self {
            whole: http_response("application/json", &whole),
            streamed: http_response("text/event-stream", &streamed),
        }
    }
}

fn http_response(kind: &str, body: &[u8]) -> Bytes {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat().into()
}

/// An upstream that discards any request and responds. It streams where the path
/// requires it: describer calls are streamed.
async fn upstream(target: Protocol) -> SocketAddr {
    let answers = Answers::of(target);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, answers.clone()));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, answers: Answers) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::with_capacity(1 << 16, read);
    loop {
        let (mut length, mut streams) = (0, false);
        let mut line = String::new();
        loop {
            line.clear();
            if read.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            streams |= line.starts_with("POST") && line.contains(":stream");
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = (&mut read).take(length);
        tokio::io::copy(&mut body, &mut tokio::io::sink()).await?;
        let http_response = match streams {
            true => &answers.streamed,
            false => &answers.whole,
        };
        write.write_all(http_response).await?;
    }
}

/// Whether a target accepts no URLs, so that a request with one is refused.
pub(crate) fn needs_bytes(front: Front, target: Protocol) -> bool {
    let own = match target {
        Protocol::Gemini => front == Front::Gemini,
        Protocol::Ollama => matches!(front, Front::OllamaChat | Front::OllamaGenerate),
        Protocol::Chat | Protocol::Responses | Protocol::Messages => true,
    };
    !own
}
