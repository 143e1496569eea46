"""Shared by all clients: the gateway's address and the upstream's responses.

The responses are defined in ../upstream/script.py.
"""

import json
import os
import struct
import sys
import urllib.request
import uuid
import zlib
from pathlib import Path

import pytest
from command_line import Desk

sys.path.append(str(Path(__file__).parent.parent / "upstream"))

GATEWAY = os.environ["MAJORDOMO_URL"]
KEY = os.environ["MAJORDOMO_KEY"]
UPSTREAMS = ["chat", "responses", "messages", "gemini", "ollama"]
TIMEOUT = 30.0


def gateway_of(upstream: str) -> str:
    """The gateway that sends every model name to this upstream."""
    return os.environ["MAJORDOMO_URL_" + upstream.upper()]


def asked_upstream(word: str) -> list[dict]:
    """The requests that contain this word, as the upstream received them."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["UPSTREAM"] + "/requests", timeout=TIMEOUT) as answer:
        return [asked for asked in json.load(answer) if word in json.dumps(asked["body"])]


@pytest.fixture(scope="session")
def png() -> bytes:
    """A red square."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\x00" + b"\xff\x00\x00" * 64) * 64)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def word() -> str:
    """A unique word that identifies this test's requests."""
    return uuid.uuid4().hex


@pytest.fixture
def desk(tmp_path, png) -> Desk:
    """The environment of a command-line client."""
    return Desk(tmp_path, png)
