//! The servers' responses in each dialect: first two calls, then text. Usage is 10 input and 6
//! output tokens for the calls, 20 and 3 for the text.

use majordomo::providers::ProviderKind;
use majordomo_wire::Protocol;
use serde_json::Value;

/// The two responses of one dialect, whole and streamed.
pub(crate) struct Dialect {
    pub(crate) kind: ProviderKind,
    pub(crate) protocol: Protocol,
    pub(crate) content_type: &'static str,
    pub(crate) whole: [&'static str; 2],
    /// The events of each stream, without framing.
    streamed: [&'static [&'static str]; 2],
}

impl Dialect {
    /// A turn's stream in the dialect's framing.
    pub(crate) fn stream(&self, turn: usize) -> String {
        let events = self.streamed[turn].iter();
        let framed = events.map(|event| match self.protocol {
            Protocol::Ollama => format!("{event}\n"),
            Protocol::Messages => {
                let parsed: Value = serde_json::from_str(event).expect("an event is JSON");
                let name = parsed["type"].as_str().expect("an event has a type");
                format!("event: {name}\ndata: {event}\n\n")
            }
            _ => format!("data: {event}\n\n"),
        });
        let end = match self.protocol {
            Protocol::Chat => "data: [DONE]\n\n",
            _ => "",
        };
        framed.collect::<String>() + end
    }
}

pub(crate) const ALL: &[Dialect] = &[CHAT, RESPONSES, MESSAGES, GEMINI, OLLAMA];

const CHAT: Dialect = Dialect {
    kind: ProviderKind::OpenAi,
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
        &[
            r#"{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":6}}"#,
        ],
        &[
            r#"{"id":"c2","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Sunny in "}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"both."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":3}}"#,
        ],
    ],
};

const RESPONSES: Dialect = Dialect {
    kind: ProviderKind::OpenAiResponses,
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
        &[
            r#"{"type":"response.created","response":{"id":"r1","model":"m-1"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"city\":"}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"\"Paris\"}"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Paris\"}","status":"completed"}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"{\"city\":\"Oslo\"}"}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}}"#,
            r#"{"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Paris\"}"},{"type":"function_call","id":"fc_2","call_id":"call_b","name":"weather","arguments":"{\"city\":\"Oslo\"}"}],"usage":{"input_tokens":10,"output_tokens":6,"total_tokens":16}}}"#,
        ],
        &[
            r#"{"type":"response.created","response":{"id":"r2","model":"m-1"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"Sunny in "}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"both."}"#,
            r#"{"type":"response.completed","response":{"id":"r2","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Sunny in both."}]}],"usage":{"input_tokens":20,"output_tokens":3,"total_tokens":23}}}"#,
        ],
    ],
};

const MESSAGES: Dialect = Dialect {
    kind: ProviderKind::Anthropic,
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
        &[
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_a","name":"weather","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_b","name":"weather","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":6}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        &[
            r#"{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":20,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Sunny in both."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ],
};

const GEMINI: Dialect = Dialect {
    kind: ProviderKind::Google,
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
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Paris"}},"thoughtSignature":"c2lnbmVk"}]}}],"modelVersion":"m-1"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":6}}"#,
        ],
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Sunny in "}]}}],"modelVersion":"m-1"}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"both."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":3}}"#,
        ],
    ],
};

const OLLAMA: Dialect = Dialect {
    kind: ProviderKind::OllamaCloud,
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
        &[
            r#"{"model":"m-1","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Paris"}}}]},"done":false}"#,
            r#"{"model":"m-1","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":false}"#,
            r#"{"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":6}"#,
        ],
        &[
            r#"{"model":"m-1","message":{"role":"assistant","content":"Sunny in "},"done":false}"#,
            r#"{"model":"m-1","message":{"role":"assistant","content":"both."},"done":false}"#,
            r#"{"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":3}"#,
        ],
    ],
};
