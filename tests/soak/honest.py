"""Well-behaved clients. Prints the outcomes of their requests as JSON.

    honest.py PORT OPERATOR SECONDS SEED KEY…
"""

import asyncio
import json
import random
import sys
import time

import images
import wire

# Clients per key; each key is a tenant.
CLIENTS = 2
# The share of each kind of request, in percent.
KINDS = {"small": 55, "stream": 25, "agent": 12, "image": 8}


def requests():
    """A body and what its response must contain, for each kind."""
    turn = [
        {"role": "user", "content": "Look into the file. " * 20},
        {"role": "assistant", "content": "It says: " + "line of a program; " * 80},
    ]
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{n}", "description": "Does one thing well. " * 10,
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            },
        }
        for n in range(20)
    ]
    picture = [{"type": "text", "text": "What is this?"}, images.part(images.noise(400))]
    agent = wire.chat("up/m", "Go on.", tools=tools, stream=True)
    agent["messages"] = turn * 60 + agent["messages"]
    return {
        "small": (wire.chat("up/m", "Hello, who are you?"), b"word word"),
        "stream": (wire.chat("up/m", "Tell me a story.", stream=True), b"[DONE]"),
        "agent": (agent, b"[DONE]"),
        "image": (wire.chat("up/m", picture), b"word word"),
    }


class Results:
    def __init__(self):
        self.times = {kind: [] for kind in [*KINDS, "healthz"]}
        self.errors = []

    def note(self, kind, began, status, data, expected):
        self.times[kind].append(time.monotonic() - began)
        if status != 200 or expected not in data:
            self.errors.append(f"{kind}: {status} {data[:200].decode(errors='replace')}")


async def client(gateway, key, dice, until, bodies, results):
    """Sends requests sequentially on one connection, as SDKs do."""
    reader = writer = None
    while time.monotonic() < until:
        kind = dice.choices(list(KINDS), KINDS.values())[0]
        data, expected = bodies[kind]
        began = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.wait_for(gateway.connect(), wire.TIMEOUT)
            writer.write(wire.head("/v1/chat/completions", gateway.host, key, len(data)) + data)
            await asyncio.wait_for(writer.drain(), wire.TIMEOUT)
            status, headers, answer = await asyncio.wait_for(
                wire.read_response(reader), wire.TIMEOUT
            )
            results.note(kind, began, status, answer, expected)
            if headers.get("connection") == "close":
                writer.close()
                reader = writer = None
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            results.errors.append(f"{kind}: {type(error).__name__} {error}")
            if writer is not None:
                writer.close()
            reader = writer = None
        await asyncio.sleep(dice.uniform(0.02, 0.1))


async def operator(gateway, until, results):
    """Checks the gateway's health."""
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            reader, writer = await asyncio.wait_for(gateway.connect(operator=True), wire.TIMEOUT)
            host = f"127.0.0.1:{gateway.operator}"
            writer.write(wire.head("/healthz", host, None, 0, [("connection", "close")], "GET"))
            status, _, _ = await asyncio.wait_for(wire.read_response(reader), wire.TIMEOUT)
            results.note("healthz", began, status, b"", b"")
            writer.close()
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            results.errors.append(f"healthz: {type(error).__name__} {error}")
        await asyncio.sleep(0.25)


async def main():
    port, listen, seconds, seed = (int(word) for word in sys.argv[1:5])
    gateway, results = wire.Gateway(port, listen), Results()
    bodies = {kind: (wire.body(data), expected) for kind, (data, expected) in requests().items()}
    until = time.monotonic() + seconds
    work = [operator(gateway, until, results)]
    for at, key in enumerate(key for key in sys.argv[5:] for _ in range(CLIENTS)):
        dice = random.Random(seed * 1000 + at)
        work.append(client(gateway, key, dice, until, bodies, results))
    await asyncio.gather(*work)
    print(json.dumps({"times": results.times, "errors": results.errors}))


asyncio.run(main())
