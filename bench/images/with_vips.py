"""The benchmark's work done by libvips: ROW FILE TIMES."""

import sys

import pyvips

QUALITIES = (85, 65, 45, 30)
pyvips.cache_set_max(0)


def encode(image, quality):
    return image.jpegsave_buffer(Q=quality, strip=True)


def ladder(image, budget):
    image = image.copy_memory()
    while True:
        for quality in QUALITIES:
            data = encode(image, quality)
            if len(data) <= budget:
                return data
        image = image.resize(0.5).copy_memory()


def work(row, data):
    if row.endswith("-1568"):
        image = pyvips.Image.thumbnail_buffer(data, 1568, height=1568, size="down")
        return encode(image, 85)
    image = pyvips.Image.new_from_buffer(data, "", access="sequential")
    if row == "photo-1MB":
        return ladder(image, 1_000_000)
    if row == "photo-100kB":
        return ladder(image, 100_000)
    if row == "turned":
        image = image.copy_memory().autorot()
    return encode(image, 85)


def main(row, file, times):
    data = open(file, "rb").read()
    for _ in range(int(times)):
        out = work(row, data)
    if int(times):
        print(len(out))
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak)


main(*sys.argv[1:])
