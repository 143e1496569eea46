#!/usr/bin/env python3
"""Checks a built site: links.py FOLDER. Every relative link names a file, and every anchor an element."""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids = set()
        self.links = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def main():
    folder = Path(sys.argv[1]).resolve()
    pages = {}
    for file in folder.rglob("*.html"):
        pages[file] = Page()
        pages[file].feed(file.read_text())
    problems = []
    for file, page in pages.items():
        # The print page repeats all others, with their links rewritten; 404 is served anywhere.
        if file.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.exists():
                problems.append(f"{file.relative_to(folder)}: {link}")
            elif anchor and target in pages and anchor not in pages[target].ids:
                problems.append(f"{file.relative_to(folder)}: {link} has no such element")
    if not list(folder.glob("searchindex*.js*")):
        problems.append("there is no search index")
    print("\n".join(sorted(set(problems))))
    print(f"{len(pages)} pages")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
