"""HTTP/1.1 on a raw socket, for clients that violate the protocol."""

import asyncio
import json
import socket
import struct

# Longer than any request of a soak may take.
TIMEOUT = 60


def head(path, host, key, length, more=(), method="POST"):
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}", f"content-length: {length}"]
    if key:
        lines.append(f"authorization: Bearer {key}")
    lines.append("content-type: application/json")
    lines += [f"{name}: {value}" for name, value in more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def body(request):
    return json.dumps(request, separators=(",", ":")).encode()


def chat(model, content, **more):
    return {"model": model, "messages": [{"role": "user", "content": content}], **more}


async def read_response(reader):
    """The status, the headers and the whole body of the next response."""
    status_line = await reader.readline()
    if not status_line:
        raise ConnectionError("closed before an answer")
    status = int(status_line.split()[1])
    headers = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        parts = []
        while True:
            size = int((await reader.readline()).strip() or b"0", 16)
            part = await reader.readexactly(size + 2)
            if size == 0:
                return status, headers, b"".join(parts)
            parts.append(part[:-2])
    length = int(headers.get("content-length", 0))
    return status, headers, await reader.readexactly(length)


class Gateway:
    """The gateway's address."""

    def __init__(self, port, operator):
        self.port, self.operator = port, operator
        self.host = f"127.0.0.1:{port}"

    def connect(self, operator=False):
        port = self.operator if operator else self.port
        # Large responses are read as they arrive.
        return asyncio.open_connection("127.0.0.1", port, limit=1 << 20)

    async def ask(self, path, request, key, more=(), host=None, method="POST"):
        """One request on its own connection."""
        data = request if isinstance(request, bytes) else body(request)
        reader, writer = await asyncio.wait_for(self.connect(), TIMEOUT)
        try:
            writer.write(head(path, host or self.host, key, len(data), more, method) + data)
            # The gateway may respond before it has read everything; that counts as a response.
            sending = asyncio.ensure_future(writer.drain())
            answer = await asyncio.wait_for(read_response(reader), TIMEOUT)
            sending.cancel()
            return answer
        finally:
            writer.close()


def reset(writer):
    """Closes a connection with a reset."""
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
