#!/usr/bin/env python3
"""Measures majordomo and nginx on the same workloads, in one run; see README.md."""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bodies

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
KEY = "sk-bench-not-a-secret"
# The gateway has one core to itself; load generator and mock share the other.
GATEWAY_CORE, OTHER_CORE = "0", "1"

NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
worker_rlimit_nofile 40000;
events {{ worker_connections 20000; }}
http {{
  access_log {folder}/nginx-access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 64m;
  client_body_buffer_size 16m;
  keepalive_requests 1000000000;
  upstream mock {{ server 127.0.0.1:{mock}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""

MAJORDOMO = """
[server]
listen = "127.0.0.1:{port}"
operator_listen = "127.0.0.1:{operator}"
max_requests = 10000
[[keys]]
name = "bench"
key = "{key}"
[providers.openai-mock]
kind = "openai"
base_url = "http://127.0.0.1:{mock}/v1"
api_key = "unused"
[providers.anthropic-mock]
kind = "anthropic"
base_url = "http://127.0.0.1:{mock}"
api_key = "unused"
"""


# Where the mock stands, by dialect, and the paths of clients.
CHAT, MESSAGES = "openai-mock/", "anthropic-mock/"
CHAT_PATH, MESSAGES_PATH = "/v1/chat/completions", "/v1/messages"


class Work:
    """One workload: how a body is made for a model, and the goal of each way to serve it."""

    def __init__(self, name, model, requests, concurrency, make, goals, path=CHAT_PATH, stream=False):
        self.name, self.model, self.make, self.path = name, model, make, path
        self.requests, self.concurrency = requests, concurrency
        # The terminator of whole responses and streams: nothing may be missing.
        self.expect = "[DONE]" if stream else "forty-two"
        own, other = (CHAT, MESSAGES) if path == CHAT_PATH else (MESSAGES, CHAT)
        models = {"same": own + model, "edited": own + bodies.EDITED_MODEL, "translated": other + model}
        # The requested model and the goal of each way.
        self.ways = {way: (models[way], goal) for way, goal in goals.items()}


def stream(model):
    return bodies.chat(model, stream=True)


def image(model):
    return bodies.chat(model, image=bodies.picture())


def long_agent(model):
    return bodies.agent(model, turns=200)


def both(same, translated):
    return {"same": same, "translated": translated}


AGENT_GOALS = {"same": 2.0, "edited": 3.0, "translated": 4.0}
WORKS = [
    Work("small request", "small", 20_000, 32, bodies.chat, both(3.5, 5.0)),
    Work("200-chunk burst stream", "burst", 2_000, 16, stream, both(3.0, 6.0), stream=True),
    Work("the same in one write", "flood", 3_000, 16, stream, both(3.0, 6.0), stream=True),
    Work("200-chunk paced stream", "paced", 400, 200, stream, {"same": 1.5}, stream=True),
    Work("1 MB image", "small", 1_000, 8, image, both(2.2, 4.5)),
    Work("agent with 24 tools", "small", 4_000, 8, bodies.agent, AGENT_GOALS, MESSAGES_PATH),
    Work("agent after 1 MB", "small", 500, 4, long_agent, AGENT_GOALS, MESSAGES_PATH),
]


def cpu(pids):
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def memory(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def wait_for(port, process, seconds=10):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"{process.args} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.002)
    raise SystemExit(f"{process.args} does not listen")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Contestant:
    def __init__(self, name, port, process, plain=False):
        self.name, self.port, self.process = name, port, process
        # A plain proxy passes the body on, so the model has no prefix and there is one way.
        self.plain = plain

    def ways(self, work):
        """The ways in which it can serve a workload, and the model to ask for."""
        if self.plain:
            return {"same": work.model}
        return {way: model for way, (model, _) in work.ways.items()}

    def pids(self):
        pid = self.process if isinstance(self.process, int) else self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]


def asking(tool, who, path, file, requests, concurrency, expect):
    """The load generator's command, off the gateway's core."""
    command = ["taskset", "-c", OTHER_CORE, tool, str(who.port), path]
    return [*command, str(file), KEY, str(requests), str(concurrency), expect]


def load(tool, contestant, work, model, folder):
    file = folder / "request.json"
    file.write_bytes(work.make(model))
    command = asking(
        tool, contestant, work.path, file, work.requests, work.concurrency, work.expect
    )
    before = cpu(contestant.pids())
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    spent = cpu(contestant.pids()) - before
    result = json.loads(ran.stdout)
    if result["failed"]:
        raise SystemExit(f"{contestant.name}, {work.name}: {result} {ran.stderr}")
    result["cpu_us"] = spent / work.requests * 1e6
    result["rate"] = result["answers"] / result["seconds"]
    return result


def median(results, field):
    return statistics.median(result[field] for result in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="part of a work's name; measures nothing else")
    parser.add_argument("--streams", type=int, default=2000, help="paced streams held at once")
    parser.add_argument("--binary", default=str(ROOT / "target/release/majordomo"))
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="NAME=PORT,PID",
        help="another gateway, already started on core 0 with the mock behind it",
    )
    parser.add_argument("--tools", help="folder with the built `mock` and `load`")
    parser.add_argument("--mock", type=int, help="the mock's port, for --beside")
    chosen = parser.parse_args()
    if not shutil.which("nginx"):
        sys.exit("nginx is missing: install it from the system's packages")
    tools = Path(chosen.tools) if chosen.tools else build_tools()
    mock_tool, load_tool = (str(tools / name) for name in ("mock", "load"))
    folder = Path(tempfile.mkdtemp(prefix="majordomo-bench-"))
    # The ledger of the measured gateway, which is on by default.
    os.environ["XDG_STATE_HOME"] = str(folder)
    started = []
    try:
        measure(chosen, folder, started, mock_tool, load_tool)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=40)
        shutil.rmtree(folder, ignore_errors=True)


def build_tools():
    """The folder of `mock` and `load`."""
    target = ROOT / "target/bench-tools"
    build = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(HERE / "Cargo.toml")]
    subprocess.run([*build, "--target-dir", str(target)], check=True)
    return target / "release"


def start(started, core, command, port, log):
    began = time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen(["taskset", "-c", core, *command], stdout=out, stderr=out)
    started.append(process)
    wait_for(port, process)
    return process, time.monotonic() - began


def measure(chosen, folder, started, mock_tool, load_tool):
    mock, nginx_port, port, operator = free_ports(4)
    mock = chosen.mock or mock
    start(started, OTHER_CORE, [mock_tool, str(mock)], mock, folder / "mock.log")
    conf = folder / "nginx.conf"
    conf.write_text(NGINX.format(folder=folder, mock=mock, port=nginx_port))
    command = ["nginx", "-e", str(folder / "nginx-error.log"), "-c", str(conf)]
    nginx, _ = start(started, GATEWAY_CORE, command, nginx_port, folder / "nginx.log")
    config = folder / "majordomo.toml"
    config.write_text(MAJORDOMO.format(port=port, operator=operator, mock=mock, key=KEY))
    command = [chosen.binary, "serve", "--config", str(config)]
    ours, took = start(started, GATEWAY_CORE, command, port, folder / "majordomo.log")
    time.sleep(0.3)
    idle = memory(ours.pid)
    size = Path(chosen.binary).stat().st_size / 2**20

    base = Contestant("nginx", nginx_port, nginx, plain=True)
    contestants = [base, Contestant("majordomo", port, ours)]
    for other in chosen.beside:
        name, _, rest = other.partition("=")
        other_port, pid = map(int, rest.split(","))
        contestants.append(Contestant(name, other_port, pid))

    print("| work | who | dialect | CPU per request | ratio | goal | requests a second |")
    print("|---|---|---|---|---|---|---|")
    for work in WORKS:
        if chosen.only and chosen.only not in work.name:
            continue
        runs = {}
        # Each round includes all gateways, so that noise affects them equally.
        for _ in range(chosen.rounds):
            for who in contestants:
                for way, model in who.ways(work).items():
                    result = load(load_tool, who, work, model, folder)
                    runs.setdefault((who.name, way), []).append(result)
        bare = median(runs["nginx", "same"], "cpu_us")
        for (name, way), results in runs.items():
            spent, rate = median(results, "cpu_us"), median(results, "rate")
            goal = work.ways[way][1] if name == "majordomo" else ""
            print(
                f"| {work.name} | {name} | {way} | {spent:.0f} µs | {spent / bare:.2f} | {goal} "
                f"| {rate:.0f} |",
                flush=True,
            )
    if chosen.only:
        return
    latency(load_tool, contestants, mock, folder)
    held(load_tool, contestants, chosen.streams, folder)
    returned(load_tool, contestants, folder)
    print(f"\nstart to listening {took * 1000:.0f} ms, idle {idle:.1f} MB, binary {size:.1f} MB")


def latency(tool, contestants, mock, folder):
    """The latency that each adds to a small request, one at a time."""
    direct = Contestant("direct", mock, os.getpid(), plain=True)
    work = Work("latency", "small", 3_000, 1, bodies.chat, both(None, None))
    times = {}
    for _ in range(3):
        for who in [direct, *contestants]:
            result = load(tool, who, work, who.ways(work)["same"], folder)
            times.setdefault(who.name, []).append(result)
    bare = median(times["direct"], "p50_us")
    print("\n| one request at a time | median | added | 99th percentile |\n|---|---|---|---|")
    for name, results in times.items():
        middle, tail = median(results, "p50_us"), median(results, "p99_us")
        print(f"| {name} | {middle:.0f} µs | {middle - bare:.0f} µs | {tail:.0f} µs |")


def peak_while(tool, who, file, requests, concurrency, expect):
    """The memory before these requests, and the peak while they run."""
    pids = who.pids()
    before = peak = sum(map(memory, pids))
    command = asking(tool, who, CHAT_PATH, file, requests, concurrency, expect)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while running.poll() is None:
        peak = max(peak, sum(map(memory, pids)))
        time.sleep(0.02)
    result = json.loads(running.communicate()[0])
    if result["failed"]:
        raise SystemExit(f"{who.name}: {result}")
    return before, peak


def held(tool, contestants, count, folder):
    """The memory of many streams at once: the peak while they are held."""
    print(f"\n| {count} paced streams at once | memory before | held | each |\n|---|---|---|---|")
    file = folder / "request.json"
    for who in contestants:
        file.write_bytes(stream("paced" if who.plain else CHAT + "paced"))
        before, peak = peak_while(tool, who, file, count, count, "[DONE]")
        each = (peak - before) * 1024 / count
        print(f"| {who.name} | {before:.1f} MB | {peak:.1f} MB | {each:.1f} KiB |", flush=True)


def returned(tool, contestants, folder):
    """The memory retained after 200 requests with images of 5 MB."""
    print("\n| 200 pictures of 5 MB | memory before | peak | 5 s later |\n|---|---|---|---|")
    file = folder / "request.json"
    for who in contestants:
        # The baseline is a gateway that has served as many clients and kept its connections.
        warm_up = Work("warm-up", "small", 1_000, 32, bodies.chat, both(None, None))
        model = who.ways(warm_up)["same"]
        load(tool, who, warm_up, model, folder)
        time.sleep(5)
        file.write_bytes(bodies.chat(model, image=bodies.picture(1290)))
        before, peak = peak_while(tool, who, file, 200, 32, "forty-two")
        time.sleep(5)
        after = sum(map(memory, who.pids()))
        print(f"| {who.name} | {before:.1f} MB | {peak:.1f} MB | {after:.1f} MB |", flush=True)


if __name__ == "__main__":
    main()
