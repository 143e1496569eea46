#!/usr/bin/env python3
"""Measures the inner loop: `cargo check` after a one-line change in each crate.

Adds a comment to one source file of each crate, runs `cargo check -p majordomo-cli`,
restores the file and prints a Markdown table for CONTRIBUTING. Run it on an idle machine,
from any directory; `--repeat 3` takes the median of three runs.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Nothing that the command depends on.
OUTSIDE = {"testkit"}


def check():
    """Runs the command and returns its seconds."""
    began = time.monotonic()
    command = ["cargo", "check", "--package", "majordomo-cli", "--quiet", "--locked"]
    subprocess.run(command, cwd=ROOT, check=True)
    return time.monotonic() - began


def after_a_change(source, number):
    """Seconds of a check after a change to this file, which is restored.

    So is its time of modification: cargo then takes the file for the one that it has just
    checked, which differs in a comment only, and the next measurement needs no check before it.
    """
    text, times = source.read_text(), source.stat()
    try:
        source.write_text(f"{text}// {number}\n")
        return check()
    finally:
        source.write_text(text)
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, help="runs for each crate")
    repeat = parser.parse_args().repeat
    check()
    rows = []
    for folder in sorted((ROOT / "crates").iterdir()):
        source = next((s for s in (folder / "src/lib.rs", folder / "src/main.rs") if s.exists()), None)
        if source is None or folder.name in OUTSIDE:
            continue
        seconds = [after_a_change(source, number) for number in range(repeat)]
        rows.append((folder.name, statistics.median(seconds)))
    print("| change in | `cargo check` in s |")
    print("|---|---|")
    for name, seconds in rows:
        print(f"| `{name}` | {seconds:.1f} |")


if __name__ == "__main__":
    main()
