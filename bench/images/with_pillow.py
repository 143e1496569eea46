"""The benchmark's work done by Pillow: ROW FILE TIMES."""

import io
import sys

from PIL import Image, ImageOps

QUALITIES = (85, 65, 45, 30)


def encode(image, quality):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def ladder(image, budget):
    while True:
        for quality in QUALITIES:
            data = encode(image, quality)
            if len(data) <= budget:
                return data
        image = image.resize((image.width // 2, image.height // 2), Image.LANCZOS)


def work(row, data):
    image = Image.open(io.BytesIO(data))
    if row.endswith("-1568"):
        # A JPEG is opened at a fraction of its size where that is enough.
        image.draft("RGB", (1568, 1568))
        image.thumbnail((1568, 1568), Image.LANCZOS)
        return encode(image.convert("RGB"), 85)
    if row == "photo-1MB":
        return ladder(image.convert("RGB"), 1_000_000)
    if row == "photo-100kB":
        return ladder(image.convert("RGB"), 100_000)
    if row == "turned":
        image = ImageOps.exif_transpose(image)
    return encode(image.convert("RGB"), 85)


def main(row, file, times):
    data = open(file, "rb").read()
    for _ in range(int(times)):
        out = work(row, data)
    if int(times):
        print(len(out))
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak)


main(*sys.argv[1:])
