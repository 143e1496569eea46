//! One request, response and stream per dialect, with as many fields as it has.

use majordomo_wire::Protocol;
use serde_json::{Value, json};

/// Requests, each with the keys that its values cannot do without: what tells
/// their kind, and their content.
pub(crate) fn requests() -> Vec<(Protocol, Value)> {
    vec![
        (Protocol::Chat, chat_request()),
        (Protocol::Responses, responses_request()),
        (Protocol::Messages, messages_request()),
        (Protocol::Gemini, gemini_request()),
        (Protocol::Ollama, ollama_request()),
    ]
}

fn chat_request() -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "be terse", "name": "s"},
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}]},
            {"role": "assistant", "content": "", "refusal": "no", "reasoning_content": "hm",
             "annotations": [{"a": 1}], "audio": {"id": "a"},
             "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "user", "content": "go on"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d",
                   "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}, "strict": true}}],
        "tool_choice": "required", "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": true}},
        "reasoning_effort": "low", "max_completion_tokens": 5, "temperature": 0.5, "top_p": 0.5, "seed": 1,
        "presence_penalty": 0.1, "frequency_penalty": 0.1, "stop": ["x"], "user": "u",
        "metadata": {"a": "b"}, "logit_bias": {"1": 2}, "prompt_cache_key": "k", "service_tier": "auto",
        "modalities": ["text"], "logprobs": true, "n": 1
    })
}

fn responses_request() -> Value {
    json!({
        "model": "m", "stream": true, "instructions": "be terse",
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "https://x.example/a.png", "detail": "low", "file_id": "f"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
             "content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": "e", "status": "completed"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
             "content": [{"type": "output_text", "text": "well", "annotations": [{"a": 1}], "logprobs": [{"a": 1}]}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}",
             "status": "completed", "namespace": "n", "caller": {"type": "direct"}},
            {"type": "function_call_output", "call_id": "c1", "output": "done", "status": "completed"},
            {"role": "user", "content": "go on"}],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}],
        "tool_choice": "required", "parallel_tool_calls": false,
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"}, "max_output_tokens": 5, "temperature": 0.5, "top_p": 0.5,
        "store": false, "include": ["x"], "metadata": {"a": "b"}, "prompt_cache_key": "k", "safety_identifier": "u",
        "user": "v", "truncation": "auto", "service_tier": "auto"
    })
}

fn messages_request() -> Value {
    json!({
        "model": "m", "max_tokens": 5, "stream": true,
        "system": [{"type": "text", "text": "be terse", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}, "citations": [{"a": 1}]},
                {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}, "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "done", "is_error": true}]},
            {"role": "user", "content": "go on"}],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": true, "type": "custom"}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "stop_sequences": ["x"], "metadata": {"user_id": "u"}, "service_tier": "auto", "temperature": 0.5,
        "top_p": 0.5, "top_k": 3, "container": "c"
    })
}

fn gemini_request() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "be terse"}], "role": "system"},
        "contents": [
            {"role": "user", "parts": [
                {"text": "look"},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://x.example/a.png"}}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "done"}}}]},
            {"role": "model", "parts": [{"text": "well"}]},
            {"role": "user", "parts": [{"text": "go on"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 5, "stopSequences": ["x"], "temperature": 0.5, "topP": 0.5, "topK": 3,
            "seed": 1, "presencePenalty": 0.1, "frequencyPenalty": 0.1, "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"}, "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "LOW"}},
        "safetySettings": [{"category": "c", "threshold": "OFF"}], "cachedContent": "cachedContents/x", "labels": {"a": "b"}
    })
}

fn ollama_request() -> Value {
    json!({
        "model": "m", "stream": true,
        "messages": [
            {"role": "system", "content": "be terse"},
            {"role": "user", "content": "look", "images": ["iVBORw0KGgo="]},
            {"role": "assistant", "content": "", "thinking": "hm",
             "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "content": "done", "tool_name": "f", "tool_call_id": "c1"},
            {"role": "user", "content": "go on"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        "format": {"type": "object"}, "think": "low", "keep_alive": "5m",
        "options": {"num_ctx": 4096, "num_predict": 5, "temperature": 0.5, "top_p": 0.5, "top_k": 3, "seed": 1,
                    "stop": ["x"], "repeat_penalty": 1.1},
        "truncate": true, "logprobs": false
    })
}

/// Whole responses.
pub(crate) fn responses() -> Vec<(Protocol, Value)> {
    vec![
        (
            Protocol::Chat,
            json!({
            "id": "r", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "f", "service_tier": "auto",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": {"content": [{"a": 1}]},
                "message": {"role": "assistant", "content": "well", "refusal": "no", "reasoning_content": "hm",
                    "annotations": [{"a": 1}],
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 1}}}),
        ),
        (
            Protocol::Responses,
            json!({
            "id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "error": null,
            "incomplete_details": null, "metadata": {"a": "b"}, "tools": [{"a": 1}], "text": {"format": {"type": "text"}},
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "e"},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": "well", "annotations": [{"a": 1}], "logprobs": [{"a": 1}]}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}", "status": "completed"}],
            "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 14}}),
        ),
        (
            Protocol::Messages,
            json!({
            "id": "r", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "well", "citations": [{"a": 1}]},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}}],
            "stop_reason": "tool_use", "stop_sequence": "x", "container": {"id": "c"},
            "usage": {"input_tokens": 9, "output_tokens": 5, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 1,
                "cache_creation": {"ephemeral_5m_input_tokens": 1}, "service_tier": "standard"}}),
        ),
        (
            Protocol::Gemini,
            json!({
            "candidates": [{"index": 0, "finishReason": "STOP", "safetyRatings": [{"a": 1}], "citationMetadata": {"a": 1},
                "content": {"role": "model", "parts": [
                    {"text": "hm", "thought": true}, {"text": "well"},
                    {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}]}}],
            "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 1, "candidatesTokenCount": 5,
                "thoughtsTokenCount": 1, "totalTokenCount": 15, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}]},
            "modelVersion": "m", "responseId": "r"}),
        ),
        (
            Protocol::Ollama,
            json!({
            "model": "m", "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "well", "thinking": "hm", "images": ["iVBORw0KGgo="],
                "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}]},
            "done": true, "done_reason": "stop", "total_duration": 1, "prompt_eval_count": 9, "eval_count": 5}),
        ),
    ]
}

/// Streams, as arrays of chunks.
pub(crate) fn streams() -> Vec<(Protocol, Value)> {
    vec![
        (
            Protocol::Chat,
            json!([
            {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": null, "choices": [
                {"index": 0, "delta": {"role": "assistant", "content": "", "refusal": null}, "logprobs": null, "finish_reason": null}]},
            {"id": "r", "choices": [{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": null}]},
            {"id": "r", "choices": [{"index": 0, "delta": {"content": "well"}, "finish_reason": null}]},
            {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}, "finish_reason": null}]},
            {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "function": {"arguments": "{\"a\":1}"}}]}, "finish_reason": null}]},
            {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"id": "r", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}}]),
        ),
        (
            Protocol::Responses,
            json!([
            {"type": "response.created", "sequence_number": 0, "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": []}},
            {"type": "response.content_part.added", "output_index": 0, "item_id": "msg_1", "content_index": 0, "part": {"type": "output_text", "text": ""}},
            {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "well", "logprobs": []},
            {"type": "response.output_text.done", "output_index": 0, "item_id": "msg_1", "content_index": 0, "text": "well"},
            {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "id": "msg_1", "role": "assistant",
                "status": "completed", "content": [{"type": "output_text", "text": "well", "annotations": []}]}},
            {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": "{\"a\":1}"},
            {"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1",
                "name": "f", "arguments": "{\"a\":1}", "status": "completed"}},
            {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "error": null,
                "incomplete_details": null, "output": [], "usage": {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}}}]),
        ),
        (
            Protocol::Messages,
            json!([
            {"type": "message_start", "message": {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": null}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "well"}},
            {"type": "content_block_stop", "index": 1},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c1", "name": "f", "input": {}}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}},
            {"type": "content_block_stop", "index": 2},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"}]),
        ),
        (
            Protocol::Gemini,
            json!([
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "hm", "thought": true}]}}],
                "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "modelVersion": "m", "responseId": "r"},
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "well"}]}, "safetyRatings": []}]},
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": [
                {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}]}}]},
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}}]),
        ),
        (
            Protocol::Ollama,
            json!([
            {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": false},
            {"model": "m", "message": {"role": "assistant", "content": "well", "images": null, "tool_calls": null}, "done": false},
            {"model": "m", "message": {"role": "assistant", "content": "",
                "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}]}, "done": false},
            {"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
                "prompt_eval_count": 9, "eval_count": 5}]),
        ),
    ]
}
