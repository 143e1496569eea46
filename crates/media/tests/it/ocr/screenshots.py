"""Draws a screenshot of 12-px text and scales it with Pillow: FOLDER WIDTH HEIGHT SIZE."""

import random
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WORDS = """request model answer stream target provider image limit budget header decode
resize encode quality ladder window context message result failure health retry cooldown
deadline gateway router balance ledger config secret token usage finish reason schema
function argument parallel system session channel buffer window network server client""".split()


def main(folder, width, height, size):
    folder, width, height, size = Path(folder), int(width), int(height), int(size)
    generator = random.Random(5)
    image = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=12)
    lines = []
    for y in range(20, height - 30, 24):
        line = " ".join(generator.choices(WORDS, k=12))
        draw.text((24, y), line, (20, 20, 25), font)
        lines.append(line)
    image.save(folder / "original.png")
    longer = max(width, height)
    scaled = image.resize((width * size // longer, height * size // longer), Image.LANCZOS)
    scaled.save(folder / "reference.png")
    (folder / "words.txt").write_text("\n".join(lines))


main(*sys.argv[1:])
