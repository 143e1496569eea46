"""A scripted upstream for the gateway that speaks all five dialects.

Written against the vendors' documentation with nothing but the standard library,
so that it shares no mistake with the code under test. Each dialect has a prefix:
`/chat/v1/chat/completions`, `/gemini/v1beta/models/x:generateContent`, and so on.
Images and embeddings are below the prefix of
their dialect, Stable Diffusion's below `/swap`. `GET /requests` lists the requests received so far.

    python upstream FILE    writes its address to FILE and serves until it is stopped
"""

import json
import os
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chat
import embeddings
import gemini
import images
import messages
import ollama
import responses
from obliging import oblige
from script import Answer, Break, Refusal, Reset, answer

DIALECTS = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "gemini": gemini,
    "ollama": ollama,
}

asked: list[dict] = []
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/requests":
            with lock:
                return self.whole(200, asked)
        _, prefix, path = self.path.split("?")[0].split("/", 2)
        found = DIALECTS[prefix].lookup("/" + path, {}) if prefix in DIALECTS else None
        return self.whole(404, {"error": "no such path"}) if found is None else self.whole(200, found)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        place = self.path.split("?")[0]
        made = images.respond(place, self.headers.get("content-type", ""), raw)
        made = made or embeddings.respond(place, raw)
        if made is not None:
            with lock:
                asked.append({"path": self.path, "body": made[0], "at": time.time()})
            return self.whole(200, made[1])
        body = json.loads(raw)
        prefix, path = self.path.split("?")[0].removeprefix("/").split("/", 1)
        dialect, path = DIALECTS[prefix], "/" + path
        found = dialect.lookup(path, body)
        if found is not None:
            return self.whole(200, found)
        if not dialect.serves(path):
            return self.whole(404, {"error": f"no such path: {path}"})
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = {"dialect": prefix, "path": self.path, "headers": headers, "body": body}
        with lock:
            asked.append(received | {"at": time.time()})
        model = dialect.model_of(path, body)
        parsed = dialect.parse(body)
        reply = oblige(parsed) if model == "obliging" else answer(parsed)
        if isinstance(reply, Answer):
            reply.asked = body
        if isinstance(reply, Reset):
            return self.reset()
        if isinstance(reply, Refusal):
            return self.whole(reply.status, dialect.refuse(reply), reply.retry_after)
        if dialect.streams(path, body):
            return self.stream(dialect, reply, model)
        if isinstance(reply, Break):
            reply = reply.answer
        return self.whole(200, dialect.whole(reply, model))

    def reset(self):
        # With no time to linger, closing sends RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def whole(self, status: int, value, retry_after: str | None = None):
        data = json.dumps(value).encode()
        self.send_response(status)
        if retry_after:
            self.send_header("retry-after", retry_after)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, dialect, reply, model: str):
        breaks = isinstance(reply, Break)
        pieces = list(dialect.stream(reply.answer if breaks else reply, model))
        self.send_response(200)
        self.send_header("content-type", dialect.STREAM_TYPE)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces[: dialect.PIECES_BEFORE_BREAK] if breaks else pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        if breaks:
            self.close_connection = True  # without the last chunk: the response is truncated
        else:
            self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        # A client may disconnect at any time; anything else is a bug here.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    server = Server(("127.0.0.1", 0), Handler)
    host, port = server.server_address
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as file:
        file.write(f"http://{host}:{port}")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
