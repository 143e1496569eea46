#!/usr/bin/env python3
"""Prepares a copy of docs for mdBook: prepare.py FOLDER.

Writes SUMMARY.md from the guide's own index, so that there is one list of pages, and turns links to
files outside of docs into links to the repository.
"""
import re
import sys
from pathlib import Path

REPOSITORY = "https://github.com/majordomo-llm/majordomo/blob/main/"
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)")
FRONT = """# majordomo

An LLM gateway and Rust client with failover, in one binary, that shows why each request went where it did.

![The path of a request through a chain](request.svg)

- [Guide](guide/index.md): start here
- [What is supported](support.md)
- [The source]({repository})
"""
REFERENCE = ["glossary.md", "support.md", "matrix.md", "differences.md", "faults.md", "threat-model.md"]


def title(page):
    for line in page.read_text().splitlines():
        if line.startswith("# "):
            return line[2:].strip().replace("`", "")
    return page.stem


def summary(docs):
    index = (docs / "guide/index.md").read_text().split("\n## ")[0]
    lines = ["# Summary", "", "[majordomo](index.md)", "[Guide](guide/index.md)", ""]
    listed = {docs / "guide/index.md"}
    for group in re.split(r"^- ", index, flags=re.MULTILINE)[1:]:
        name, _, rest = group.partition(":")
        pages = [docs / "guide" / path for _, path in LINK.findall(rest)]
        pages = [page for page in pages if page.parent.name == "guide"]
        if pages:
            lines += ["", f"# {name.strip()}", ""]
        for page in pages:
            listed.add(page)
            lines.append(f"- [{title(page)}](guide/{page.name})")
    more = sorted(set(docs.glob("guide/*.md")) - listed)
    if more:
        lines += ["", "# More", ""]
        lines += [f"- [{title(page)}](guide/{page.name})" for page in more]
    lines += ["", "# Reference", ""]
    lines += [f"- [{title(docs / name)}]({name})" for name in REFERENCE]
    lines += ["", "# Decisions", "", "- [Decisions](adr/index.md)"]
    adrs = sorted(docs.glob("adr/0*.md"))
    lines += [f"  - [{title(page)}](adr/{page.name})" for page in adrs]
    return "\n".join(lines) + "\n"


def outside(page, docs):
    """Links of a page that leave docs, made absolute."""
    text = page.read_text()

    def absolute(match):
        path, _, anchor = match[2].partition("#")
        if "://" in path or not path:
            return match[0]
        steps = []
        for part in [*page.relative_to(docs).parent.parts, *path.split("/")]:
            if part == "..":
                if not steps:
                    rest = path[path.rindex("../") + 3 :]
                    return f"{match[1]}({REPOSITORY}{rest}{'#' + anchor if anchor else ''})"
                steps.pop()
            elif part != ".":
                steps.append(part)
        return match[0]

    page.write_text(re.sub(r"(\])\(([^)\s]+)\)", absolute, text))


def main():
    docs = Path(sys.argv[1])
    for page in sorted(docs.rglob("*.md")):
        outside(page, docs)
        # mdBook renames READMEs, and leaves links to them as they are.
        page.write_text(re.sub(r"(\]\([^):]*)README\.md", r"\1index.md", page.read_text()))
        if page.name == "README.md":
            page.rename(page.with_name("index.md"))
    repository = REPOSITORY.removesuffix("/blob/main/")
    (docs / "index.md").write_text(FRONT.format(repository=repository))
    (docs / "SUMMARY.md").write_text(summary(docs))


if __name__ == "__main__":
    main()
