"""Runs honest clients alone, then alongside hostile ones; checks and prints the results.

Honest requests must not fail, their p99 must stay within three times that of the first
run, and memory and descriptors must be released.
"""

import argparse
import json
import os
import pathlib
import resource
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
# The largest allowed growth of p99.
RATIO = 3
# Latencies below this are noise of the machine.
FLOOR = 0.010
# Memory that may remain: allocator caches and the bounded tables.
KEPT = 64 << 20
# More than any gateway needs, to protect the machine from a runaway process.
MOST = 6 << 30
# The time to release resources: idle connections, to clients and to upstreams, are closed
# after a minute.
SETTLE = 90

CONFIG = """
[server]
listen = "127.0.0.1:{port}"
operator_listen = "127.0.0.1:{operator}"
[fetch]
enabled = true
[providers.up]
kind = "openai"
base_url = "http://127.0.0.1:{upstream}/v1"
api_key = "canary"
[providers.dead]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
api_key = "canary"
[providers.demo]
[[routes]]
model = "embed"
services = [ {{ spec = "up/e", capacity = 8 }} ]
"""
KEY = '[[keys]]\nname = "{name}"\nkey = "{key}"\n'


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def percentile(times, share):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class Process:
    """The gateway and its resource usage."""

    def __init__(self, config, log):
        self.peak = 0
        self.child = subprocess.Popen(
            [os.environ["MAJORDOMO_BIN"], "serve", "--config", config],
            stdout=subprocess.DEVNULL, stderr=log,
            env={**os.environ, "XDG_STATE_HOME": str(pathlib.Path(config).parent / "state")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST)),
        )

    def memory(self):
        try:
            status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        except OSError:
            return 0
        lines = (line.split() for line in status.splitlines())
        now = next((int(line[1]) << 10 for line in lines if line[0] == "VmRSS:"), 0)
        self.peak = max(self.peak, now)
        return now

    def descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.child.pid}/fd"))
        except OSError:
            return 0

    def watch(self, stop):
        while not stop.wait(0.2):
            self.memory()


def wait_for(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
    sys.exit("the gateway does not listen")


def clients(script, where, seconds, seed, keys):
    words = [str(word) for word in (*where, seconds, seed, *keys)]
    return subprocess.Popen(
        [sys.executable, HERE / script, *words], stdout=subprocess.PIPE, text=True, cwd=HERE
    )


def result(child):
    text, _ = child.communicate()
    if child.returncode:
        sys.exit(f"the clients failed themselves ({child.returncode})")
    return json.loads(text)


def settled(gateway, memory, descriptors):
    """Waits until the gateway's resource usage is about the same as before."""
    ends = time.monotonic() + SETTLE
    while time.monotonic() < ends:
        if gateway.memory() <= memory + KEPT and gateway.descriptors() <= descriptors + 8:
            break
        time.sleep(0.5)
    return gateway.memory(), gateway.descriptors()


def times_table(alone, beside, failures):
    print(f"\n{'kind':10}{'requests':>18}{'p50 ms':>20}{'p99 ms':>20}{'ratio':>8}")
    for kind in alone["times"]:
        before, after = alone["times"][kind], beside["times"][kind]
        fifty = [percentile(times, 0.5) for times in (before, after)]
        ninety = [percentile(times, 0.99) for times in (before, after)]
        ratio = max(ninety[1], FLOOR) / max(ninety[0], FLOOR)
        print(
            f"{kind:10}{len(before):8} → {len(after):7}"
            f"{fifty[0] * 1e3:10.1f} → {fifty[1] * 1e3:7.1f}"
            f"{ninety[0] * 1e3:10.1f} → {ninety[1] * 1e3:7.1f}{ratio:8.2f}"
        )
        if ratio > RATIO:
            failures.append(f"p99 of {kind} grew {ratio:.1f} times")


def soak(options, folder):
    upstream = subprocess.Popen(
        [sys.executable, HERE / "upstream.py"], stdout=subprocess.PIPE, text=True
    )
    where = port, operator = free_port(), free_port()
    names = [*(f"honest-{n}" for n in range(3)), *(f"hostile-{n}" for n in range(3))]
    keys = {name: secrets.token_hex(24) for name in names}
    config = folder / "majordomo.toml"
    text = CONFIG.format(port=port, operator=operator, upstream=upstream.stdout.readline().strip())
    config.write_text(text + "".join(KEY.format(name=n, key=k) for n, k in keys.items()))
    config.chmod(0o600)
    honest = [key for name, key in keys.items() if name.startswith("honest")]
    hostile = [key for name, key in keys.items() if name.startswith("hostile")]
    log = folder / "log"
    gateway = Process(config, open(log, "w"))
    stop = threading.Event()
    threading.Thread(target=gateway.watch, args=[stop], daemon=True).start()
    children = [upstream, gateway.child]
    failures = []
    try:
        wait_for(port)
        quiet = max(5, min(options.seconds // 4, 120))
        print(f"{quiet} s of honest clients alone, then {options.seconds} s beside hostile ones")
        alone = result(clients("honest.py", where, quiet, options.seed, honest))
        memory, descriptors = gateway.memory(), gateway.descriptors()
        attack = clients("hostile.py", where, options.seconds, options.seed, hostile)
        children.append(attack)
        beside = result(clients("honest.py", where, options.seconds, options.seed, honest))
        outcomes = result(attack)
        ended = settled(gateway, memory, descriptors)
        alive = gateway.child.poll() is None
    finally:
        stop.set()
        for child in children:
            if child.poll() is None:
                child.kill()
            child.wait()
    print("\nhostile clients and the responses they got")
    for kind, answers in sorted(outcomes.items()):
        words = ", ".join(f"{word}: {count}" for word, count in sorted(answers.items()))
        print(f"  {kind:18} {words}")
    times_table(alone, beside, failures)
    mib = 1 << 20
    print(
        f"\nmemory: {memory / mib:.0f} MiB before, {gateway.peak / mib:.0f} MiB at most, "
        f"{ended[0] / mib:.0f} MiB at the end; descriptors: {descriptors} → {ended[1]}; "
        f"log: {log.stat().st_size / mib:.1f} MiB"
    )
    errors = alone["errors"] + beside["errors"]
    print(f"honest errors: {len(alone['errors'])} alone, {len(beside['errors'])} beside")
    for error in errors[:10]:
        print(f"  {error}")
    if not alive:
        failures.append("the gateway died")
    if errors:
        failures.append(f"{len(errors)} honest requests failed")
    if ended[0] > memory + KEPT:
        failures.append("memory did not come back")
    if ended[1] > descriptors + 8:
        failures.append("descriptors did not come back")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="beside hostile clients")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # So that child processes are stopped as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory() as folder:
        failures = soak(options, pathlib.Path(folder))
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"seed {options.seed}: {'failed' if failures else 'everything held'}")
    sys.exit(bool(failures))


main()
