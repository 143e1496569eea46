//! Runs the real command in an empty environment, against scripted servers.

use std::path::PathBuf;
use std::process::Stdio;

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// One run of `majordomo`.
pub(crate) struct CommandRun {
    command: Command,
    stdin: String,
}

/// `majordomo` with these arguments.
pub(crate) fn majordomo(arguments: &[&str]) -> CommandRun {
    let mut command = Command::new(env!("CARGO_BIN_EXE_majordomo"));
    command
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    CommandRun {
        command,
        stdin: String::new(),
    }
}

impl CommandRun {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Makes the upstream the provider `x`.
    pub(crate) fn x(self, upstream: &Upstream) -> Self {
        self.x_with(upstream, "")
    }

    /// The same, with options such as `?images=false`.
    pub(crate) fn x_with(self, upstream: &Upstream, options: &str) -> Self {
        let address = upstream.address();
        self.env(
            "LLM_X",
            &format!("openai+http://canary@{address}/v1{options}"),
        )
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdin);
        self
    }

    pub(crate) async fn output(mut self) -> CommandOutput {
        let mut child = self.command.spawn().expect("the command was built");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        // A command that never reads may have exited already.
        let _ = stdin.write_all(self.stdin.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// A streamed response of two deltas.
pub(crate) fn streams(first: &str, second: &str) -> Script {
    let delta = |text: &str| {
        format!(
            "data: {{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text:?}}}}}]}}\n\n"
        )
    };
    Script::new()
        .read_request()
        .stream_head()
        .chunk(delta(first))
        .chunk(delta(second))
        .chunk("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
        .last_chunk()
}

/// A whole response.
pub(crate) fn responds(text: &str) -> Script {
    let body = format!(
        "{{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text:?}}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":2}}}}"
    );
    Script::new()
        .read_request()
        .respond(200, "application/json", body)
}

/// An error response.
pub(crate) fn fails(status: u16, message: &str) -> Script {
    let body = format!("{{\"error\":{{\"message\":{message:?}}}}}");
    Script::new()
        .read_request()
        .respond(status, "application/json", body)
}

/// A file with this content in the target directory.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("the directory is writable");
    path.to_str().expect("a path of text").to_owned()
}

/// A PNG of this size.
pub(crate) fn png_image(width: u32, height: u32) -> Vec<u8> {
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    let pixels = vec![128; (width * height) as usize];
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    data
}
