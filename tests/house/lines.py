#!/usr/bin/env python3
"""Counts the lines of code of src/ by room, and by part of a room: no blank lines, no comments.

  lines.py ROOT [REVISION]     those of the tree, and beside them those of an earlier revision
"""
import collections
import io
import os
import re
import subprocess
import sys
import tarfile

from house_test import SOURCES, files_below

# A comment, or a literal, in which there is none.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


def code_lines(text):
    def kept(found):
        token = found[0]
        return re.sub(r"[^\n]", "", token) if token.startswith(("//", "/*")) else token
    return sum(1 for line in TOKEN.sub(kept, text).splitlines() if line.strip())


def group_of(name):
    """`room`, or `room/part` of the exchange."""
    pieces = name.split("/")
    return "/".join(pieces[:2]) if pieces[0] == "exchange" and len(pieces) > 2 else pieces[0]


def of_revision(root, revision):
    archive = subprocess.run(["git", "-C", root, "archive", revision, "src"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for file in files:
            if file.isfile() and file.name.endswith(SOURCES):
                yield file.name[len("src/"):], files.extractfile(file).read().decode()


def count(files):
    counts = collections.Counter()
    for name, text in files:
        counts[group_of(name)] += code_lines(text)
    for group, lines in list(counts.items()):
        if "/" in group:
            counts[group.split("/")[0]] += lines
    return counts


def main(root, revision=None):
    now = count(files_below(os.path.join(root, "src")))
    before = count(of_revision(root, revision)) if revision else collections.Counter()
    for group in sorted(set(now) | set(before)):
        print(f"{group:24}{now[group]:7}" + (f"{before[group]:7}" if revision else ""))


def self_test():
    assert code_lines('int a;  // b\n\n/* c\n d */\nint e = "// f";\n') == 2
    assert group_of("exchange/plan/x.cpp") == "exchange/plan" and group_of("copy/cpu/x.cpp") == "copy"


if __name__ == "__main__":
    self_test()
    main(*sys.argv[1:])
