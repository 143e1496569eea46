"""Shared by all SDKs: the server's address and its responses.

The same constants are in crates/wire/examples/sdk_server/scenarios.rs.
"""

import os
import struct
import zlib

import pytest
from pydantic import BaseModel

TEXT = 'Grüße, 你好 🎩\n"quoted" \\ done.'
PARIS = {"city": "Paris", "days": 3}
OSLO = {"city": "Zoë's \"Oslo\"", "days": 1}
WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
KEY = "sk-canary-not-a-key"
TIMEOUT = 10.0


class City(BaseModel):
    """The response of the model `structured`, as a schema."""

    city: str
    population: int


@pytest.fixture(scope="session")
def server() -> str:
    """The server's address, without a trailing slash."""
    return os.environ["MAJORDOMO_SDK_SERVER"]


@pytest.fixture(scope="session")
def png() -> bytes:
    """A red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", pixel)
        + chunk(b"IEND", b"")
    )
