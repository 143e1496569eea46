"""Draws words into an image of every format: FOLDER gets NAME.EXT and NAME.txt.

usage: draw.py FOLDER
"""

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

IMAGES = {
    "sign.png": "Cherry street 4711",
    "label.jpg": "Walnut cookies 250 grams",
    "error.webp": "Connection refused on port 8443",
    "ticket.gif": "Train to Lisbon departs 19:45",
}


def main():
    folder = Path(sys.argv[1])
    font = ImageFont.load_default(size=36)
    for name, words in IMAGES.items():
        image = Image.new("RGB", (720, 120), "white")
        ImageDraw.Draw(image).text((30, 35), words, fill="black", font=font)
        image.save(folder / name)
        (folder / name).with_suffix(".txt").write_text(words, encoding="utf-8")


if __name__ == "__main__":
    main()
