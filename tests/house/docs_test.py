#!/usr/bin/env python3
"""Checks README.md, CHANGELOG.md and the pages of docs/: their links, their lengths, and some of their words.

  docs_test.py ROOT           fails and names each fault
  docs_test.py --self-test    fails unless a fault of each kind is found
"""
import os
import re
import sys

from checker import run

# Most words, as `wc -w` counts them.
LIMITS = {"README.md": 900, "docs/explanation/performance.md": 1999}
# Not plain English, or not true: the MPI library is no "system", and what is missing "is not there".
PHRASES = re.compile(
    r"not to be had|the system's own|\btells? (?:the|that|which|how|what|whether|where|its?|apart)\b", re.I)
LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
GENERATED = re.compile(r"<!-- table .*?<!-- end of table -->", re.S)
# A number that somebody measured. In the README such numbers are made by scripts/readme-table.
MEASURED = re.compile(r"\d[\d.,]*\s*(?:×|µs|us|ms|ns|%|[GM]B/s)(?!\w)")


def without_code(text):
    fenced = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]+`", "", fenced)


def headings(text):
    """The anchors that GitHub and MyST give a page's headings."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def check_links(name, text, read):
    """`read` gives the text of a file, "" for a folder or another kind of file, None where nothing is there."""
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        there = read(page)
        if there is None:
            yield f"{name}: there is no {page}"
        elif anchor and anchor not in headings(there):
            yield f"{name}: {page} has no heading #{anchor}"


def check_page(name, text, read):
    yield from check_links(name, text, read)
    words = len(text.split())
    if words > LIMITS.get(name, words):
        yield f"{name}: {words} words, {LIMITS[name]} are the most"
    for phrase in PHRASES.findall(without_code(text)):
        yield f'{name}: "{phrase}"; write plainly who does what'
    if re.search(r"\bplease\s+report\b", text, re.I) and "CONTRIBUTING.md" not in text:
        yield f'{name}: "please report", and no link to CONTRIBUTING.md, which says where'
    if name == "README.md":
        for number in MEASURED.findall(GENERATED.sub("", without_code(text))):
            yield f"{name}: {number} stands outside of the tables that scripts/readme-table makes"


def pages(root):
    beside = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
    yield from (name for name in beside if os.path.exists(os.path.join(root, name)))
    for path, _, names in sorted(os.walk(os.path.join(root, "docs"))):
        yield from (os.path.relpath(os.path.join(path, name), root) for name in sorted(names) if name.endswith(".md"))


def check(root):
    def read(name):
        path = os.path.join(root, name)
        if not os.path.exists(path):
            return None
        return open(path, encoding="utf-8").read() if name.endswith(".md") else ""

    return [fault for name in pages(root) for fault in check_page(name, read(name), read)]


def self_test():
    there = {"docs/b.md": "# A `b` c\n\n## On a GPU", "docs/a.cpp": ""}.get

    def faults(text, name="docs/a.md"):
        return list(check_page(name, text, there))

    assert not faults("[x](b.md#on-a-gpu) [y](b.md#a-b-c) [z](a.cpp) [w](https://x.y/z) `[v](no.md)`")
    assert faults("[x](c.md)") and faults("[x](b.md#nothing)") and faults("[x](../b.md)")
    assert faults("It tells the reader.") and faults("That is not to be had.") and not faults("`tells the`")
    assert faults("Please\nreport it.") and not faults("Please report it, see `CONTRIBUTING.md`.")
    assert faults("word " * 901, "README.md") and not faults("word " * 900, "README.md")
    assert faults("It is 1.4 × as fast.", "README.md") and not faults("It is 1.4 × as fast.")
    assert not faults("<!-- table x, by y -->\n|1.4 ×|\n<!-- end of table -->", "README.md")


if __name__ == "__main__":
    sys.exit(run(check, self_test))
