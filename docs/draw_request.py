#!/usr/bin/env python3
"""Draws docs/request.svg: the path of one request through a chain.

    python3 docs/draw_request.py            # writes docs/request.svg
    python3 docs/draw_request.py --dark     # prints the dark variant, to inspect it

Standard library only. The file follows the reader's color scheme.
"""

import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 960, 462

LIGHT = {
    "page": "#ffffff", "edge": "#d0d7de", "text": "#1f2328", "dim": "#59636e", "box": "#f6f8fa",
    "line": "#8c959f", "good": "#1a7f37", "good_box": "#eaf6ec", "bad": "#9a6700", "bad_box": "#fbf5e0",
    "change": "#0969da", "change_box": "#eaf3fd",
}
DARK = {
    "page": "#0d1117", "edge": "#3d444d", "text": "#f0f6fc", "dim": "#9198a1", "box": "#151b23",
    "line": "#7d8590", "good": "#56d364", "good_box": "#12261e", "bad": "#e3b341", "bad_box": "#272115",
    "change": "#6cb6ff", "change_box": "#121d2f",
}

STYLE = """
text {{ font-family: -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif;
  font-size: 13px; fill: {text}; }}
.title {{ font-weight: 600; font-size: 14px; }}
.dim {{ fill: {dim}; font-size: 12px; }}
.mono {{ font-family: ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; font-size: 12px; }}
.page {{ fill: {page}; stroke: {edge}; }}
.box {{ fill: {box}; stroke: {edge}; }}
.chain {{ fill: none; stroke: {line}; stroke-dasharray: 5 4; }}
.benched {{ fill: {bad_box}; stroke: {bad}; stroke-dasharray: 5 4; }}
.shaped {{ fill: {change_box}; stroke: {change}; }}
.serving {{ fill: {good_box}; stroke: {good}; stroke-width: 1.6; }}
.bad {{ fill: {bad}; }} .change {{ fill: {change}; }} .good {{ fill: {good}; }}
.arrow {{ fill: none; stroke: {line}; stroke-width: 1.5; }}
.flow {{ fill: none; stroke: {good}; stroke-width: 1.8; }}
.head {{ fill: {line}; }} .flowhead {{ fill: {good}; }}
"""


def style(palette):
    return STYLE.format(**palette)


def box(x, y, width, height, kind="box"):
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>'


def text(x, y, words, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def arrow(points, kind="arrow"):
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    marker = "flowhead" if kind == "flow" else "head"
    return f'<path class="{kind}" d="{path}" marker-end="url(#{marker})"/>'


def stage(x, y, width, title, lines, height=78):
    """One step of the pipeline."""
    drawn = [box(x, y, width, height), text(x + width / 2, y + 24, title, "title", "middle")]
    for at, line in enumerate(lines):
        drawn.append(text(x + width / 2, y + 45 + 17 * at, line, "dim", "middle"))
    return drawn


def target(x, y, kind, color, name, verdict, lines):
    """One target of the chain."""
    drawn = [box(x, y, 278, 112, kind), text(x + 14, y + 24, name, "mono")]
    drawn.append(text(x + 14, y + 48, verdict, f"title {color}"))
    for at, line in enumerate(lines):
        drawn.append(text(x + 14, y + 70 + 18 * at, line, "dim"))
    return drawn


def drawing():
    top, middle, bottom = 24, 160, 360
    drawn = [box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, "page")]

    stages = [
        (124, "client", ["any of five", "API dialects"]),
        (124, "trust", ["Host, Origin, key", "before the body"]),
        (124, "front", ["decodes the body", "into one Request"]),
        (124, "rules", ["which route,", "and why"]),
        (134, "processors", ["edit the request", "once"]),
        (134, "balance", ["orders the route's", "services"]),
    ]
    x, gap = 24, 29
    for at, (width, title, lines) in enumerate(stages):
        drawn += stage(x, top, width, title, lines)
        if at + 1 < len(stages):
            drawn.append(arrow([(x + width + 2, top + 39), (x + width + gap - 3, top + 39)]))
        x += width + gap
    last = x - gap - stages[-1][0] / 2
    drawn.append(arrow([(last, top + 80), (last, top + 106), (44, top + 106), (44, middle + 31)]))

    drawn.append(box(12, middle - 18, WIDTH - 24, 186, "chain"))
    drawn.append(text(60, middle + 8, "chain", "title"))
    drawn.append(text(106, middle + 8, "shapes the original request for each target, at each attempt", "dim"))
    row = middle + 34
    drawn += target(24, row, "benched", "bad", "anthropic/claude-opus-5-5", "benched",
                    ["429, Retry-After: 30", "skipped, no call made"])
    drawn += target(341, row, "shaped", "change", "deepseek/deepseek-v4-pro", "shaped: image described",
                    ["takes no images, gets a description", "503 before the first token: next target"])
    drawn += target(658, row, "serving", "good", "ollama/qwen3-vl:8b", "serving",
                    ["takes images, gets the pixels", "first token commits the stream"])
    for x in (304, 621):
        drawn.append(arrow([(x, row + 56), (x + 34, row + 56)]))

    drawn.append(arrow([(797, row + 114), (797, bottom - 3)], "flow"))
    drawn += stage(658, bottom, 278, "relay", ["encodes the client's dialect;", "same dialect: the same bytes"])
    drawn += stage(341, bottom, 278, "record",
                   ["x-majordomo-* headers, log line, metrics,", "trace: every attempt, every change"])
    drawn += stage(24, bottom, 278, "client", ["one complete response,", "or one error"])
    drawn.append(arrow([(656, bottom + 39), (622, bottom + 39)], "flow"))
    drawn.append(arrow([(339, bottom + 39), (305, bottom + 39)], "flow"))
    return drawn


def svg(styles):
    title = "A request on its way through trust, front, rules, processors, balance, a chain of three targets and the relay"
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="{name}" d="M0 0.5 L8 4 L0 7.5 z"/></marker>'
        for name in ("head", "flowhead")
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{styles}</style>",
        f"<defs>{heads}</defs>",
        *drawing(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main():
    if "--dark" in sys.argv:
        sys.stdout.write(svg(style(DARK)))
        return
    both = style(LIGHT) + "@media (prefers-color-scheme: dark) {" + style(DARK) + "}\n"
    Path(__file__).with_name("request.svg").write_text(svg(both), encoding="utf-8")


if __name__ == "__main__":
    main()
