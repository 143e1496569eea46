"""Starts an upstream, a gateway and clients, disconnects the clients, and measures when
the gateway cancels their upstream calls. Start it with `run`: it needs its own network
namespace.

| client | waits for | detected by |
|---|---|---|
| quiet | the rest of a stalled stream | unanswered TCP keep-alives |
| busy | an active stream | unacknowledged bytes |
| waiting | the first byte of its response | unanswered TCP keep-alives |
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

GATEWAY, CLIENT = "192.0.2.1", "192.0.2.2"
PORT = 4100
KEY = "sk-canary-client-of-the-vanished"
MOST = 45
EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Upstream:
    """Responds to each model differently, and records when a call is cancelled."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received, self.closed = {}, {}
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(peer,), daemon=True).start()

    def answer(self, peer):
        read = b""
        while b'"model":"' not in read:
            piece = peer.recv(65536)
            if not piece or read.startswith(b"GET"):
                return peer.close()  # no model list
            read += piece
        model = re.search(rb'"model":"(\w+)"', read)[1].decode()
        self.received[model] = time.monotonic()
        if model != "waiting":
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            peer.sendall(head + EVENT)
        peer.settimeout(1)
        try:
            while True:
                try:
                    if not peer.recv(65536):
                        break
                except TimeoutError:
                    if model == "busy":
                        peer.sendall(EVENT)
        except OSError:
            pass  # a reset counts as a close
        self.closed[model] = time.monotonic()
        peer.close()


def ask(model):
    """One client; it reports when its stream has begun, and never disconnects."""
    body = '{"model":"up/%s","stream":%s,"messages":[{"role":"user","content":"hi"}]}' % (
        model,
        "false" if model == "waiting" else "true",
    )
    peer = socket.create_connection((GATEWAY, PORT))
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nx-api-key: {KEY}\r\n"
    peer.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    read = b""
    while model != "waiting" and b"word" not in read:
        read += peer.recv(65536)
    return peer


def clients():
    """The clients' namespace: waits for its end of the cable, sends requests, and idles."""
    while subprocess.run(["ip", "link", "show", "end"], capture_output=True).returncode:
        time.sleep(0.05)
    ip("address", "add", f"{CLIENT}/24", "dev", "end")
    ip("link", "set", "end", "up")
    held = [ask(model) for model in ("quiet", "busy", "waiting")]
    print("asked", flush=True)
    sys.stdin.readline()
    ip("link", "set", "end", "down")
    print("pulled", flush=True)
    signal.pause()
    del held


def main():
    ip("link", "set", "lo", "up")
    ip("link", "add", "cable", "type", "veth", "peer", "name", "end")
    ip("address", "add", f"{GATEWAY}/24", "dev", "cable")
    ip("link", "set", "cable", "up")
    upstream = Upstream()
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "majordomo.toml")
        config.write_text(
            f'[server]\nlisten = "{GATEWAY}:{PORT}"\n[[keys]]\nname = "c"\nkey = "{KEY}"\n'
            f'[providers.up]\nkind = "openai"\nbase_url = "http://127.0.0.1:{upstream.port}"\n'
            'api_key = "canary"\n'
        )
        config.chmod(0o600)
        log = open(pathlib.Path(folder, "log"), "w+")
        gateway = subprocess.Popen(
            [os.environ["MAJORDOMO_BIN"], "serve", "--config", config],
            stdout=subprocess.DEVNULL, stderr=log,
            env={**os.environ, "XDG_STATE_HOME": folder},
        )
        side = subprocess.Popen(
            ["unshare", "--net", sys.executable, __file__, "clients"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        try:
            judge(upstream, side, log)
        finally:
            for process in (side, gateway):
                process.kill()
                process.wait()


def judge(upstream, side, log):
    # unshare execs the clients, so the pid is theirs; they wait for the link.
    time.sleep(0.5)
    ip("link", "set", "end", "netns", str(side.pid))
    if side.stdout.readline() != "asked\n":
        sys.exit("the clients were not served: " + pathlib.Path(log.name).read_text())
    while "waiting" not in upstream.received:
        time.sleep(0.01)
    side.stdin.write("pull\n")
    side.stdin.flush()
    side.stdout.readline()
    pulled = time.monotonic()
    while len(upstream.closed) < 3 and time.monotonic() < pulled + MOST:
        time.sleep(0.05)
    for model in ("quiet", "busy", "waiting"):
        after = upstream.closed.get(model)
        print(f"{model}: " + (f"let go after {after - pulled:.1f} s" if after else "still held"))
    gone = pathlib.Path(log.name).read_text().count('outcome="client_gone"')
    print(f"requests whose client is gone: {gone}")
    if len(upstream.closed) < 3 or min(upstream.closed.values()) < pulled or gone != 3:
        sys.exit(f"not all were let go within {MOST} s, or not because their client was gone")


if sys.argv[1:] == ["clients"]:
    clients()
else:
    main()
