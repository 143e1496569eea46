"""OpenAI Responses."""

import json

from script import INPUT_TOKENS, OUTPUT_TOKENS, Answer, ParsedRequest, Refusal, events
from chat import lookup, model_of, refuse, streams  # noqa: F401  the same vendor

STREAM_TYPE = "text/event-stream"
PIECES_BEFORE_BREAK = 6

USAGE = {
    "input_tokens": INPUT_TOKENS,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": OUTPUT_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def serves(path: str) -> bool:
    # The second one is the backend of ChatGPT's subscriptions.
    return path in ("/v1/responses", "/backend-api/codex/responses")


def parse(body: dict) -> ParsedRequest:
    parsed = ParsedRequest()
    declare(parsed, body.get("tools", []), None)
    match body.get("tool_choice"):
        case "required":
            parsed.demanded = "*"
        case {"type": "function", "name": name}:
            parsed.demanded = name
    parsed.schema = ((body.get("text") or {}).get("format") or {}).get("schema")
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items:
        kind = item.get("type", "message")
        if kind == "additional_tools":
            declare(parsed, item["tools"], None)
        if kind in ("function_call", "custom_tool_call") or item.get("role") == "assistant":
            parsed.results.clear()
        if kind == "message" and item["role"] == "assistant":
            said = item["content"]
            parts = said if isinstance(said, list) else [{"text": said}]
            parsed.said += " ".join(part.get("text", "") for part in parts) + "\n"
        if kind in ("function_call_output", "custom_tool_call_output"):
            parsed.results.append(read_content(parsed, item["output"]))
        if kind == "message" and item["role"] == "user":
            parsed.user += read_content(parsed, item["content"]) + "\n"
    return parsed


def declare(parsed: ParsedRequest, tools: list[dict], namespace: str | None):
    for tool in tools:
        if tool["type"] == "namespace":
            declare(parsed, tool["tools"], tool["name"])
        elif tool["type"] == "custom":
            parsed.custom[tool["name"]] = namespace
        elif tool["type"] == "function" and namespace is None:
            parsed.tools.append(tool["name"])
            parsed.parameters[tool["name"]] = tool.get("parameters") or {}


def read_content(parsed: ParsedRequest, content) -> str:
    if isinstance(content, str):
        return content
    for part in content:
        if part["type"] == "input_image":
            parsed.data_url(part["image_url"])
    return " ".join(part["text"] for part in content if part["type"] == "input_text")


def frame(answer: Answer, model: str, status: str, output: list, usage: dict | None) -> dict:
    return {
        "text": answer.asked.get("text") or {"format": {"type": "text"}},
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def item_of(answer: Answer) -> dict:
    if answer.call and answer.call.custom:
        within = {"namespace": answer.call.namespace} if answer.call.namespace else {}
        return within | {
            "id": "ctc_1",
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": "call_1",
            "name": answer.call.name,
            "input": answer.call.arguments["input"],
        }
    if answer.call:
        return {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_1",
            "name": answer.call.name,
            "arguments": json.dumps(answer.call.arguments),
        }
    return {
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [text_part(answer.text)],
    }


def text_part(text: str) -> dict:
    return {"type": "output_text", "text": text, "annotations": []}


def whole(answer: Answer, model: str) -> dict:
    return frame(answer, model, "completed", [item_of(answer)], USAGE)


def stream(answer: Answer, model: str) -> list[bytes]:
    begun = frame(answer, model, "in_progress", [], None)
    item = item_of(answer)
    text_field = "input" if answer.call and answer.call.custom else "arguments"
    empty = {text_field: ""} if answer.call else {"content": []}
    frames = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"item": item | empty | {"status": "in_progress"}}),
    ]
    if answer.call:
        where, text = {"item_id": item["id"]}, item[text_field]
        name = f"response.{'custom_tool_call_input' if answer.call.custom else 'function_call_arguments'}"
        frames += [(f"{name}.delta", where | {"delta": piece}) for piece in (text[:5], text[5:])]
        frames.append((f"{name}.done", where | {text_field: text}))
    else:
        where = {"item_id": "msg_1", "content_index": 0}
        name = "response.output_text"
        frames.append(("response.content_part.added", where | {"part": text_part("")}))
        frames += [(f"{name}.delta", where | {"delta": piece}) for piece in answer.pieces()]
        frames.append((f"{name}.done", where | {"text": answer.text}))
        frames.append(("response.content_part.done", where | {"part": text_part(answer.text)}))
    frames.append(("response.output_item.done", {"item": item}))
    frames.append(("response.completed", {"response": whole(answer, model)}))
    return events(
        (name, {"type": name, "sequence_number": number, "output_index": 0} | value)
        for number, (name, value) in enumerate(frames)
    )
