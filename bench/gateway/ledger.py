#!/usr/bin/env python3
"""The CPU time that the ledger, and with --limits rates, seats and budgets too, add to a request:
two gateways, one with them and one without, in alternating rounds; see README.md."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import run

LIMIT_US = 3.0
# Far above the load, so that nothing is refused.
LIMITS = """limits = { requests_per_minute = 10_000_000, tokens_per_minute = 1_000_000_000, concurrent = 10_000 }
budget = { month = "100000000 USD" }
"""


def spent(pid):
    """CPU time of all threads in nanoseconds."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--binary", default=str(run.ROOT / "target/release/majordomo"))
    parser.add_argument("--limits", action="store_true", help="limits and a budget, too")
    parser.add_argument("--tools", help="folder with the built `mock` and `load`")
    chosen = parser.parse_args()
    tools = Path(chosen.tools) if chosen.tools else run.build_tools()
    started = []
    with tempfile.TemporaryDirectory(prefix="majordomo-bench-") as name:
        try:
            sys.exit(measure(chosen, Path(name), tools, started))
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(timeout=40)


def measure(chosen, folder, tools, started):
    mock, *ports = run.free_ports(5)
    run.start(started, run.OTHER_CORE, [str(tools / "mock"), str(mock)], mock, folder / "mock.log")
    gateways = {}
    for name, port, operator in (("off", *ports[:2]), ("on", *ports[2:])):
        store = "off" if name == "off" else f"sqlite://{folder}/ledger"
        config = folder / f"{name}.toml"
        text = run.MAJORDOMO.format(port=port, operator=operator, mock=mock, key=run.KEY)
        if chosen.limits and name == "on":
            key = f'key = "{run.KEY}"\n'
            text = text.replace(key, key + LIMITS)
        prices = '[prices."openai-mock/*"]\ninput = "1"\noutput = "10"\n'
        config.write_text(f'{text}[ledger]\nstore = "{store}"\n{prices}')
        command = [chosen.binary, "serve", "--config", str(config)]
        process, _ = run.start(started, run.GATEWAY_CORE, command, port, folder / f"{name}.log")
        gateways[name] = (port, process.pid)
    body = folder / "request.json"
    message = {"role": "user", "content": "What is the answer to the great question?"}
    body.write_text(json.dumps({"model": "openai-mock/small", "messages": [message]}))
    rest = {name: run.memory(pid) for name, (_, pid) in gateways.items()}

    def round_of(name, requests):
        port, pid = gateways[name]
        command = ["taskset", "-c", run.OTHER_CORE, str(tools / "load"), str(port)]
        command += ["/v1/chat/completions", str(body), run.KEY, str(requests), "32", "forty-two"]
        before = spent(pid)
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return (spent(pid) - before) / requests / 1000

    for name in gateways:
        round_of(name, chosen.requests // 4)
    added = []
    print("| round | off | on | added |\n|---|---|---|---|")
    for number in range(1, chosen.rounds + 1):
        # Each goes first in every other round.
        order = ["off", "on"] if number % 2 else ["on", "off"]
        took = {name: round_of(name, chosen.requests) for name in order}
        added.append(took["on"] - took["off"])
        line = f"| {number} | {took['off']:.2f} µs | {took['on']:.2f} µs | {added[-1]:+.2f} µs |"
        print(line, flush=True)
    middle = statistics.median(added)
    what = "ledger and limits add" if chosen.limits else "the ledger adds"
    print(f"\n{what} {middle:.2f} µs of CPU per request (limit {LIMIT_US} µs)")
    size = os.path.getsize(chosen.binary) / 2**20
    print(f"at rest {rest['on']:.1f} MB with a ledger, {rest['off']:.1f} MB without; binary {size:.1f} MB")
    return 0 if middle <= LIMIT_US else 1


if __name__ == "__main__":
    main()
