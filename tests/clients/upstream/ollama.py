"""Ollama's own API."""

import json

from script import INPUT_TOKENS, MODELS, OUTPUT_TOKENS, Answer, ParsedRequest, Refusal
from chat import model_of  # noqa: F401  the same field

STREAM_TYPE = "application/x-ndjson"
PIECES_BEFORE_BREAK = 2

MADE = "2026-01-01T00:00:00Z"
# Ollama sends no media type: the format is sniffed from the leading bytes.
MAGIC = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg"}


def serves(path: str) -> bool:
    return path == "/api/chat"


def lookup(path: str, body: dict):
    if path == "/api/tags":
        return {"models": [{"name": id, "model": id, "modified_at": MADE} for id in MODELS]}
    if path == "/api/ps":
        return {"models": []}
    if path == "/api/version":
        return {"version": "0.34.4"}
    if path == "/api/show":
        return {
            "details": {"family": "scripted", "families": ["scripted"]},
            "model_info": {
                "general.architecture": "scripted",
                "scripted.context_length": 262144,
            },
            "capabilities": ["completion", "tools", "vision"],
        }
    return None


def streams(path: str, body: dict) -> bool:
    return body.get("stream", True)


def parse(body: dict) -> ParsedRequest:
    parsed = ParsedRequest(tools=[tool["function"]["name"] for tool in body.get("tools") or []])
    functions = [tool["function"] for tool in body.get("tools") or []]
    parsed.parameters = {it["name"]: it.get("parameters") or {} for it in functions}
    parsed.schema = body["format"] if isinstance(body.get("format"), dict) else None
    for message in body["messages"]:
        if message["role"] == "assistant":
            parsed.results.clear()
            parsed.said += message.get("content", "") + "\n"
        if message["role"] == "user":
            parsed.user += message["content"] + "\n"
        if message["role"] == "tool":
            parsed.results.append(message["content"])
        for data in message.get("images") or []:
            kinds = [kind for magic, kind in MAGIC.items() if data.startswith(magic)]
            parsed.image(kinds[0] if kinds else "unknown", data)
    return parsed


def message_of(answer: Answer) -> dict:
    message = {"role": "assistant", "content": answer.text}
    if answer.call:
        function = {"name": answer.call.name, "arguments": answer.call.arguments}
        message["tool_calls"] = [{"function": function}]
    return message


def line(model: str, message: dict, done: bool) -> dict:
    value = {"model": model, "created_at": MADE, "message": message, "done": done}
    if done:
        value |= {
            "done_reason": "stop",
            "total_duration": 1,
            "prompt_eval_count": INPUT_TOKENS,
            "eval_count": OUTPUT_TOKENS,
        }
    return value


def whole(answer: Answer, model: str) -> dict:
    return line(model, message_of(answer), True)


def stream(answer: Answer, model: str) -> list[bytes]:
    frames = [message_of(Answer(text=piece)) for piece in answer.pieces()]
    if answer.call:
        frames.append(message_of(answer))
    lines = [line(model, message, False) for message in frames]
    lines.append(line(model, message_of(Answer()), True))
    return [json.dumps(value).encode() + b"\n" for value in lines]


def refuse(refusal: Refusal) -> dict:
    if refusal.too_long:
        return {"error": "prompt too long; exceeded max context length by 5 tokens"}
    return {"error": refusal.text}
