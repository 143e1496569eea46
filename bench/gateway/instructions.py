#!/usr/bin/env python3
"""Counts a gateway's instructions per request under callgrind; see README.md.

Instruction counts do not depend on the machine's load, so two builds can be compared to within a
percent, which times cannot: `--binary OLD --binary NEW` prints both and their ratio.
"""
import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from run import HERE, KEY, MAJORDOMO, ROOT, body, free_ports, picture, start, wait_for

# Name, model at the mock, requests in the short and in the long run, stream, image, terminator of a response.
WORKS = [
    ("small request", "small", 200, 1200, False, False, "forty-two"),
    ("200-chunk burst stream", "burst", 20, 120, True, False, "[DONE]"),
    ("200-chunk paced stream", "paced", 2, 6, True, False, "[DONE]"),
    ("1 MB image", "small", 4, 24, False, True, "forty-two"),
]
PROVIDERS = {"same": "openai-mock/", "translated": "anthropic-mock/"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", action="append", help="a release build; give two to compare")
    parser.add_argument("--only", help="part of a work's name")
    parser.add_argument("--rounds", type=int, default=3, help="the fewest instructions count")
    chosen = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing: install it from the system's packages")
    binaries = chosen.binary or [str(ROOT / "target/release/majordomo")]
    target = ROOT / "target/bench-tools"
    build = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(HERE / "Cargo.toml")]
    subprocess.run([*build, "--target-dir", str(target)], check=True)
    tools = [str(target / "release" / name) for name in ("mock", "load")]
    folder = Path(tempfile.mkdtemp(prefix="majordomo-instructions-"))
    heads = " | ".join(f"build {n + 1}" for n in range(len(binaries)))
    print(f"| work | dialect | {heads} | ratio |\n|---|---|{'---|' * len(binaries)}---|")
    try:
        for work in WORKS:
            if not chosen.only or chosen.only in work[0]:
                for way in PROVIDERS:
                    compare(binaries, work, way, tools, folder, chosen.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(binaries, work, way, tools, folder, rounds):
    name, model, short, long, stream, image, expect = work
    file = folder / "request.json"
    file.write_bytes(body(PROVIDERS[way] + model, stream, picture() if image else None))
    each = [float("inf")] * len(binaries)
    # The number of wake-ups depends on the machine: builds alternate, and the minimum counts.
    for _ in range(rounds):
        for n, binary in enumerate(binaries):
            # The difference of two runs excludes start-up and cold caches.
            few = count(binary, tools, folder, file, short, expect)
            many = count(binary, tools, folder, file, long, expect)
            each[n] = min(each[n], (many - few) / (long - short))
    shown = " | ".join(f"{n:,.0f}" for n in each)
    print(f"| {name} | {way} | {shown} | {each[-1] / each[0]:.3f} |", flush=True)


def count(binary, tools, folder, file, requests, expect):
    """The instructions of one gateway that serves this many requests sequentially."""
    mock_tool, load_tool = tools
    started = []
    mock, port, operator = free_ports(3)
    config = folder / "majordomo.toml"
    config.write_text(MAJORDOMO.format(port=port, operator=operator, mock=mock, key=KEY))
    out = folder / "callgrind.out"
    try:
        start(started, "1", [mock_tool, str(mock)], mock, folder / "mock.log")
        # One core: one thread, so the order of wake-ups does not matter.
        command = ["taskset", "-c", "0", "valgrind", "--tool=callgrind"]
        command += [f"--callgrind-out-file={out}", binary, "serve", "--config", str(config)]
        with open(folder / "gateway.log", "wb") as log:
            gateway = subprocess.Popen(command, stdout=log, stderr=log)
        started.append(gateway)
        wait_for(port, gateway, seconds=60)
        ask = [load_tool, str(port), "/v1/chat/completions", str(file), KEY]
        ran = subprocess.run(
            [*ask, str(requests), "1", expect], capture_output=True, text=True, timeout=300
        )
        if ran.returncode or '"failed":0' not in ran.stdout.replace(" ", ""):
            sys.exit(f"{binary}: {ran.stdout} {ran.stderr}")
        gateway.send_signal(signal.SIGTERM)
        gateway.wait(timeout=60)
    finally:
        for process in reversed(started):
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=60)
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])


if __name__ == "__main__":
    main()
