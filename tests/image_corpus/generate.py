"""Draws images of the kinds that once went wrong: FOLDER."""

import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def photograph(width, height, seed=7):
    """Smooth noise at several scales."""
    random = np.random.default_rng(seed)
    total = np.zeros((height, width, 3), np.float32)
    for size, weight in [(3, 90), (7, 50), (17, 25)]:
        small = random.standard_normal((size, size, 3)).astype(np.float32)
        layers = [
            np.asarray(Image.fromarray(small[:, :, c]).resize((width, height), Image.BICUBIC))
            for c in range(3)
        ]
        total += np.stack(layers, axis=2) * weight
    return Image.fromarray(np.clip(total + 128, 0, 255).astype(np.uint8))


def blank_png(width, height, depth, color):
    """A PNG of zeros, written piece by piece."""
    channels = {0: 1, 2: 3, 6: 4}[color]
    row = 1 + (width * channels * depth + 7) // 8
    packer, packed, left = zlib.compressobj(9), [], row * height
    while left:
        piece = min(left, 1 << 24)
        packed.append(packer.compress(bytes(piece)))
        left -= piece
    packed.append(packer.flush())

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", b"".join(packed)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def main(folder):
    folder = Path(folder)
    for width, height in [(301, 203), (640, 480), (97, 1201)]:
        image = photograph(width, height)
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                name = f"photo-{width}x{height}-{subsampling}-{progressive}.jpg"
                options = {"quality": 90, "subsampling": subsampling, "progressive": progressive}
                (folder / name).write_bytes(saved(image, "JPEG", **options))
        exif = Image.Exif()
        exif[0x0112] = 6
        (folder / f"turned-{width}.jpg").write_bytes(saved(image, "JPEG", quality=90, exif=exif))
        jpeg = saved(image, "JPEG", quality=90)
        (folder / f"padded-{width}.jpg").write_bytes(jpeg + bytes(64))
        (folder / f"stray-{width}.jpg").write_bytes(jpeg[:20] + b"\0\0" + jpeg[20:])
        (folder / f"lossy-{width}.webp").write_bytes(saved(image, "WEBP", quality=85))
        (folder / f"lossless-{width}.webp").write_bytes(saved(image, "WEBP", lossless=True))
        alpha = image.convert("RGBA")
        alpha.putalpha(image.convert("L"))
        (folder / f"alpha-{width}.webp").write_bytes(saved(alpha, "WEBP", quality=85))
        (folder / f"alpha-{width}.png").write_bytes(saved(alpha, "PNG"))
        (folder / f"gray-as-rgb-{width}.png").write_bytes(
            saved(image.convert("L").convert("RGB"), "PNG")
        )
        (folder / f"cmyk-{width}.jpg").write_bytes(saved(image.convert("CMYK"), "JPEG", quality=92))
        frames = [photograph(width, height, seed) for seed in (1, 2)]
        (folder / f"moving-{width}.gif").write_bytes(
            saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
        )
    extremes = [(50_000_000, 1, 8, 0), (1, 49_999_991, 8, 0), (10_000_000, 5, 8, 2)]
    for width, height, depth, color in extremes:
        name = f"extreme-{width}x{height}-{color}.png"
        (folder / name).write_bytes(blank_png(width, height, depth, color))


main(*sys.argv[1:])
