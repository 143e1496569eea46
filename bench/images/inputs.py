"""Draws the benchmark's inputs: photographs, a screenshot, WebPs."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont


def photograph(width, height):
    """Detail at every scale, like a landscape: sums of smooth noise."""
    random = np.random.default_rng(7)
    total = np.zeros((height, width, 3), np.float32)
    size, weight = 4, 110.0
    while size < width:
        small = random.standard_normal((size * height // width + 1, size, 3)).astype(np.float32)
        gray = small.mean(axis=2, keepdims=True) * 1.6
        small = small * 0.35 + gray * 0.65
        layers = [
            np.asarray(Image.fromarray(small[:, :, c]).resize((width, height), Image.BICUBIC))
            for c in range(3)
        ]
        total += np.stack(layers, axis=2) * weight * 0.5
        size, weight = size * 2, weight * 0.82
    return Image.fromarray(np.clip(total + 120, 0, 255).astype(np.uint8))


def screenshot(width, height):
    """Windows full of text in several colours."""
    image = Image.new("RGB", (width, height), (246, 247, 249))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=20)
    words = "let request model image limit fit while chain target return bytes error match".split()
    random = np.random.default_rng(3)
    colors = [(30, 30, 40), (20, 90, 200), (150, 30, 90), (10, 120, 60)]
    for x in range(0, width, width // 3):
        draw.rectangle((x + 8, 8, x + width // 3 - 8, height - 8), (255, 255, 255), (200, 200, 205))
        for y in range(24, height - 40, 28):
            line = " ".join(random.choice(words, 9))
            draw.text((x + 20, y), line, colors[int(random.integers(4))], font)
    return image


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    photo, screen = photograph(4000, 3000), screenshot(3840, 2160)
    photo.save(folder / "photo.jpg", quality=90)
    photo.save(folder / "progressive.jpg", quality=90, progressive=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    photo.save(folder / "turned.jpg", quality=90, exif=exif)
    screen.save(folder / "screen.png")
    screen.save(folder / "screen.webp", lossless=True)
    photograph(3264, 2448).save(folder / "photo.webp", quality=85)
    for file in sorted(folder.iterdir()):
        print(file.name, file.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
