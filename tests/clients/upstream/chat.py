"""OpenAI Chat Completions."""

import json

from script import INPUT_TOKENS, MODELS, OUTPUT_TOKENS, Answer, ParsedRequest, Refusal, events, WINDOW

STREAM_TYPE = "text/event-stream"
PIECES_BEFORE_BREAK = 3

USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def serves(path: str) -> bool:
    return path == "/v1/chat/completions"


def lookup(path: str, body: dict):
    if path == "/v1/models":
        listed = [{"id": id, "object": "model", "created": 1, "owned_by": "us"} for id in MODELS]
        return {"object": "list", "data": listed}
    return None


def model_of(path: str, body: dict) -> str:
    return body["model"]


def streams(path: str, body: dict) -> bool:
    return body.get("stream", False)


def parse(body: dict) -> ParsedRequest:
    parsed = ParsedRequest(tools=[tool["function"]["name"] for tool in body.get("tools", [])])
    functions = [tool["function"] for tool in body.get("tools", [])]
    parsed.parameters = {it["name"]: it.get("parameters") or {} for it in functions}
    match body.get("tool_choice"):
        case "required":
            parsed.demanded = "*"
        case {"function": {"name": name}}:
            parsed.demanded = name
    parsed.schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    for message in body["messages"]:
        content = message.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = " ".join(part["text"] for part in parts if part["type"] == "text")
        if message["role"] == "assistant":
            parsed.results.clear()
            parsed.said += texts + "\n"
        if message["role"] == "user":
            parsed.user += texts + "\n"
        if message["role"] == "tool":
            parsed.results.append(texts)
        for part in parts:
            if part["type"] == "image_url":
                parsed.data_url(part["image_url"]["url"])
    return parsed


def call_of(answer: Answer) -> dict:
    arguments = json.dumps(answer.call.arguments)
    function = {"name": answer.call.name, "arguments": arguments}
    return {"id": "call_1", "type": "function", "function": function}


def whole(answer: Answer, model: str) -> dict:
    message = {"role": "assistant", "content": answer.text or None}
    if answer.call:
        message["tool_calls"] = [call_of(answer)]
    finish = "tool_calls" if answer.call else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": USAGE,
    }


def stream(answer: Answer, model: str) -> list[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: dict, finish: str | None = None) -> dict:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": piece}) for piece in answer.pieces()]
    if answer.call:
        call = call_of(answer)
        arguments = call["function"].pop("arguments")
        begun = call["function"] | {"arguments": ""}
        chunks.append(chunk({"tool_calls": [call | {"index": 0, "function": begun}]}))
        for piece in (arguments[:5], arguments[5:]):
            chunks.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    chunks.append(chunk({}, "tool_calls" if answer.call else "stop"))
    chunks.append(head | {"choices": [], "usage": USAGE})
    return events([*chunks, "[DONE]"])


def refuse(refusal: Refusal) -> dict:
    text, code = refusal.text, None
    if refusal.too_long:
        code = "context_length_exceeded"
        text = f"This model's maximum context length is {WINDOW} tokens. Please reduce the length of the messages."
    kind = "invalid_request_error" if refusal.status == 400 else "server_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}
