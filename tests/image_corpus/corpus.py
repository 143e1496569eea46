"""Fits every image of folders to several targets and judges the results.

    corpus.py FOLDER… [--targets NAMES] [--report FILE.csv] [--release] [--limit N]

Each file is fitted in a process of its own. A result is compared with what Pillow and
libvips make of the same file, on a central crop; the better of the two counts. The run
fails if a fit crashes, exceeds its memory, changes an image that fits, cannot be read, or
shows another picture for no known reason. A JPEG is compared with JPEGs of the same quality.
"""

import argparse
import collections
import concurrent.futures
import csv
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parent.parent.parent
KINDS = (".jpg", ".jpeg", ".png", ".apng", ".gif", ".webp")
TARGETS = {
    "any": [],
    "px512": ["--px", "512"],
    "jpeg": ["--type", "image/jpeg"],
    "png768": ["--px", "768", "--type", "image/png"],
    "50kB": ["--px", "1568", "--bytes", "50000", "--type", "image/jpeg", "--type", "image/png"],
}
# The bound on decoded bytes, and what a process takes besides.
MAX_GROWTH = (256 + 32) << 20
MIN_SSIM = 0.95
# Levels by which a sample may differ and still be the same.
MAX_ROUNDING = 4
SAME = re.compile(rb"sent unchanged")


def build(release):
    built = os.environ.get("MAJORDOMO_TEST_BUILT")
    if built and not release:
        return str(Path(built) / "fit_image")
    command = ["cargo", "build", "--quiet", "--locked", "-p", "majordomo-media", "--example", "fit_image"]
    subprocess.run(command + (["--release"] if release else []), cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / ("release" if release else "debug") / "examples/fit_image")


def run(command):
    """Exit status, output, CPU seconds and peak bytes of a command."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    # It reports its own peak. If it fails, the system does, but counts this process, too.
    own = re.search(rb"VmHWM:\s*(\d+) kB", output)
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = int(own[1]) if own else max(0, usage.ru_maxrss - ours)
    return status, output, usage.ru_utime + usage.ru_stime, peak * 1024


def reason(output):
    """The class of a refusal: its message without numbers."""
    message = output.decode(errors="replace").strip().splitlines()[-1]
    message = re.sub(r"; tried.*|, and (the target|at most).*", "", message)
    return re.sub(r"[\d.,×]+ ?(k?MB|kB|B|megapixels)?", "#", message)[:70]


def known(path, target, result, source, apart, as_good):
    """Why another picture is expected; None if it is not."""
    # Next to black, SSIM takes a difference of one level for another picture.
    if apart <= MAX_ROUNDING:
        return "rounding"
    # Encoders pad the last blocks differently, which shows in icons of a few blocks.
    if as_good and result.startswith(b"\xff\xd8"):
        return "as similar to the source as the reference's JPEG"
    if target == "50kB" and len(result) <= 50_000 < path.stat().st_size:
        return "byte limit"
    if min(source.size) < 16:
        return "too small to compare"
    if result.startswith(b"GIF8"):
        return "palette"
    if source.format == "GIF" and (source.tile[0][1] if source.tile else None) != (0, 0, *source.size):
        return "canvas of an animation"
    return None


def judge(fit, base, path, target):
    with tempfile.NamedTemporaryFile() as out:
        command = [fit, str(path), "-o", out.name, *TARGETS[target]]
        status, output, cpu, peak = run(command)
        result = Path(out.name).read_bytes()
    size = path.stat().st_size
    row = {"file": path.name, "target": target, "cpu_ms": round(cpu * 1000), "ssim": ""}
    row["growth_mb"] = max(0, peak - base - 2 * size) >> 20
    if peak - base - 2 * size > MAX_GROWTH:
        return row | {"class": "FAULT: memory"}
    if status > 255 and os.WIFSIGNALED(status) or b"panicked" in output:
        return row | {"class": "FAULT: crash"}
    if status != 0:
        return row | {"class": f"refused: {reason(output)}"}
    if SAME.search(output):
        same = path.read_bytes()
        if result == same:
            return row | {"class": "untouched"}
        if same.startswith(result):
            return row | {"class": "trimmed"}
        return row | {"class": "FAULT: changed although it fits"}
    try:
        source, best, apart, as_good = reference.compare(path, result)
    except reference.Unreadable as error:
        return row | {"class": f"FAULT: unreadable result: {error}"}
    if source is None:
        return row | {"class": "fitted, no reference opens it"}
    row["ssim"] = round(best, 4)
    if best >= MIN_SSIM:
        return row | {"class": "fitted"}
    why = known(path, target, result, source, apart, as_good)
    return row | {"class": f"differs: {why}" if why else "FAULT: another picture"}


def images(folders, limit):
    found = [
        path
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
        if path.suffix.lower() in KINDS and path.is_file()
    ]
    step = max(1, -(-len(found) // limit)) if limit else 1
    return found[::step]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--report")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--limit", type=int, default=0, help="about so many files, spread evenly")
    options = parser.parse_args()
    fit = build(options.release)
    paths = images(options.folders, options.limit)
    if not paths:
        sys.exit("no images found")
    _, _, _, base = run([fit, str(paths[0]), "--times", "0"])
    pairs = [(path, target) for path in paths for target in options.targets.split(",")]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        work = [pool.submit(judge, fit, base, path, target) for path, target in pairs]
        rows = [done.result() for done in work]
    classes = collections.Counter(row["class"] for row in rows)
    for name, count in sorted(classes.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:6} {name}")
    hungriest = max(rows, key=lambda row: row["growth_mb"])
    slowest = max(rows, key=lambda row: row["cpu_ms"])
    print(f"most memory: {hungriest['growth_mb']} MB, {hungriest['file']} for {hungriest['target']}")
    print(f"most CPU: {slowest['cpu_ms']} ms, {slowest['file']} for {slowest['target']}")
    faults = [row for row in rows if row["class"].startswith("FAULT")]
    for row in faults[:40]:
        print(f"{row['class']}: {row['file']} for {row['target']}, SSIM {row['ssim']}")
    if options.report:
        with open(options.report, "w", newline="") as report:
            writer = csv.DictWriter(report, ["file", "target", "class", "ssim", "growth_mb", "cpu_ms"])
            writer.writeheader()
            writer.writerows(rows)
    print(f"{len(paths)} files, {len(rows)} fits, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
