"""Images, built with the standard library only."""

import base64
import random
import struct
import zlib


def chunk(kind, data):
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def png(width, height, rows):
    """A gray PNG from its rows, each with a filter byte."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def noise(side, seed=1):
    """An image that hardly compresses, like a photograph."""
    dice = random.Random(seed)
    rows = b"".join(b"\0" + dice.randbytes(side) for _ in range(side))
    return png(side, side, zlib.compress(rows, 1))


def bomb(side):
    """A small file with a huge number of pixels."""
    packer = zlib.compressobj(9)
    row = b"\0" * (side + 1)
    packed = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    return png(side, side, packed)


def part(data):
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url}}
