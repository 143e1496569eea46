"""The request bodies of the workloads: what clients send."""
import base64
import json
import os
import random
import struct
import zlib
from pathlib import Path

# A model that takes no adaptive thinking, so that the settings of an agent are edited for it.
EDITED_MODEL = "claude-sonnet-4-5"


def picture(side=500):
    """A PNG of noise; by default 750 kB, which is 1 MB as base64."""
    rows = b"".join(b"\0" + os.urandom(side * 3) for _ in range(side))

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def chat(model, stream=False, image=None):
    """Chat Completions: one line, and possibly an image."""
    content = "What is the answer to the great question?"
    if image:
        url = "data:image/png;base64," + base64.b64encode(image).decode()
        content = [
            {"type": "text", "text": content},
            {"type": "image_url", "image_url": {"url": url}},
        ]
    request = {"model": model, "messages": [{"role": "user", "content": content}]}
    if stream:
        request["stream"] = True
        request["stream_options"] = {"include_usage": True}
    return encode(request)


def agent(model, turns=0):
    """Messages: a coding agent's request with 24 tools, after this many turns of 5 KB."""
    request = recorded_agent() or generated_agent()
    request["model"] = model
    request["stream"] = False
    # Settings that a target with another way of thinking gets differently.
    request.pop("thinking", None)
    request["output_config"] = {"effort": "high"}
    chance = random.Random(2)
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{turn:024}", "name": "Read"}
        call["input"] = {"file_path": f"/home/user/project/src/module_{turn}.rs", "limit": 200}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": prose(chance, 5_000)}
        said = {"type": "text", "text": "I will read the next file."}
        request["messages"].append({"role": "assistant", "content": [said, call]})
        request["messages"].append({"role": "user", "content": [result]})
    return encode(request)


def recorded_agent():
    """A recorded request of Claude Code, if the recordings are there."""
    folder = os.environ.get("MAJORDOMO_CLIENT_REQUESTS")
    files = sorted(Path(folder).glob("claude-code/005-*.json")) if folder else []
    return json.loads(files[0].read_text())["body"] if files else None


def generated_agent():
    """A request of the same form and size."""
    chance = random.Random(1)
    tools = []
    for number in range(24):
        names = [f"{word}_{number}" for word in ("path", "limit", "pattern", "mode", "note")]
        properties = {name: {"type": "string", "description": prose(chance, 80)} for name in names}
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}
        schema |= {"properties": properties, "required": names[:2], "additionalProperties": False}
        # One tool of an agent is usually described at much greater length than the others.
        size = 18_000 if number == 22 else 1_180
        tool = {"name": f"Tool{number}", "description": prose(chance, size), "input_schema": schema}
        tools.append(tool)
    cached = {"type": "ephemeral"}
    return {
        "model": "",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": prose(chance, 400)}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "Tool1", "input": {"path_1": "."}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": prose(chance, 8_000),
                        "cache_control": cached,
                    }
                ],
            },
        ],
        "system": [{"type": "text", "text": prose(chance, 6_000), "cache_control": cached}],
        "tools": tools,
        "metadata": {"user_id": "user"},
        "max_tokens": 64_000,
        "output_config": {"effort": "high"},
        "stream": True,
    }


def prose(chance, size):
    """Words, quotes and line breaks, as often as in instructions and source files."""
    words = "the tool reads a `file` and returns its \"lines\", unless (path) is missing;".split()
    text = []
    length = 0
    while length < size:
        word = chance.choice(words) + ("\n" if chance.random() < 0.06 else " ")
        text.append(word)
        length += len(word)
    return "".join(text)[:size]


def encode(request):
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()
