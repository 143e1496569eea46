#!/usr/bin/env python3
"""Counts a gateway's instructions per request under callgrind; see README.md.

Instruction counts do not depend on the machine's load, so two builds can be compared to within a
percent, which times cannot: `--binary OLD --binary NEW` prints both and their ratio. Callgrind counts
one instruction per byte of a `rep movsb`, so copying and filling memory is reported separately: a build
that copies less would otherwise hide the instructions that it executes in addition. What runs by the
clock and not by the request (`cli/src/memory.rs` returns memory every two seconds, and valgrind stretches
a request) is left out if the binaries have symbols: build both with CARGO_PROFILE_RELEASE_STRIP=none.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from run import KEY, MAJORDOMO, ROOT, WORKS, build_tools, free_ports, start, wait_for

# Requests in the short and in the long run, by the workload's name.
LENGTHS = {
    "small request": (200, 1200),
    "200-chunk burst stream": (20, 120),
    "200-chunk paced stream": (2, 6),
    "1 MB image": (4, 24),
    "agent with 24 tools": (20, 120),
    "agent after 1 MB": (4, 24),
}
# Functions of the C library that move or fill memory.
COPIES = re.compile(r"mem(cpy|move|set)")
# Runs every two seconds after work, however many requests that was.
SWEEP = re.compile(r"majordomo::memory::|majordomo_cli::memory::")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", action="append", help="a release build; give two to compare")
    parser.add_argument("--only", help="part of a work's name")
    parser.add_argument("--rounds", type=int, default=3, help="the fewest instructions count")
    parser.add_argument("--no-ledger", action="store_true", help="without the ledger, where there is one")
    parser.add_argument("--tools", help="folder with the built `mock` and `load`")
    parser.add_argument("--keep", help="a folder for callgrind's last output of each workload")
    chosen = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing: install it from the system's packages")
    binaries = chosen.binary or [str(ROOT / "target/release/majordomo")]
    folder = Path(chosen.tools) if chosen.tools else build_tools()
    tools = [str(folder / name) for name in ("mock", "load")]
    folder = Path(tempfile.mkdtemp(prefix="majordomo-instructions-"))
    # The ledger of the measured gateway, which is on by default.
    os.environ["XDG_STATE_HOME"] = str(folder)
    heads = " | ".join(f"build {n + 1} | copies" for n in range(len(binaries)))
    print(f"| work | dialect | {heads} | ratio | ratio of copies |")
    print(f"|---|---|{'---|---|' * len(binaries)}---|---|")
    try:
        for work in WORKS:
            if work.name not in LENGTHS or (chosen.only and chosen.only not in work.name):
                continue
            for way, (model, _) in work.ways.items():
                compare(binaries, work, way, model, tools, folder, chosen)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(binaries, work, way, model, tools, folder, chosen):
    short, long = LENGTHS[work.name]
    file = folder / "request.json"
    file.write_bytes(work.make(model))
    each = [(float("inf"), 0.0)] * len(binaries)
    # The number of wake-ups depends on the machine: builds alternate, and the minimum counts.
    for _ in range(chosen.rounds):
        for n, binary in enumerate(binaries):
            # The difference of two runs excludes start-up and cold caches.
            few = count(binary, tools, folder, file, work, short, chosen)
            many = count(binary, tools, folder, file, work, long, chosen)
            own, copies = ((b - a) / (long - short) for a, b in zip(few, many))
            each[n] = min(each[n], (own, copies))
            if chosen.keep:
                name = f"{n + 1}-{work.name}-{way}.callgrind".replace(" ", "-")
                shutil.copy(folder / "callgrind.out", Path(chosen.keep) / name)
    shown = " | ".join(f"{own:,.0f} | {copies:,.0f}" for own, copies in each)
    ratio, copied = (last / max(first, 1) for first, last in zip(each[0], each[-1]))
    print(f"| {work.name} | {way} | {shown} | {ratio:.3f} | {copied:.3f} |", flush=True)


def count(binary, tools, folder, file, work, requests, chosen):
    """What one gateway executes and copies while it serves this many requests sequentially."""
    mock_tool, load_tool = tools
    started = []
    mock, port, operator = free_ports(3)
    config = folder / "majordomo.toml"
    text = MAJORDOMO.format(port=port, operator=operator, mock=mock, key=KEY)
    config.write_text(text)
    if chosen.no_ledger:
        config.write_text(text + '[ledger]\nstore = "off"\n')
        if subprocess.run([binary, "check", "--config", str(config)], capture_output=True).returncode:
            # An old build without a ledger.
            config.write_text(text)
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
        ask = [load_tool, str(port), work.path, str(file), KEY]
        ran = subprocess.run(
            [*ask, str(requests), "1", work.expect], capture_output=True, text=True, timeout=300
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
    return own_and_copies(out)


def own_and_copies(file):
    """The instructions of callgrind's output: those outside and those inside of copies."""
    names = {}
    costs = [0, 0]
    # The function at hand, and the one that it calls in the next two lines.
    caller = called = ""
    calls = False
    swept = 0

    def named(text):
        # A name is spelled out where it occurs first.
        number, _, name = text.strip().partition(" ")
        if name:
            names[number] = name
        return names.get(number, "")

    with open(file) as lines:
        for line in lines:
            if line.startswith("fn="):
                caller = named(line[3:])
            elif line.startswith("cfn="):
                called = named(line[4:])
            elif line.startswith("calls="):
                calls = True
            elif line[:1] in "0123456789+-*":
                # The cost of a call is also listed in the function that is called.
                cost = int(line.split()[1])
                if not calls:
                    costs[bool(COPIES.search(caller))] += cost
                elif SWEEP.search(called) and not SWEEP.search(caller):
                    swept += cost
                calls = False
    costs[0] -= swept
    return costs


if __name__ == "__main__":
    main()
