"""Gemini."""

import json
import re

from script import INPUT_TOKENS, MODELS, OUTPUT_TOKENS, Answer, ParsedRequest, Refusal, events, WINDOW

STREAM_TYPE = "text/event-stream"
PIECES_BEFORE_BREAK = 2

USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}
STANDARD = str.maketrans("-_", "+/")
STATUSES = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED"}


def serves(path: str) -> bool:
    return re.fullmatch(r"/v1beta/models/[^:]+:(g|streamG)enerateContent", path) is not None


def lookup(path: str, body: dict):
    if path == "/v1beta/models":
        methods = ["generateContent", "countTokens"]
        listed = [{"name": f"models/{id}", "supportedGenerationMethods": methods} for id in MODELS]
        return {"models": listed}
    if path.endswith(":countTokens"):
        return {"totalTokens": INPUT_TOKENS}
    return None


def model_of(path: str, body: dict) -> str:
    return re.search(r"/models/([^:]+):", path)[1]


def streams(path: str, body: dict) -> bool:
    return path.endswith(":streamGenerateContent")


def parse(body: dict) -> ParsedRequest:
    parsed = ParsedRequest()
    for tool in body.get("tools", []):
        for function in tool.get("functionDeclarations", []):
            parsed.tools.append(function["name"])
            schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
            parsed.parameters[function["name"]] = schema
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if calling.get("mode") == "ANY":
        allowed = calling.get("allowedFunctionNames") or ["*"]
        parsed.demanded = allowed[0]
    settings = body.get("generationConfig", {})
    parsed.schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    for content in body["contents"]:
        if content.get("role") == "model":
            parsed.results.clear()
            parsed.said += " ".join(part.get("text", "") for part in content["parts"]) + "\n"
            continue
        for part in content["parts"]:
            parsed.user += part.get("text", "") + "\n"
            if result := part.get("functionResponse"):
                parsed.results.append(words(result["response"]))
                images(parsed, result.get("parts", []))
        images(parsed, content["parts"])
    return parsed


def words(response: dict) -> str:
    """A function's result: the only value, or all of them."""
    [value] = response.values() if len(response) == 1 else [response]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def images(parsed: ParsedRequest, parts: list[dict]):
    for part in parts:
        if inline := part.get("inlineData"):
            # Google's clients use both spellings of field names and both base64 alphabets.
            kind = inline.get("mimeType") or inline["mime_type"]
            parsed.image(kind, inline["data"].translate(STANDARD))


def chunk(model: str, parts: list[dict], last: bool) -> dict:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    if last:
        candidate["finishReason"] = "STOP"
    return {
        "responseId": "answer-1",
        "modelVersion": model,
        "candidates": [candidate],
        "usageMetadata": USAGE,
    }


def parts_of(answer: Answer) -> list[dict]:
    if answer.call:
        call = {"name": answer.call.name, "args": answer.call.arguments}
        return [{"functionCall": call}]
    return [{"text": answer.text}]


def whole(answer: Answer, model: str) -> dict:
    return chunk(model, parts_of(answer), True)


def stream(answer: Answer, model: str) -> list[bytes]:
    if answer.call:
        return events([whole(answer, model)])
    *pieces, last = answer.pieces()
    frames = [chunk(model, [{"text": piece}], False) for piece in pieces]
    return events([*frames, chunk(model, [{"text": last}], True)])


def refuse(refusal: Refusal) -> dict:
    status = STATUSES.get(refusal.status, "INTERNAL")
    text = refusal.text
    if refusal.too_long:
        text = f"The input token count ({WINDOW + 5}) exceeds the maximum number of tokens allowed ({WINDOW})."
    return {"error": {"code": refusal.status, "message": text, "status": status}}
