"""A describer with OCR: serves OpenAI Chat Completions and responds with the text in the
request's images.

usage: serve.py ADDRESS_FILE

It picks a free port of 127.0.0.1 and writes its address to ADDRESS_FILE once it
listens. Whole responses and streams; images only as data URLs, nothing is fetched.
"""

import base64
import io
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy
from PIL import Image
from rapidocr_onnxruntime import RapidOCR

MODEL = "ocr"
# On a busy machine threads that wait for each other are slow; a single one is not.
# Small images are not enlarged, which would cost twenty times as much.
READER = RapidOCR(
    intra_op_num_threads=1,
    inter_op_num_threads=1,
    det_limit_type="max",
    det_limit_side_len=960,
)
ONE_AT_A_TIME = threading.Lock()


class BadRequest(Exception):
    """An invalid request, with a message."""


def open_image(url):
    """The pixels of a data URL's image."""
    head, _, data = url.partition(",")
    if not head.startswith("data:") or not head.endswith(";base64"):
        raise BadRequest("only data URLs are read")
    try:
        image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    except (ValueError, OSError) as error:
        raise BadRequest(f"this is no image: {error}") from error
    # The OCR engine expects BGR.
    return numpy.asarray(image)[:, :, ::-1]


def images_of(request):
    """The images of a request, in order."""
    images = []
    for message in request.get("messages", []):
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if part.get("type") == "image_url":
                images.append(open_image(part["image_url"]["url"]))
    if not images:
        raise BadRequest("there is no image in the request")
    return images


def read(images):
    """The text of the images, line by line."""
    texts = []
    for pixels in images:
        with ONE_AT_A_TIME:
            lines, _ = READER(pixels)
        texts.append("\n".join(line[1] for line in lines or []))
    return "\n\n".join(texts)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Logs nothing."""

    def do_GET(self):
        if self.path == "/v1/models":
            self.give(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self.fail(404, "there is nothing here")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path != "/v1/chat/completions":
            return self.fail(404, "there is nothing here")
        try:
            request = json.loads(body)
            images = images_of(request)
        except (BadRequest, ValueError, KeyError, AttributeError, TypeError) as error:
            return self.fail(400, str(error))
        if request.get("stream"):
            self.stream(images)
        else:
            text = read(images)
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = self.envelope("chat.completion", [choice])
            self.give(200, whole | {"usage": usage(text)})

    def stream(self, images):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        # The response begins before the text is known, so that no client times out.
        self.event([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}])
        text = read(images)
        for piece in text.splitlines(keepends=True):
            self.event([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        self.event([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        self.event([], usage=usage(text))
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def event(self, choices, **more):
        chunk = self.envelope("chat.completion.chunk", choices) | more
        self.chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def envelope(self, kind, choices):
        return {"id": "ocr-1", "object": kind, "created": 0, "model": MODEL, "choices": choices}

    def fail(self, status, message):
        self.give(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def give(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def usage(text):
    words = len(text.split())
    return {"prompt_tokens": 1, "completion_tokens": words, "total_tokens": 1 + words}


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    address_file = sys.argv[1]
    # Written atomically: a reader must never see half an address.
    with open(address_file + ".part", "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1:{server.server_address[1]}")
    os.replace(address_file + ".part", address_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
