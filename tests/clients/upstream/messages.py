"""Anthropic Messages."""

import json

from script import (
    INPUT_TOKENS,
    MODELS,
    OUTPUT_TOKENS,
    WINDOW,
    Answer,
    ParsedRequest,
    Refusal,
    events,
)
from chat import model_of, streams  # noqa: F401  the same fields

STREAM_TYPE = "text/event-stream"
PIECES_BEFORE_BREAK = 4

KINDS = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}


def serves(path: str) -> bool:
    return path == "/v1/messages"


def lookup(path: str, body: dict):
    if path == "/v1/models":
        made = {"type": "model", "created_at": "2026-01-01T00:00:00Z"}
        listed = [made | {"id": id, "display_name": id} for id in MODELS]
        ends = {"first_id": MODELS[0], "last_id": MODELS[-1]}
        return {"data": listed, "has_more": False} | ends
    if path == "/v1/messages/count_tokens":
        return {"input_tokens": INPUT_TOKENS}
    return None


def parse(body: dict) -> ParsedRequest:
    parsed = ParsedRequest(tools=[tool["name"] for tool in body.get("tools", [])])
    parsed.parameters = {it["name"]: it.get("input_schema") or {} for it in body.get("tools", [])}
    match body.get("tool_choice"):
        case {"type": "any"}:
            parsed.demanded = "*"
        case {"type": "tool", "name": name}:
            parsed.demanded = name
    parsed.schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            parsed.results.clear()
            parsed.said += read_content(parsed, blocks) + "\n"
            continue
        parsed.user += read_content(parsed, blocks) + "\n"
        for block in blocks:
            if block["type"] == "tool_result":
                inner = block.get("content") or ""
                result_text = inner if isinstance(inner, str) else read_content(parsed, inner)
                parsed.results.append(result_text)
    return parsed


def read_content(parsed: ParsedRequest, blocks: list[dict]) -> str:
    for block in blocks:
        if block["type"] == "image":
            parsed.image(block["source"]["media_type"], block["source"]["data"])
    return " ".join(block["text"] for block in blocks if block["type"] == "text")


def frame(model: str, content: list, stop: str | None, output: int) -> dict:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": output},
    }


def block_of(answer: Answer) -> dict:
    if answer.call:
        call = answer.call
        return {"type": "tool_use", "id": "toolu_1", "name": call.name, "input": call.arguments}
    return {"type": "text", "text": answer.text}


def stop_of(answer: Answer) -> str:
    return "tool_use" if answer.call else "end_turn"


def whole(answer: Answer, model: str) -> dict:
    return frame(model, [block_of(answer)], stop_of(answer), OUTPUT_TOKENS)


def stream(answer: Answer, model: str) -> list[bytes]:
    if answer.call:
        text = json.dumps(answer.call.arguments)
        begun = block_of(answer) | {"input": {}}
        pieces = (text[:5], text[5:])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    else:
        begun = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in answer.pieces()]
    stop = {"stop_reason": stop_of(answer), "stop_sequence": None}
    frames = [
        {"type": "message_start", "message": frame(model, [], None, 1)},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT_TOKENS}},
        {"type": "message_stop"},
    ]
    return events((event["type"], event) for event in frames)


def refuse(refusal: Refusal) -> dict:
    kind = KINDS.get(refusal.status, "api_error")
    text = refusal.text
    if refusal.too_long:
        text = f"prompt is too long: {WINDOW + 5} tokens > {WINDOW} maximum"
    return {"type": "error", "error": {"type": kind, "message": text}}
