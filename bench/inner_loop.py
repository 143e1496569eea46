#!/usr/bin/env python3
"""Measures the inner loop: `cargo check` after a one-line change in each crate.

Adds a comment to one source file of each crate, runs `cargo check --workspace`, restores the
file and prints a Markdown table for CONTRIBUTING: the seconds that pass and those of CPU
time, which a busy machine distorts less. Run it from any directory; `--repeat 3` takes the
median of three runs, `--tree DIR` measures another checkout, such as an earlier commit.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cpu_seconds():
    """CPU time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(tree):
    """Runs the command and returns the seconds that passed, and those of CPU time."""
    began, used = time.monotonic(), cpu_seconds()
    command = ["cargo", "check", "--workspace", "--quiet", "--locked"]
    subprocess.run(command, cwd=tree, check=True)
    return time.monotonic() - began, cpu_seconds() - used


def after_a_change(tree, source, number):
    """Seconds of a check after a change to this file, which is restored.

    So is its time of modification: cargo then takes the file for the one that it has just
    checked, which differs in a comment only, and the next measurement needs no check before it.
    """
    text, times = source.read_text(), source.stat()
    try:
        source.write_text(f"{text}// {number}\n")
        return check(tree)
    finally:
        source.write_text(text)
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, help="runs for each crate")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="the checkout to measure")
    arguments = parser.parse_args()
    tree = arguments.tree.resolve()
    check(tree)
    print("| change in | `cargo check` in s | of CPU time |")
    print("|---|---|---|")
    for folder in sorted((tree / "crates").iterdir()):
        source = next((s for s in (folder / "src/lib.rs", folder / "src/main.rs") if s.exists()), None)
        if source is None:
            continue
        runs = [after_a_change(tree, source, number) for number in range(arguments.repeat)]
        passed, used = (statistics.median(column) for column in zip(*runs))
        print(f"| `{folder.name}` | {passed:.1f} | {used:.1f} |", flush=True)


if __name__ == "__main__":
    main()
