#!/usr/bin/env python3
"""The CPU time that open pages add to a request: one gateway at 10,000 requests a minute, with
and without readers of its event stream, in alternating rounds; see README.md."""
import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ledger
import run

LIMIT = 1.03


class Page:
    """A page that reads its stream until it is closed."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", "/api/events?rows=html")
        self.response = self.connection.getresponse()
        self.bytes = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while chunk := self.response.read1(1 << 16):
                self.bytes += len(chunk)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass

    def close(self):
        self.connection.sock.shutdown(2)
        self.thread.join(timeout=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=6, help="length of half a round")
    parser.add_argument("--rate", type=int, default=167, help="requests per second")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--binary", default=str(run.ROOT / "target/release/majordomo"))
    parser.add_argument("--tools", help="folder with the built `mock` and `load`")
    chosen = parser.parse_args()
    tools = Path(chosen.tools) if chosen.tools else ledger.build()
    started = []
    with tempfile.TemporaryDirectory(prefix="majordomo-bench-") as name:
        try:
            sys.exit(measure(chosen, Path(name), tools, started))
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(timeout=40)


def measure(chosen, folder, tools, started):
    mock, port, operator = run.free_ports(3)
    run.start(started, run.OTHER_CORE, [str(tools / "mock"), str(mock)], mock, folder / "mock.log")
    config = folder / "majordomo.toml"
    text = run.MAJORDOMO.format(port=port, operator=operator, mock=mock, key=run.KEY)
    config.write_text(f'{text}[ledger]\nstore = "off"\n')
    command = [chosen.binary, "serve", "--config", str(config)]
    gateway, _ = run.start(started, run.GATEWAY_CORE, command, port, folder / "gateway.log")
    body = folder / "request.json"
    message = {"role": "user", "content": "What is the answer to the great question?"}
    body.write_text(json.dumps({"model": "openai-mock/small", "messages": [message]}))

    def half(pages):
        readers = [Page(operator) for _ in range(pages)]
        # The first rows that a new reader gets are not part of the steady state.
        time.sleep(0.5)
        before = ledger.spent(gateway.pid)
        ask = ["taskset", "-c", run.OTHER_CORE, str(tools / "load"), str(port)]
        ask += ["/v1/chat/completions", str(body), run.KEY, str(chosen.rate), "4", "forty-two"]
        for _ in range(chosen.seconds):
            began = time.monotonic()
            subprocess.run(ask, check=True, capture_output=True, timeout=60)
            time.sleep(max(0.0, 1 - (time.monotonic() - began)))
        spent = ledger.spent(gateway.pid) - before
        read = sum(reader.bytes for reader in readers)
        for reader in readers:
            reader.close()
        if pages and not read:
            sys.exit("the pages read nothing")
        return spent / (chosen.rate * chosen.seconds) / 1000

    half(0)
    ratios = []
    print(f"| round | no page | {chosen.pages} pages | ratio |\n|---|---|---|---|")
    for number in range(1, chosen.rounds + 1):
        order = [0, chosen.pages] if number % 2 else [chosen.pages, 0]
        took = {pages: half(pages) for pages in order}
        ratios.append(took[chosen.pages] / took[0])
        line = f"| {number} | {took[0]:.1f} µs | {took[chosen.pages]:.1f} µs | {ratios[-1]:.3f} |"
        print(line, flush=True)
    middle = statistics.median(ratios)
    print(f"\n{chosen.pages} open pages: {middle:.3f} times the CPU per request (limit {LIMIT})")
    return 0 if middle <= LIMIT else 1


if __name__ == "__main__":
    main()
