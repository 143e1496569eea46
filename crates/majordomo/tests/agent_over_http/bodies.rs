//! What the servers say, in each dialect's own words: first two calls, then an
//! answer. Every turn tells 10 tokens of input for the calls and 20 for the
//! answer, and 6 and 3 of output.

use majordomo::Kind;
use majordomo_wire::Protocol;

/// One dialect's two answers, whole and streamed.
pub(crate) struct Dialect {
    pub(crate) kind: Kind,
    pub(crate) protocol: Protocol,
    pub(crate) content_type: &'static str,
    pub(crate) whole: [&'static str; 2],
    pub(crate) streamed: [&'static str; 2],
}

pub(crate) const ALL: &[Dialect] = &[CHAT, RESPONSES, MESSAGES, GEMINI, OLLAMA];

const CHAT: Dialect = Dialect {
    kind: Kind::OpenAi,
    protocol: Protocol::Chat,
    content_type: "text/event-stream",
    whole: [
        r#"{"id":"c1","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
            {"id":"call_a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},
            {"id":"call_b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}
        ]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":6}}"#,
        r#"{"id":"c2","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Sunny in both."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":3}}"#,
    ],
    streamed: [
        r#"data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":6}}

data: [DONE]

"#,
        r#"data: {"id":"c2","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Sunny in "}}]}

data: {"choices":[{"index":0,"delta":{"content":"both."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":3}}

data: [DONE]

"#,
    ],
};

const RESPONSES: Dialect = Dialect {
    kind: Kind::OpenAiResponses,
    protocol: Protocol::Responses,
    content_type: "text/event-stream",
    whole: [
        r#"{"id":"r1","object":"response","status":"completed","model":"m-1","output":[
            {"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Paris\"}","status":"completed"},
            {"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}
        ],"usage":{"input_tokens":10,"output_tokens":6,"total_tokens":16}}"#,
        r#"{"id":"r2","object":"response","status":"completed","model":"m-1","output":[
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Sunny in both.","annotations":[]}]}
        ],"usage":{"input_tokens":20,"output_tokens":3,"total_tokens":23}}"#,
    ],
    streamed: [
        r#"data: {"type":"response.created","response":{"id":"r1","model":"m-1"}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":""}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"city\":"}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"\"Paris\"}"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Paris\"}","status":"completed"}}

data: {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":""}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"{\"city\":\"Oslo\"}"}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}}

data: {"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Paris\"}"},{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":"{\"city\":\"Oslo\"}"}],"usage":{"input_tokens":10,"output_tokens":6,"total_tokens":16}}}

"#,
        r#"data: {"type":"response.created","response":{"id":"r2","model":"m-1"}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}

data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"Sunny in "}

data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"both."}

data: {"type":"response.completed","response":{"id":"r2","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Sunny in both."}]}],"usage":{"input_tokens":20,"output_tokens":3,"total_tokens":23}}}

"#,
    ],
};

const MESSAGES: Dialect = Dialect {
    kind: Kind::Anthropic,
    protocol: Protocol::Messages,
    content_type: "text/event-stream",
    whole: [
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[
            {"type":"tool_use","id":"toolu_a","name":"weather","input":{"city":"Paris"}},
            {"type":"tool_use","id":"toolu_b","name":"weather","input":{"city":"Oslo"}}
        ],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":6}}"#,
        r#"{"id":"msg_2","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"Sunny in both."}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":3}}"#,
    ],
    streamed: [
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_a","name":"weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_b","name":"weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":6}}

event: message_stop
data: {"type":"message_stop"}

"#,
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Sunny in both."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

"#,
    ],
};

const GEMINI: Dialect = Dialect {
    kind: Kind::Google,
    protocol: Protocol::Gemini,
    content_type: "text/event-stream",
    whole: [
        r#"{"candidates":[{"content":{"role":"model","parts":[
            {"functionCall":{"name":"weather","args":{"city":"Paris"}},"thoughtSignature":"c2lnbmVk"},
            {"functionCall":{"name":"weather","args":{"city":"Oslo"}}}
        ]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":6},"modelVersion":"m-1"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Sunny in both."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":3},"modelVersion":"m-1"}"#,
    ],
    streamed: [
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Paris"}},"thoughtSignature":"c2lnbmVk"}]}}],"modelVersion":"m-1"}

data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":6}}

"#,
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Sunny in "}]}}],"modelVersion":"m-1"}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"both."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":3}}

"#,
    ],
};

const OLLAMA: Dialect = Dialect {
    kind: Kind::OllamaCloud,
    protocol: Protocol::Ollama,
    content_type: "application/x-ndjson",
    whole: [
        r#"{"model":"m-1","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[
            {"function":{"name":"weather","arguments":{"city":"Paris"}}},
            {"function":{"name":"weather","arguments":{"city":"Oslo"}}}
        ]},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":6}"#,
        r#"{"model":"m-1","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"Sunny in both."},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":3}"#,
    ],
    streamed: [
        r#"{"model":"m-1","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Paris"}}}]},"done":false}
{"model":"m-1","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":false}
{"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":6}
"#,
        r#"{"model":"m-1","message":{"role":"assistant","content":"Sunny in "},"done":false}
{"model":"m-1","message":{"role":"assistant","content":"both."},"done":false}
{"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":3}
"#,
    ],
};
