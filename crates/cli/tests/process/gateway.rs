//! Starts the real command and observes it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use majordomo_testkit::{Script, Upstream};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Timeout of everything; nothing takes this long unless it is broken.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// One event of a stream.
pub(crate) const EVENT: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";
/// The last events of a stream.
pub(crate) const END: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// A whole response.
pub(crate) const RESPONSE: &str = "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"word\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}";

/// How to start a gateway.
#[derive(Default)]
pub(crate) struct GatewayCommand {
    pub(crate) config: String,
    /// The address for clients; a free port by default.
    pub(crate) listen: Option<SocketAddr>,
    /// Shell commands to run before it, such as `ulimit -n 256`.
    pub(crate) before: &'static str,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Leaves the log unread.
    pub(crate) log_unread: bool,
}

/// A running gateway, killed on drop.
pub(crate) struct GatewayProcess {
    pub(crate) address: SocketAddr,
    pub(crate) operator: SocketAddr,
    child: Child,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

/// Adds the demo provider, with which tests check that the gateway is alive.
fn with_demo(config: &str) -> String {
    let named = config.contains("[providers.") && !config.contains("[providers.demo]");
    let demo = if named { "\n[providers.demo]\n" } else { "" };
    format!("{config}{demo}")
}

impl GatewayCommand {
    pub(crate) fn with(config: impl Into<String>) -> Self {
        Self {
            config: config.into(),
            ..Self::default()
        }
    }

    /// The command and its temporary directory.
    pub(crate) fn command(&self) -> (Command, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("majordomo.toml");
        std::fs::write(&file, with_demo(&self.config)).expect("a file can be written");
        let mut command = Command::new("sh");
        // The default port may be another gateway's.
        let operator = match self.config.contains("operator_listen") {
            true => "",
            false => "--operator-listen 127.0.0.1:0",
        };
        let line = format!(
            "{}\nexec \"$0\" serve --config \"$1\" --listen \"$2\" {operator}",
            self.before
        );
        let listen = self.listen.unwrap_or(([127, 0, 0, 1], 0).into());
        command
            .arg("-c")
            .arg(line)
            .arg(env!("CARGO_BIN_EXE_majordomo"))
            .arg(&file)
            .arg(listen.to_string())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        (command, folder)
    }

    /// Starts it and waits until it prints its addresses.
    pub(crate) async fn start(self) -> GatewayProcess {
        let (mut command, folder) = self.command();
        let log = folder.path().join("log");
        if self.log_unread {
            command.stderr(Stdio::piped());
        } else {
            let file = std::fs::File::create(&log).expect("a file can be made");
            command.stderr(file);
        }
        let mut child = command.spawn().expect("the command was built");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(found) = addresses(&line) {
                    return found;
                }
            }
            let log_text = std::fs::read_to_string(&log).unwrap_or_default();
            panic!("it does not start: {log_text}");
        };
        let (address, operator) = timeout(TIMEOUT, listening).await.expect("it starts");
        // Drains stdout, so that it never blocks.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        GatewayProcess {
            address,
            operator,
            child,
            log,
            _folder: folder,
        }
    }
}

/// Parses `listening on http://A, operator API on http://B`.
fn addresses(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let rest = line.strip_prefix("listening on http://")?;
    let (address, operator) = rest.split_once(", operator API on http://")?;
    Some((address.parse().ok()?, operator.parse().ok()?))
}

impl GatewayProcess {
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", name, &id])
            .status();
        assert!(sent.expect("there is a kill").success());
    }

    /// Waits until the process has exited; returns its code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let ended = timeout(TIMEOUT, self.child.wait()).await;
        ended
            .expect("it ends")
            .expect("it can be waited for")
            .code()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state is known").is_none()
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes_of("VmRSS:")
    }

    /// Peak resident memory in bytes since the last reset.
    pub(crate) fn peak_memory(&self) -> usize {
        self.bytes_of("VmHWM:")
    }

    /// Resets the peak.
    pub(crate) fn reset_peak(&self) {
        let file = format!("/proc/{}/clear_refs", self.id());
        std::fs::write(file, "5").expect("the kernel forgets");
    }

    fn bytes_of(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("the kernel tells");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        kilobytes.expect("a number") * 1024
    }

    /// The number of its child processes.
    pub(crate) fn children(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id()));
        let tasks = tasks.expect("the kernel tells").flatten();
        tasks
            .map(|task| {
                let children = std::fs::read_to_string(task.path().join("children"));
                children.unwrap_or_default().split_whitespace().count()
            })
            .sum()
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The log, once it contains this text.
    pub(crate) async fn log_until(&self, text: &str) -> String {
        let reading = async {
            while !self.log().contains(text) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let read = timeout(TIMEOUT, reading).await;
        read.unwrap_or_else(|_| panic!("{text:?} is never logged: {}", self.log()));
        self.log()
    }

    /// A connection to it.
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn send(&self, request: impl AsRef<[u8]>) -> String {
        exchange(self.address, request.as_ref()).await
    }

    /// Sends a GET to the operator API.
    pub(crate) async fn operator_get(&self, path: &str) -> String {
        let host = self.operator;
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        exchange(self.operator, head.as_bytes()).await
    }

    /// Polls the operator API until it returns this text.
    pub(crate) async fn operator_get_until(&self, path: &str, expected: &str) {
        let looking = async {
            while !self.operator_get(path).await.contains(expected) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let seen = timeout(TIMEOUT, looking).await;
        seen.unwrap_or_else(|_| panic!("{path} never contains {expected}"));
    }

    /// Checks that a plain request is served.
    pub(crate) async fn assert_alive(&self) {
        let response = self.send(chat_request("demo/text", false)).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

/// Sends bytes on a new connection and reads until it is closed.
pub(crate) async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let talking = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        // An error response may arrive before everything is sent.
        let _ = stream.write_all(request).await;
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
        Some(String::from_utf8_lossy(&response).into_owned())
    };
    let response = timeout(TIMEOUT, talking).await.expect("it responds");
    response.unwrap_or_default()
}

/// Reads until this text arrives.
pub(crate) async fn until(stream: &mut TcpStream, text: &str) {
    let mut all = Vec::new();
    let reading = async {
        let mut space = [0; 4096];
        while !String::from_utf8_lossy(&all).contains(text) {
            let count = stream.read(&mut space).await.expect("it is open");
            let seen = String::from_utf8_lossy(&all);
            assert!(count > 0, "closed before {text:?}: {seen}");
            all.extend_from_slice(&space[..count]);
        }
    };
    let read = timeout(TIMEOUT, reading).await;
    read.unwrap_or_else(|_| panic!("{text:?} never comes"));
}

/// A whole request with `connection: close`.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A Chat Completions request.
pub(crate) fn chat_request(model: &str, stream: bool) -> String {
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    post("/v1/chat/completions", "", &body)
}

/// A request with an image of about this size: noise, which does not compress.
pub(crate) fn with_image(model: &str, bytes: usize) -> Vec<u8> {
    let side = ((bytes / 3) as f64).sqrt() as u32;
    let mut state = 1_u32;
    let pixels = (0..side * side * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let pixels: Vec<u8> = pixels.collect();
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    let data = STANDARD.encode(picture);
    let body = format!(
        r#"{{"model":"{model}","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}]}}]}}"#
    );
    post("/v1/chat/completions", "", &body).into_bytes()
}

/// A provider `up` at this upstream.
pub(crate) fn provider(upstream: &Upstream) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}\"\napi_key = \"CANARY-upstream\"\n",
        upstream.address()
    )
}

/// An upstream whose streams start and then stall.
pub(crate) fn stalling_stream() -> Script {
    Script::new()
        .read_request()
        .stream_head()
        .chunk(EVENT)
        .stall()
}

/// An upstream that serves this many requests per connection.
pub(crate) fn serving(times: usize) -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", RESPONSE)
        .times(times)
}

/// Whether to run at full size.
pub(crate) fn full() -> bool {
    std::env::var_os("MAJORDOMO_LOAD").is_some_and(|size| size == "full")
}

/// The file descriptor limit of this process.
pub(crate) fn descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("the kernel tells");
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    soft.unwrap_or(1024)
}
