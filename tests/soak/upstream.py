"""The upstream of the soak: one fixed response, and a failure on request. Prints its port."""

import asyncio
import json
import random

WORDS = 40
CHUNK = {
    "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
    "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}],
}
LAST = {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
WHOLE = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "word " * WORDS},
    }],
    "usage": {"prompt_tokens": 9, "completion_tokens": WORDS, "total_tokens": 49},
}
EMBEDDED = {"object": "list", "model": "m", "data": [{"index": 0, "embedding": [0.1] * 64}]}
# A provider's error about one rejected input.
POISON = {
    b"SOAK-500": (500, {"error": {"message": "The server had an error", "type": "server_error"}}),
    b"SOAK-403": (403, {"error": {"message": "Your input was flagged", "type": "moderation"}}),
}


def event(data):
    text = data if isinstance(data, str) else json.dumps(data)
    line = f"data: {text}\n\n".encode()
    return f"{len(line):x}\r\n".encode() + line + b"\r\n"


def whole(status, data):
    body = json.dumps(data).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.lower().split(b"\r\n")
            length = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
            body = await reader.readexactly(length[0]) if length else b""
            await answer(writer, head.split(b" ", 2)[1], body)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def answer(writer, path, body):
    await asyncio.sleep(random.uniform(0.002, 0.01))
    for word, (status, data) in POISON.items():
        if word in body:
            writer.write(whole(status, data))
            return await writer.drain()
    if path.endswith(b"/models"):
        writer.write(whole(200, {"object": "list", "data": [{"id": "m", "object": "model"}]}))
    elif path.endswith(b"/embeddings"):
        writer.write(whole(200, EMBEDDED))
    elif b'"stream":true' in body.replace(b" ", b"") if len(body) < 1 << 20 else b'"stream":true' in body:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for _ in range(WORDS):
            writer.write(event(CHUNK))
            await writer.drain()
            await asyncio.sleep(0.002)
        writer.write(event(LAST) + event("[DONE]") + b"0\r\n\r\n")
    else:
        writer.write(whole(200, WHOLE))
    await writer.drain()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
