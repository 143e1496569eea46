"""Embeddings of OpenAI's and Ollama's dialects: vectors of the texts' lengths."""

import base64
import json
import struct


def vector(text: str) -> list[float]:
    return [float(len(text)), 0.5]


def respond(path: str, raw: bytes):
    """What was asked and the response, or None if this is no request for embeddings."""
    if path not in ("/chat/v1/embeddings", "/ollama/api/embed"):
        return None
    asked = json.loads(raw)
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    vectors = [vector(text) for text in texts]
    if path == "/ollama/api/embed":
        return asked, {"model": asked["model"], "embeddings": vectors, "prompt_eval_count": 3}
    if asked.get("encoding_format") == "base64":
        packed = [struct.pack(f"<{len(v)}f", *v) for v in vectors]
        vectors = [base64.b64encode(v).decode() for v in packed]
    data = [
        {"object": "embedding", "index": index, "embedding": found}
        for index, found in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return asked, {"object": "list", "model": asked["model"], "data": data, "usage": usage}
