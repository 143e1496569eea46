"""Clients that try to monopolize the gateway or take it down. Their attacks are chosen at
random from a seed. Prints the responses that they got as JSON.

    hostile.py PORT OPERATOR SECONDS SEED KEY…
"""

import asyncio
import collections
import json
import os
import random
import string
import sys
import time

import images
import wire

# Concurrent attacks.
ATTACKERS = 24
# Large bodies are built once, so that they cost the gateway and not this process.
BODIES = {}


def once(name, make):
    if name not in BODIES:
        BODIES[name] = wire.body(make())
    return BODIES[name]


class Attacker:
    def __init__(self, gateway, key, dice, outcomes):
        self.gateway, self.key, self.dice, self.outcomes = gateway, key, dice, outcomes

    def note(self, kind, what):
        self.outcomes[kind][str(what)] += 1

    async def ask(self, kind, path, request, key=None, **more):
        status, _, _ = await self.gateway.ask(path, request, key or self.key, **more)
        self.note(kind, status)

    def chat(self, content, **more):
        return wire.chat("up/m", content, **more)

    async def slow_upload(self):
        """Announces 32 MiB and sends 1.4 kB per second."""
        _, writer = await self.gateway.connect()
        writer.write(wire.head("/v1/chat/completions", self.gateway.host, self.key, 32 << 20))
        for _ in range(self.dice.randrange(5, 40)):
            writer.write(b"x" * 1_400)
            await writer.drain()
            await asyncio.sleep(1)
        writer.close()

    async def one_letter(self):
        """Connections that send `P` and nothing else."""
        held = [await self.gateway.connect() for _ in range(20)]
        for _, writer in held:
            writer.write(b"P")
        await asyncio.sleep(self.dice.uniform(2, 12))
        for _, writer in held:
            writer.close()

    async def nested_schema(self):
        schema = {"type": "string"}
        for _ in range(self.dice.randrange(3, 9)):
            schema = {"type": "array", "minItems": 256, "items": schema}
        form = {"type": "json_schema", "json_schema": {"name": "tree", "schema": schema}}
        request = wire.chat("demo/text", "hi", response_format=form)
        await self.ask("nested_schema", "/v1/chat/completions", request)

    async def references(self):
        level = {"type": "object", "required": [f"p{n}" for n in range(30)]}
        defs = {}
        for at in range(8):
            inner = {"$ref": f"#/$defs/l{at + 1}"} if at < 7 else {"type": "string"}
            defs[f"l{at}"] = {**level, "properties": {f"p{n}": inner for n in range(30)}}
        tool = {"name": "t", "parameters": {"$ref": "#/$defs/l0", "$defs": defs}}
        request = wire.chat(
            "demo/text", "use t", tools=[{"type": "function", "function": tool}]
        )
        await self.ask("references", "/v1/chat/completions", request)

    async def repeated_ids(self):
        """One tool-call id, thousands of times, converted to another dialect."""

        def make():
            call = {"type": "tool_use", "id": "call_0", "name": "t", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "call_0", "content": "x"}
            turns = [
                {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]},
            ]
            first = {"role": "user", "content": "hi"}
            return {"model": "up/m", "max_tokens": 9, "messages": [first] + turns * 4_000}

        await self.ask("repeated_ids", "/v1/messages", once("repeated_ids", make))

    async def tiny_parts(self):
        def make():
            return self.chat([{"type": "text", "text": "a"}] * 200_000)

        await self.ask("tiny_parts", "/v1/chat/completions", once("tiny_parts", make))

    async def large_body(self):
        """A valid body that is expensive to decode."""

        def make():
            turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
            return {"model": "up/m", "input": turn * 100_000}

        await self.ask("large_body", "/v1/responses", once("large_body", make))

    async def random_models(self):
        for _ in range(50):
            name = "".join(self.dice.choices(string.ascii_lowercase, k=self.dice.randrange(9, 400)))
            name = self.dice.choice(["dead/", "up/", ""]) + name
            await self.ask("random_models", "/v1/chat/completions", wire.chat(name, "hi"))

    async def wrong_key(self):
        for _ in range(20):
            key = "".join(self.dice.choices(string.ascii_letters, k=40))
            await self.ask("wrong_key", "/v1/chat/completions", self.chat("hi"), key=key)

    async def foreign(self):
        more = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")]
        await self.ask(
            "foreign", "/v1/chat/completions", self.chat("hi"), host="evil.example", more=more
        )

    async def reset_in_a_stream(self):
        reader, writer = await self.gateway.connect()
        data = wire.body(self.chat("hi", stream=True))
        writer.write(wire.head("/v1/chat/completions", self.gateway.host, self.key, len(data)))
        writer.write(data)
        await reader.read(600)
        wire.reset(writer)

    async def slow_reader(self):
        """Requests streams and reads none of them."""
        reader, writer = await self.gateway.connect()
        reader._transport.pause_reading()
        data = wire.body(self.chat("hi", stream=True))
        head = wire.head("/v1/chat/completions", self.gateway.host, self.key, len(data))
        writer.write((head + data) * 20)
        await asyncio.sleep(self.dice.uniform(1, 8))
        writer.transport.abort()

    async def headers(self):
        more = [(f"x-header-{n}", "y" * 140) for n in range(90)]
        await self.ask("headers", "/v1/chat/completions", self.chat("hi"), more=more)

    async def giant_image(self):
        side = self.dice.choice([4_000, 12_000])

        def make():
            return self.chat([{"type": "text", "text": "see"}, images.part(images.bomb(side))])

        request = once(f"giant_image {side}", make)
        await self.ask("giant_image", "/v1/chat/completions", request)

    async def cancelled(self):
        for _ in range(20):
            _, writer = await self.gateway.connect()
            data = wire.body(self.chat("hi"))
            head = wire.head("/v1/chat/completions", self.gateway.host, self.key, len(data))
            writer.write(head + data)
            await asyncio.sleep(self.dice.uniform(0, 0.004))
            writer.transport.abort()

    async def embeddings(self):
        async def one():
            request = {"model": "embed", "input": ["text " * 50] * 20}
            await self.ask("embeddings", "/v1/embeddings", request)

        await asyncio.gather(*(one() for _ in range(50)))

    async def counts(self):
        request = {"model": "up/m", "messages": [{"role": "user", "content": "word " * 20_000}]}
        for _ in range(10):
            await self.ask("counts", "/v1/messages/count_tokens", request)

    async def unknown_fields(self):
        def make():
            huge = {f"field_{n}": "z" * 4_000 for n in range(900)}
            return {**self.chat("hi"), **huge}

        await self.ask("unknown_fields", "/v1/chat/completions", once("unknown_fields", make))

    async def remote_images(self):
        """Image URLs that are unreachable or internal."""
        hosts = ["127.0.0.1:9", "10.255.255.1", "[::1]:9", "localhost:1", "169.254.169.254"]
        parts = [
            {"type": "image_url", "image_url": {"url": f"http://{self.dice.choice(hosts)}/{n}.png"}}
            for n in range(20)
        ]
        await self.ask("remote_images", "/v1/chat/completions", self.chat(parts))

    async def poison(self):
        """Input that makes a target fail which honest clients use as well."""
        word = self.dice.choice(["SOAK-500", "SOAK-403"])
        for _ in range(5):
            await self.ask("poison", "/v1/chat/completions", self.chat(word))

    async def crowd(self):
        """Many concurrent small requests."""

        async def one():
            await self.ask("crowd", "/v1/chat/completions", self.chat("hi"))

        await asyncio.gather(*(one() for _ in range(100)))

    async def work(self, until):
        kinds = [name for name in vars(Attacker) if name not in ("note", "ask", "chat", "work")]
        kinds = sorted(name for name in kinds if not name.startswith("_"))
        while time.monotonic() < until:
            kind = self.dice.choice(kinds)
            try:
                left = max(1, until - time.monotonic())
                await asyncio.wait_for(getattr(self, kind)(), min(left, wire.TIMEOUT))
                self.note(kind, "done")
            except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
                self.note(kind, type(error).__name__)
            await asyncio.sleep(self.dice.uniform(0, 0.2))


async def main():
    # Leave the cores to the gateway and the honest clients: this is not a test of the
    # system's scheduler.
    os.nice(10)
    port, operator, seconds, seed = (int(word) for word in sys.argv[1:5])
    gateway, keys = wire.Gateway(port, operator), sys.argv[5:]
    outcomes = collections.defaultdict(collections.Counter)
    until = time.monotonic() + seconds
    attackers = (
        Attacker(gateway, keys[at % len(keys)], random.Random(seed * 1000 + at), outcomes)
        for at in range(ATTACKERS)
    )
    await asyncio.gather(*(attacker.work(until) for attacker in attackers))
    print(json.dumps(outcomes))


asyncio.run(main())
