"""Reads a dashboard with Grafana's own types and compares what they write with the file."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(given, written, path=""):
    """Yields what a value lacks or has differently after it was read and written."""
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            if key in written:
                yield from lost(value, written[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for at, pair in enumerate(zip(given, written)):
            yield from lost(*pair, f"{path}[{at}]")
    elif given != written:
        yield path


def overlaps(panels):
    """Yields panels that cover a place of another one, or leave the grid of 24 columns."""
    taken = {}
    for panel in panels:
        grid = panel["gridPos"]
        if grid["x"] + grid["w"] > 24:
            yield panel["title"]
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                if taken.setdefault((x, y), panel["title"]) != panel["title"]:
                    yield f"{panel['title']} and {taken[x, y]}"


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
written = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
problems = sorted({*lost(dashboard, written), *overlaps(dashboard["panels"])})
for problem in problems:
    print(problem)
ids = [panel["id"] for panel in dashboard["panels"]]
assert len(ids) == len(set(ids)) > 20, ids
sys.exit(bool(problems))
