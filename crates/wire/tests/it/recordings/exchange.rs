//! One recording, in any of the formats.

use std::collections::HashMap;
use std::path::Path;

use majordomo_wire::Protocol;
use serde_json::Value;
use serde_json::value::RawValue;

use super::index::RecordingRow;

pub(crate) struct Exchange {
    /// The request path without the query; empty if unknown.
    pub(crate) path: String,
    pub(crate) request: Option<Vec<u8>>,
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) response_body: Vec<u8>,
    pub(crate) streamed: bool,
}

#[derive(serde::Deserialize)]
struct RecordedEnvelope {
    #[serde(rename = "protocol")]
    _protocol: String,
    request: EnvelopeRequest,
    response: EnvelopeResponse,
}

#[derive(serde::Deserialize)]
struct EnvelopeRequest {
    #[serde(default)]
    url: String,
    body: Option<Box<RawValue>>,
}

#[derive(serde::Deserialize)]
struct EnvelopeResponse {
    status: u16,
    #[serde(default)]
    headers: HashMap<String, Value>,
    body_text: Option<String>,
    body_json: Option<Box<RawValue>>,
}

pub(crate) fn load(folder: &Path, row: &RecordingRow) -> Exchange {
    let file = folder.join(&row.path);
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if let Ok(envelope) = serde_json::from_slice::<RecordedEnvelope>(&bytes) {
        return from_envelope(envelope, row);
    }
    let response_body = match row.path.ends_with(".chunks.txt") {
        true => framed(&bytes, &row.protocol),
        false => bytes,
    };
    Exchange {
        path: String::new(),
        request: None,
        status: row.status(),
        headers: HashMap::new(),
        streamed: is_stream(&response_body, row),
        response_body,
    }
}

fn from_envelope(envelope: RecordedEnvelope, row: &RecordingRow) -> Exchange {
    let response = envelope.response;
    let response_body = match (response.body_text, response.body_json) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(json)) => json.get().as_bytes().to_vec(),
        (None, None) => Vec::new(),
    };
    let text =
        |(name, value): (String, Value)| Some((name.to_lowercase(), value.as_str()?.to_owned()));
    let body = envelope.request.body.filter(|body| body.get() != "null");
    let path = envelope.request.url.split('?').next().unwrap_or_default();
    Exchange {
        path: path.to_owned(),
        request: body.map(|body| body.get().as_bytes().to_vec()),
        status: response.status,
        headers: response.headers.into_iter().filter_map(text).collect(),
        streamed: is_stream(&response_body, row),
        response_body,
    }
}

/// Restores the framing of chunks that were recorded one per line.
fn framed(lines: &[u8], protocol: &str) -> Vec<u8> {
    if protocol.starts_with("ollama") {
        return lines.to_vec();
    }
    let text = String::from_utf8_lossy(lines);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| format!("data: {line}\n\n"))
        .collect::<String>()
        .into_bytes()
}

fn is_stream(response_body: &[u8], row: &RecordingRow) -> bool {
    let response_body = response_body.trim_ascii_start();
    let event = [&b"data:"[..], b"event:", b":", b"id:"]
        .iter()
        .any(|field| response_body.starts_with(field));
    let lines = row.protocol.starts_with("ollama") && row.has("stream");
    event || lines
}

impl Exchange {
    /// The protocol of this row. A few rows are filed under another dialect of
    /// the same vendor; the bytes decide.
    pub(crate) fn protocol(&self, filed: &str, codecs: &[(&str, Protocol)]) -> Option<Protocol> {
        let start =
            String::from_utf8_lossy(&self.response_body[..self.response_body.len().min(400)])
                .replace(char::is_whitespace, "");
        let responses =
            start.contains(r#""object":"response""#) || start.contains(r#""type":"response."#);
        let name = match filed {
            "openai-chat" if responses => "openai-responses",
            filed => filed,
        };
        codecs.iter().find(|(n, _)| *n == name).map(|(_, p)| *p)
    }
}

impl Exchange {
    /// Whether it is a token-counting request.
    pub(crate) fn counts_tokens(&self) -> bool {
        ["/count_tokens", "/input_tokens", ":countTokens"]
            .iter()
            .any(|end| self.path.ends_with(end))
    }

    /// The kind of API, if it is not a conversation: responses of some other
    /// APIs are filed here as well.
    pub(crate) fn other_api(&self) -> Option<&'static str> {
        if self.path.ends_with("/batches") {
            return Some("a batch");
        }
        if self.request.is_some() || self.streamed {
            return None;
        }
        let Ok(body) = serde_json::from_slice::<Value>(&self.response_body) else {
            return Some("spoken audio");
        };
        if body.get("pages").is_some() {
            return Some("a page scan");
        }
        let cached = body["name"].as_str().unwrap_or_default();
        if cached.starts_with("cachedContents/") {
            return Some("a cached prompt");
        }
        body["text"].is_string().then_some("a transcription")
    }

    /// Whether a success response is an error, or ends with one.
    pub(crate) fn reports_error(&self) -> bool {
        let text = String::from_utf8_lossy(&self.response_body);
        let whole = (!self.streamed).then_some(&*text);
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line));
        let bodies = whole.into_iter().chain(lines.filter(|_| self.streamed));
        bodies
            .filter_map(|body| serde_json::from_str::<Value>(body).ok())
            .any(|body| {
                let kind = body["type"].as_str().unwrap_or_default();
                matches!(kind, "error" | "response.failed")
                    || body["error"].is_object()
                    || body["error"].is_string()
            })
    }
}
