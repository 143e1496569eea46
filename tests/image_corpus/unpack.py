"""Copies the images out of packages: PACKAGES IMAGES."""

import sys
import tarfile
import zipfile
from pathlib import Path

KINDS = (".jpg", ".jpeg", ".png", ".apng", ".gif", ".webp")


def files(package):
    """Name and reader of every file of a package."""
    if package.name.endswith(".tar.gz"):
        with tarfile.open(package) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, lambda: archive.extractfile(member).read()
    else:
        with zipfile.ZipFile(package) as archive:
            for name in archive.namelist():
                yield name, lambda: archive.read(name)


def main(packages, images):
    count = 0
    for package in sorted(Path(packages).iterdir()):
        for name, read in files(package):
            if name.lower().endswith(KINDS):
                (Path(images) / name.replace("/", "_")).write_bytes(read())
                count += 1
    print(count, "images")
    if count < 100:
        sys.exit("too few images")


main(*sys.argv[1:])
