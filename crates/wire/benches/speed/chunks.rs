//! Text streams as vendors send them, with all surrounding fields.

use bytes::Bytes;
use majordomo_wire::Protocol;

/// Text chunks per stream.
pub(crate) const CHUNKS: usize = 200;

/// Returns a stream's preamble and its text chunks.
pub(crate) fn of(protocol: Protocol) -> (Option<Bytes>, Vec<Bytes>) {
    let first = match protocol {
        Protocol::Chat | Protocol::Gemini | Protocol::Ollama => None,
        Protocol::Responses => Some(RESPONSES_START),
        Protocol::Messages => Some(MESSAGES_START),
    };
    let chunk = match protocol {
        Protocol::Chat => CHAT,
        Protocol::Responses => RESPONSES,
        Protocol::Messages => MESSAGES,
        Protocol::Gemini => GEMINI,
        Protocol::Ollama => OLLAMA,
    };
    let chunks = (0..CHUNKS).map(|n| Bytes::from(chunk.replace("WORD", &format!(" word{n}"))));
    (first.map(Bytes::from), chunks.collect())
}

const CHAT: &str = concat!(
    r#"data: {"id":"chatcmpl-DXowQ5ZdAViQzqbpNi2tFI5zzMTtn","object":"chat.completion.chunk","created":1776953014,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_f9565ce549","choices":[{"index":0,"delta":{"content":"WORD"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"53h16EDe"}"#,
    "\n\n"
);

const RESPONSES_START: &str = concat!(
    "event: response.created\n",
    r#"data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1776953014,"status":"in_progress","model":"gpt-6","output":[]}}"#,
    "\n\nevent: response.output_item.added\n",
    r#"data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#,
    "\n\nevent: response.content_part.added\n",
    r#"data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}"#,
    "\n\n"
);

const RESPONSES: &str = concat!(
    "event: response.output_text.delta\n",
    r#"data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"WORD","logprobs":[],"obfuscation":"53h16EDe"}"#,
    "\n\n"
);

const MESSAGES_START: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    "\n\n"
);

const MESSAGES: &str = concat!(
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"WORD"} }"#,
    "\n\n"
);

const GEMINI: &str = concat!(
    r#"data: {"candidates": [{"content": {"parts": [{"text": "WORD"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 8,"candidatesTokenCount": 12,"totalTokenCount": 84,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 8}],"thoughtsTokenCount": 64},"modelVersion": "gemini-3-pro","responseId": "q5Z2aPbSGtuLxN8P"}"#,
    "\r\n\r\n"
);

const OLLAMA: &str = concat!(
    r#"{"model":"qwen3:30b","created_at":"2026-11-15T12:00:00.123456789Z","message":{"role":"assistant","content":"WORD"},"done":false}"#,
    "\n"
);
