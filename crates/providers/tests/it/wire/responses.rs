//! One response per dialect, buffered and streamed: reasoning, text, a tool call
//! and usage.

/// The content type and body of a provider's response.
pub(crate) fn of(provider: &str, stream: bool) -> (&'static str, String) {
    let (whole, events, end) = match provider {
        "anthropic" => (MESSAGES, MESSAGES_STREAM, "\n\n"),
        "google" => (GEMINI, GEMINI_STREAM, "\r\n\r\n"),
        "openai-responses" => (RESPONSES, RESPONSES_STREAM, "\n\n"),
        "ollama" | "ollama-cloud" => (OLLAMA, OLLAMA_STREAM, "\n"),
        // A foreman never streams: it sends one object.
        "foreman" => return ("application/json", OLLAMA.to_owned()),
        _ => (CHAT, CHAT_STREAM, "\n\n"),
    };
    if !stream {
        return ("application/json", whole.to_owned());
    }
    let content_type = match end {
        "\n" => "application/x-ndjson",
        _ => "text/event-stream",
    };
    let body = events.iter().map(|event| format!("{event}{end}"));
    (content_type, body.collect())
}

const CHAT: &str = r#"{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"hello","tool_calls":[{"id":"call_7","type":"function","function":{"name":"look","arguments":"{\"at\":\"sky\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":30,"completion_tokens":9,"total_tokens":39,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":4}}}"#;

const CHAT_STREAM: &[&str] = &[
    r#"data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_7","type":"function","function":{"name":"look","arguments":"{\"at\":"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"sky\"}"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"data: {"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
    r#"data: [DONE]"#,
];

const RESPONSES: &str = r#"{"id":"r1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e30="},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"call_7","name":"look","arguments":"{\"at\":\"sky\"}","status":"completed"}],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":39}}"#;

const RESPONSES_STREAM: &[&str] = &[
    r#"data: {"type":"response.created","response":{"id":"r1","model":"m"}}"#,
    r#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
    r#"data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"hello"}"#,
    r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}}"#,
    r#"data: {"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":30,"output_tokens":9,"total_tokens":39}}}"#,
];

const MESSAGES: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"hello"},{"type":"tool_use","id":"toolu_7","name":"look","input":{"at":"sky"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"cache_read_input_tokens":20,"output_tokens":9}}"#;

const MESSAGES_STREAM: &[&str] = &[
    r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    r#"data: {"type":"content_block_stop","index":0}"#,
    r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_7","name":"look","input":{}}}"#,
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":\"sky\"}"}}"#,
    r#"data: {"type":"content_block_stop","index":1}"#,
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
    r#"data: {"type":"message_stop"}"#,
];

const GEMINI: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"hello"},{"functionCall":{"name":"look","args":{"at":"sky"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":20,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":39},"modelVersion":"m"}"#;

const GEMINI_STREAM: &[&str] = &[
    r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]}}],"modelVersion":"m"}"#,
    r#"data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{"at":"sky"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":9}}"#,
];

const OLLAMA: &str = r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","thinking":"hm","content":"hello","tool_calls":[{"function":{"name":"look","arguments":{"at":"sky"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":9}"#;

const OLLAMA_STREAM: &[&str] = &[
    r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
    r#"{"model":"m","message":{"role":"assistant","content":"hello"},"done":false}"#,
    r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":{"at":"sky"}}}]},"done":false}"#,
    r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":9}"#,
];
