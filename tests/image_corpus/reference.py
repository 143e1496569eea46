"""What Pillow and libvips make of an image, and how similar two pictures are."""

import io

import numpy as np
import pyvips
from PIL import Image, ImageCms, ImageOps

Image.MAX_IMAGE_PIXELS = None
# Larger sources take the references too long.
MAX_PIXELS = 60_000_000
SRGB = ImageCms.createProfile("sRGB")


def flat(image):
    """RGB on white, upright, in sRGB."""
    profile = image.info.get("icc_profile")
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16") or image.mode == "I":
        image = Image.fromarray((np.asarray(image, dtype=np.uint32) >> 8).astype(np.uint8))
    if profile and image.mode in ("RGB", "CMYK", "L"):
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            image = ImageCms.profileToProfile(image, source, SRGB, outputMode="RGB")
        except ImageCms.PyCMSError:
            pass
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")


def by_pillow(path, size):
    with Image.open(path) as image:
        image.seek(0)
        return flat(image).resize(size, Image.LANCZOS, reducing_gap=3.0)


def by_vips(path, size):
    image = pyvips.Image.thumbnail(
        str(path), size[0], height=size[1], size="force", export_profile="srgb", import_profile="srgb"
    )
    if image.hasalpha():
        image = image.flatten(background=255)
    image = image.colourspace("srgb").cast("uchar")
    data = np.ndarray(
        buffer=image.write_to_memory(), dtype=np.uint8, shape=[image.height, image.width, image.bands]
    )
    return Image.fromarray(np.repeat(data, 3, axis=2) if image.bands == 1 else data[:, :, :3])


def crop(image):
    """The central part, at most 512 pixels wide and high; all of a narrow image."""
    width, height = image.size
    w, h = (min(512, side - 8 if side > 24 else side) for side in (width, height))
    left, top = (width - w) // 2, (height - h) // 2
    return np.asarray(image.crop((left, top, left + w, top + h)), dtype=np.float64)


def ssim(a, b):
    """The mean structural similarity of all channels, in windows of 8×8 pixels."""
    side = min(8, a.shape[0], a.shape[1])

    def mean(values):
        sums = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0), (0, 0)))
        total = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
        return total / (side * side)

    ma, mb = mean(a), mean(b)
    va, vb = mean(a * a) - ma * ma, mean(b * b) - mb * mb
    both = mean(a * b) - ma * mb
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    values = (2 * ma * mb + c1) * (2 * both + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    return float(values.mean())


def like(image, result):
    """The image, with the losses of the result's format: a JPEG by the same quantization, a
    GIF by a palette."""
    if result.startswith(b"GIF8"):
        return image.quantize(256, dither=Image.Dither.NONE).convert("RGB")
    if not result.startswith(b"\xff\xd8"):
        return image
    with Image.open(io.BytesIO(result)) as made:
        tables = made.quantization
    out = io.BytesIO()
    image.save(out, "JPEG", qtables=tables, subsampling=2)
    return Image.open(out).convert("RGB")


class Unreadable(Exception):
    """Pillow cannot read a result."""


def compare(path, result):
    """The source as Pillow opens it, the better SSIM, the largest difference of a sample from
    that reference, and whether the result is as similar to the source as the reference with
    its losses; no source if neither opens it."""
    nothing = None, 0.0, 255.0, False
    try:
        with Image.open(io.BytesIO(result)) as image:
            image.seek(0)
            ours = flat(image)
    except Exception as error:
        raise Unreadable(str(error)) from error
    try:
        source = Image.open(path)
        if source.size[0] * source.size[1] > MAX_PIXELS:
            return nothing
    except Exception:
        return nothing
    found = []
    for make in (by_pillow, by_vips):
        try:
            theirs = make(path, ours.size)
        except Exception:
            continue
        if theirs.size == ours.size:
            a, b, wanted = (crop(image) for image in (ours, like(theirs, result), theirs))
            as_good = ssim(a, wanted) >= ssim(b, wanted)
            found.append((ssim(a, b), float(np.abs(a - b).max()), as_good))
    return (source, *max(found)) if found else nothing
