"""Compares the image pipeline with libvips, Pillow and Go, in one run.

    python3 bench/images/run.py [--times N]

Needs Pillow, numpy, pyvips (with pyvips-binary) and cargo, and Go for its column. Every
contestant does the same work on the same files, each in its own process. Reported are
CPU time per image and peak memory, both without start-up. The last columns are the
ratio of our CPU time to that of libvips, and the goal.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROWS = [
    # name, file, arguments of ours, goal as a ratio to libvips
    ("photo-1568", "photo.jpg", ["--px", "1568", "--type", "image/jpeg"], 1.2),
    ("screen-jpeg", "screen.png", ["--type", "image/jpeg"], 1.2),
    ("screen-1568", "screen.png", ["--px", "1568", "--type", "image/jpeg"], 0.6),
    ("photo-1MB", "photo.jpg", ["--bytes", "1000000", "--type", "image/jpeg"], 0.95),
    ("photo-100kB", "photo.jpg", ["--bytes", "100000", "--type", "image/jpeg"], 0.4),
    ("webp-jpeg", "photo.webp", ["--type", "image/jpeg"], 1.25),
    ("prog-1568", "progressive.jpg", ["--px", "1568", "--type", "image/jpeg"], 0.7),
    ("turned", "turned.jpg", ["--type", "image/jpeg"], 0.7),
    ("lossless", "screen.webp", ["--type", "image/jpeg"], 1.0),
]


def run(command):
    """CPU seconds of a command, and the peak kilobytes that its last line reports."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {command}")
    return usage.ru_utime + usage.ru_stime, int(output.split()[-2])


def measure(command, times):
    """CPU milliseconds and megabytes per image, without start-up."""
    base_cpu, base_memory = run(command(0))
    _, memory = run(command(1))
    best = min(run(command(times))[0] for _ in range(3))
    return (best - base_cpu) * 1000 / times, (memory - base_memory) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "-p", "majordomo-media", "--example", "fit_image"]
    subprocess.run(build, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    ours = str(target / "release/examples/fit_image")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([sys.executable, HERE / "inputs.py", folder], check=True)
        go = str(folder / "with_go") if shutil.which("go") else None
        if go:
            subprocess.run(["go", "build", "-o", go, HERE / "with_go.go"], check=True)
        head = f"{'':12} {'ours':>14} {'libvips':>14} {'Pillow':>14} {'Go':>14}   ratio   goal"
        print(head + "\n" + "-" * len(head), flush=True)
        for name, file, arguments, goal in ROWS:
            if options.only and options.only not in name:
                continue
            file = str(folder / file)
            contestants = [
                lambda n: [ours, file, *arguments, "--times", str(n)],
                lambda n: [sys.executable, str(HERE / "with_vips.py"), name, file, str(n)],
                lambda n: [sys.executable, str(HERE / "with_pillow.py"), name, file, str(n)],
            ]
            if go and not file.endswith(".webp"):
                contestants.append(lambda n: [go, name, file, str(n)])
            figures = [measure(command, options.times) for command in contestants]
            cells = [f"{cpu:6.0f} ms {memory:3.0f} MB" for cpu, memory in figures]
            cells += ["-"] * (4 - len(cells))
            ratio = figures[0][0] / figures[1][0]
            verdict = "" if ratio <= goal else "  missed"
            line = " ".join(f"{cell:>14}" for cell in cells)
            print(f"{name:12} {line}   {ratio:5.2f}  {goal:5.2f}{verdict}", flush=True)


main()
