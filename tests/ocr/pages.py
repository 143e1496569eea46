"""Renders pages of text with Chromium: FOLDER. Each is a screenshot and its words."""

import random
import subprocess
import sys
from pathlib import Path

WORDS = """request model answer stream target provider image limit budget header decode resize
encode quality ladder window context message result failure health retry cooldown deadline
gateway router balance ledger config secret token usage finish reason schema function argument
parallel system session channel buffer network server client paper river mountain morning
history garden market simple yellow number letter person company question government""".split()
SIZE = (1280, 1800)


class Page:
    """Text in several sizes, all multiplied by a factor."""

    def __init__(self, seed, factor):
        self.random = random.Random(seed)
        self.factor = factor
        self.words = []

    def text(self, count):
        words = self.random.choices(WORDS, k=count)
        self.words += words
        return " ".join(words)

    def px(self, size):
        return f"{round(size * self.factor)}px"

    def count(self, number):
        """Fewer words where they are larger."""
        return max(1, round(number / self.factor**2))


def article(page):
    sizes = [(40, 12), (32, 25), (26, 40), (22, 60), (19, 90), (17, 110), (15, 140), (13, 170)]
    body = "".join(f"<p style='font-size:{page.px(s)}'>{page.text(page.count(n))}</p>" for s, n in sizes)
    return body, "font-family:Liberation Serif;color:#222;background:#fff"


def code(page):
    colors = ["#c586c0", "#9cdcfe", "#ce9178", "#6a9955", "#d4d4d4"]
    body = ""
    for size, lines in [(34, 5), (28, 7), (24, 8), (20, 10), (17, 12), (15, 14), (13, 16)]:
        for _ in range(max(1, round(lines / page.factor))):
            color, text = page.random.choice(colors), page.text(round(6 / page.factor) + 1)
            style = f"font-size:{page.px(size)};color:{color};white-space:nowrap"
            body += f"<div style='{style}'>{text}</div>"
    return body, "font-family:DejaVu Sans Mono;background:#1e1e1e"


def table(page):
    body = "<div style='height:90px;background:linear-gradient(90deg,#2563eb,#9333ea)'></div>"
    body += "<table style='border-collapse:collapse'>"
    for size, rows in [(30, 5), (25, 7), (21, 9), (18, 10), (15, 14), (13, 16)]:
        for row in range(max(1, round(rows / page.factor))):
            color = "#eef4ff" if row % 2 else "#fff"
            cell = "<td style='border:1px solid #cbd5e1;padding:3px 8px'>{}</td>"
            cells = "".join(cell.format(page.text(2)) for _ in range(round(4 / page.factor)))
            body += f"<tr style='font-size:{page.px(size)};background:{color}'>{cells}</tr>"
    return body + "</table>", "font-family:Liberation Sans;color:#0f172a"


def main(folder):
    folder = Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for longer, factor in [(1568, 0.92), (768, 1.4)]:
        for seed, draw in enumerate([article, code, table]):
            page = Page(seed, factor)
            body, style = draw(page)
            name = folder / f"{longer}-{draw.__name__}"
            html = f"<!doctype html><meta charset=utf-8><body style='margin:24px;width:1232px;{style}'>{body}"
            name.with_suffix(".html").write_text(html)
            name.with_suffix(".txt").write_text(" ".join(page.words))
            command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            command += [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={name}.png"]
            log = subprocess.run(
                [*command, f"file://{name}.html"], timeout=120, capture_output=True, text=True
            )
            if log.returncode or not name.with_suffix(".png").exists():
                sys.exit(log.stderr)


main(sys.argv[1])
