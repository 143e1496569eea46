"""Makes the pictures of docs/guide/images.md: draws inputs, runs `majordomo fit`.

    cargo build && python3 docs/guide/images/make.py target/debug/majordomo

Needs Pillow. The results are committed; run it when what is written there changes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import copy

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
SKY, GRASS, SUN, HOUSE, ROOF = "#8fc3ea", "#7cab5c", "#f6cf53", "#d9b38c", "#a4473f"
TURNED = 6  # the camera was held upright: the pixels lie on their side


def scene(width, height, sun_at=0.75):
    """A house under the sun; which way is up is plain to see."""
    image = Image.new("RGB", (width, height), SKY)
    draw = ImageDraw.Draw(image)
    x, y, side = width * sun_at, height * 0.2, min(width, height) * 0.1
    draw.ellipse((x - side, y - side, x + side, y + side), SUN)
    draw.rectangle((0, height * 0.7, width, height), GRASS)
    left, right, top = width * 0.25, width * 0.6, height * 0.48
    draw.rectangle((left, top, right, height * 0.8), HOUSE)
    draw.polygon([(left - 8, top), ((left + right) / 2, height * 0.3), (right + 8, top)], ROOF)
    return image


def turned_photo(path):
    upright = scene(150, 200)
    exif = Image.Exif()
    exif[0x0112] = TURNED
    stored = upright.transpose(Image.Transpose.ROTATE_90)
    stored.save(path, quality=80, exif=exif)
    return stored


def animation(path):
    frames = [scene(200, 130, at / 10) for at in range(2, 9)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=150, quality=60)


def long_page(path):
    """A page of text, longer than any screen."""
    image = Image.new("RGB", (420, 9000), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=15)
    for line, y in enumerate(range(12, 8980, 26)):
        draw.text((16, y), f"{line:3}  what fits is sent as it is, and", "#202428", font)
    image.save(path, optimize=True)
    return image.crop((0, 0, 420, 70))


def fit(majordomo, name, target, folder):
    """Runs the tool on a file and tells what it said; gives the file that it wrote."""
    out = folder / f"out-{name}"
    command = [majordomo, "fit", str(folder / name), "--for", target, "-o", str(out)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    said = said.replace(f"{folder}/", "").splitlines()
    print("\n".join([f"$ majordomo fit {name} --for {target} -o out-{name}", *said, ""]))
    return out


def main(majordomo):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # What a model sees that does not look at EXIF, and what it sees now.
        before = turned_photo(folder / "turned.jpg")
        before.save(HERE / "turned-before.jpg", quality=80)
        after = fit(majordomo, "turned.jpg", "ollama/llava", folder)
        copy(after, HERE / "turned-after.jpg")
        animation(folder / "moving.webp")
        copy(folder / "moving.webp", HERE / "moving-before.webp")
        after = fit(majordomo, "moving.webp", "ollama/llava", folder)
        copy(after, HERE / "moving-after.jpg")
        # Of the long page only its head is shown.
        before = long_page(folder / "page.png")
        before.save(HERE / "page-before.png", optimize=True)
        after = Image.open(fit(majordomo, "page.png", "anthropic/claude-opus-4-8", folder))
        head = after.crop((0, 0, after.width, 62)).quantize(32)
        head.save(HERE / "page-after.png", optimize=True)
    for file in sorted(HERE.glob("*-*.*")):
        print(file.name, file.stat().st_size)


main(sys.argv[1])
