#!/usr/bin/env python3
"""Compares the includes of src/ and tools/ with the lists of allowed arrows between rooms, and between the parts of a room, in
docs/explanation/architecture.md, looks whether each of these is in use, whether units (x.hpp and x.cpp) include each other in a
circle, whether a file or a function is too long (functions.py), whether each test of the interposer is in the folder of a topic,
whether state that may change is outside of ProcessState (state.py), and how comments begin (comments.py).

  house_test.py ROOT                 fails and names each fault
  house_test.py ROOT --self-test     fails unless a fault of each kind is found
"""
import os
import re
import sys

import comments
import functions
import state
from checker import run

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SOURCES = (".hpp", ".cpp", ".h", ".cuh", ".cu", ".def")
# Outside of quirks.hpp no code asks which MPI library or version it is compiled for.
LIBRARY = re.compile(r"^\s*#\s*(?:el)?if.*\b(OPEN_MPI|OMPI_\w+|MPICH\w*|MPI_VERSION|MPI_SUBVERSION)\b", re.M)
QUIRKS = "mpi/quirks.hpp"
LONGEST = 500  # lines of a file
# Where files of people's hand are, and what they end with.
WRITTEN = ("bench", "cmake", "examples", "include", "scripts", "src", "tests", "tools")
WRITTEN_ENDS = SOURCES + (".c", ".py", ".sh", ".bash", ".cmake", ".f90", ".F90", ".js", "CMakeLists.txt")
# Of tests/interpose what is no test; all others are in the folder of their topic.
INTERPOSE_OWN = ("CMakeLists.txt", "programs.cmake")


def read_arrows(text):
    """The lines `room -> room room` of the page, by room."""
    arrows = {}
    for line in re.findall(r"^    (\w+) ->((?: \w+)*)$", text, re.M):
        arrows[line[0]] = set(line[1].split())
    return arrows


def read_parts(text):
    """The lines `room/part -> room/part room/part` of the page, by part."""
    return {part: set(to.split()) for part, to in re.findall(r"^    (\w+/\w+) ->((?: \w+/\w+)*)$", text, re.M)}


def part_of(name):
    """`room/part` of a file in a part; None for one beside the parts."""
    pieces = name.split("/")
    return "/".join(pieces[:2]) if len(pieces) > 2 else None


def check_parts(files, parts):
    """Files of a room that has parts are in one of them, and include what its arrows allow; each arrow is in use."""
    faults, used = [], {part: set() for part in parts}
    rooms = {part.split("/", 1)[0] for part in parts}
    for name, text in files:
        if name.split("/", 1)[0] not in rooms:
            continue
        part = part_of(name)
        if part not in parts:
            faults.append(f"src/{name} is in no part of docs/explanation/architecture.md")
            continue
        for include in INCLUDE.findall(text):
            to = part_of(include)
            if to in parts and to != part:
                used[part].add(to)
                if to not in parts[part]:
                    faults.append(f"src/{name}: {part} may not include {to} ({include})")
    faults += [f"docs/explanation/architecture.md: {part} -> {to} is in no use"
               for part in parts for to in sorted(parts[part] - used[part])]
    return faults + [f"docs/explanation/architecture.md: {' -> '.join(cycle)}" for cycle in cycles(parts)]


def files_below(folder, ends=SOURCES):
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(ends):
                full = os.path.join(path, name)
                yield os.path.relpath(full, folder), open(full, encoding="utf-8").read()


def room_of(include, rooms, public):
    """The room that an include belongs to; None for a file beside its includer or of the toolchain."""
    first = include.split("/", 1)[0]
    if first == "strake":
        return public.get(include)
    return first if first in rooms else None


def check_src(files, arrows, public):
    faults = []
    for name, text in files:
        room = name.split("/", 1)[0]
        for include in INCLUDE.findall(text):
            to = room_of(include, arrows, public)
            if include.startswith("strake/") and to is None:
                faults.append(f"src/{name}: {include} belongs to no room of docs/explanation/architecture.md")
            elif to is not None and to != room and to not in arrows.get(room, set()):
                faults.append(f"src/{name}: {room} may not include {to} ({include})")
        if name != QUIRKS and LIBRARY.search(text):
            faults.append(f"src/{name}: asks for an MPI library or version; src/{QUIRKS} is the place")
    return faults


def check_use(files, arrows, public):
    """Arrows that no include needs."""
    used = {room: set() for room in arrows}
    for name, text in files:
        room = name.split("/", 1)[0]
        used.setdefault(room, set()).update(room_of(include, arrows, public) for include in INCLUDE.findall(text))
    return [f"docs/explanation/architecture.md: {room} -> {to} is in no use"
            for room in arrows for to in sorted(arrows[room] - used[room])]


def unit_of(name):
    """`x.hpp` and `x.cpp` are one unit; any other file is one by itself."""
    return re.sub(r"[.][hc]pp$", "", name)


def check_units(files):
    """Circles of units of which each includes the next."""
    files = list(files)
    units = {unit_of(name) for name, _ in files}
    needs = {unit: set() for unit in units}
    for name, text in files:
        unit = unit_of(name)
        for include in INCLUDE.findall(text):
            beside = os.path.normpath(os.path.join(os.path.dirname(name), include))
            needs[unit] |= {to for to in (unit_of(include), unit_of(beside)) if to in units and to != unit}
    return [f"src: {' -> '.join(cycle)}" for cycle in cycles(needs)]


def check_tools(files, rooms):
    """Tools may use all of src; among themselves no two folders may need each other."""
    files = list(files)
    folders = {name.split("/", 1)[0] for name, _ in files if "/" in name}
    needs = {folder: set() for folder in folders}
    for name, text in files:
        if "/" not in name:
            continue
        folder = name.split("/", 1)[0]
        for include in INCLUDE.findall(text):
            to = include.split("/", 1)[0]
            if to in folders and to != folder and to not in rooms:
                needs[folder].add(to)
    return [f"tools: {' -> '.join(cycle)}" for cycle in cycles(needs)]


def cycles(needs):
    found, done = [], set()

    def visit(node, path):
        if node in path:
            found.append(path[path.index(node):] + [node])
            return
        if node in done:
            return
        for after in sorted(needs.get(node, ())):
            visit(after, path + [node])
        done.add(node)

    for node in sorted(needs):
        visit(node, [])
    return found


def check_text(files):
    """A slip of an editing script is seen in no editor."""
    return [f"{name} has the control character {ord(found[0]):#04x}" for name, text in files
            if (found := re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text))]


def check_lengths(lengths):
    return [f"{name} has {lines} lines, {LONGEST} at most" for name, lines in lengths if lines > LONGEST]


def lengths_below(root):
    """The lines of each file that people write."""
    for top in WRITTEN:
        for path, folders, names in sorted(os.walk(os.path.join(root, top))):
            folders[:] = [folder for folder in folders if folder != "foreign"]
            for name in sorted(names):
                if name.endswith(WRITTEN_ENDS):
                    full = os.path.join(path, name)
                    with open(full, encoding="utf-8") as file:
                        yield os.path.relpath(full, root), sum(1 for _ in file)


def code_below(root):
    """(name, text) of each file of C, C++ or CUDA."""
    for top in WRITTEN:
        for name, text in files_below(os.path.join(root, top), SOURCES + (".c",)):
            yield f"{top}/{name}", text


def check_topics(names, topics):
    """`names` are below tests/interpose; `topics` its folders that tests/interpose/CMakeLists.txt lists."""
    faults = []
    for name in names:
        folder = name.split("/", 1)[0] if "/" in name else ""
        if not folder and name not in INTERPOSE_OWN:
            faults.append(f"tests/interpose/{name} belongs in the folder of a topic")
        elif folder and folder != "support" and folder not in topics:
            faults.append(f"tests/interpose/{folder} is no topic of tests/interpose/CMakeLists.txt")
    return faults


def check_programs(programs, registered):
    """`programs` are the sources below tests/interpose with a main; `registered` the text of CMakeLists.txt by topic."""
    return [f"tests/interpose/{name} is a program that tests/interpose/{name.split('/')[0]}/CMakeLists.txt does not name"
            for name in programs
            if not re.search(rf"\b{re.escape(os.path.basename(name)[:-len('.cpp')])}\b", registered[name.split("/")[0]])]


def read_programs(interpose, topics):
    for topic in topics:
        for name in sorted(os.listdir(os.path.join(interpose, topic))):
            if name.endswith(".cpp"):
                with open(os.path.join(interpose, topic, name), encoding="utf-8") as file:
                    if re.search(r"^int main\(", file.read(), re.M):
                        yield f"{topic}/{name}"


def read_topics(root):
    text = open(os.path.join(root, "tests/interpose/CMakeLists.txt"), encoding="utf-8").read()
    return re.search(r"foreach\(topic ([^)]*)\)", text)[1].split()


def read_page(root):
    text = open(os.path.join(root, "docs/explanation/architecture.md"), encoding="utf-8").read()
    public = {f"strake/{name}": room for name, room in re.findall(r"^    strake/([\w.]+) : (\w+)$", text, re.M)}
    return read_arrows(text), read_parts(text), public, state.read_exceptions(text)


def check(root):
    arrows, parts, public, exceptions = read_page(root)
    src = os.path.join(root, "src")
    rooms = {name for name in os.listdir(src) if os.path.isdir(os.path.join(src, name))}
    faults = [f"docs/explanation/architecture.md has no room {room}" for room in sorted(rooms - set(arrows))]
    faults += [f"docs/explanation/architecture.md: there is no src/{room}" for room in sorted(set(arrows) - rooms)]
    faults += [f"docs/explanation/architecture.md: {' -> '.join(cycle)}" for cycle in cycles(arrows)]
    headers = {f"strake/{name}" for name in os.listdir(os.path.join(root, "include/strake"))}
    faults += [f"docs/explanation/architecture.md gives no room to {name}" for name in sorted(headers - set(public))]
    sources = list(files_below(src))
    faults += check_src(sources, arrows, public)
    include = [(f"{public.get(f'strake/{name}', '?')}/{name}", text)
               for name, text in files_below(os.path.join(root, "include/strake"))]
    faults += check_src(include, arrows, public)
    faults += check_use([*sources, *include], arrows, public)
    faults += check_text([*sources, *include])
    faults += check_parts(sources, parts)
    faults += check_units(sources)
    faults += state.check_state(sources, exceptions)
    faults += check_tools(files_below(os.path.join(root, "tools")), rooms)
    faults += check_lengths(lengths_below(root))
    code = list(code_below(root))
    faults += comments.check_comments(code)
    faults += functions.check_functions(code)
    interpose = os.path.join(root, "tests/interpose")
    names = [os.path.relpath(os.path.join(path, name), interpose) for path, _, files in os.walk(interpose) for name in files]
    faults += check_topics(sorted(name for name in names if "__pycache__" not in name), read_topics(root))
    topics = read_topics(root)
    registered = {topic: open(os.path.join(interpose, topic, "CMakeLists.txt"), encoding="utf-8").read() for topic in topics}
    faults += check_programs(read_programs(interpose, topics), registered)
    return faults


def self_test():
    arrows = {"low": set(), "high": {"low"}}
    public = {"strake/low.hpp": "low"}
    assert not check_src([("high/a.cpp", '#include "low/b.hpp"\n#include "strake/low.hpp"\n')], arrows, public)
    assert check_src([("low/b.cpp", '#include "high/a.hpp"\n')], arrows, public)
    assert check_src([("low/b.cpp", '#include "strake/unknown.hpp"\n')], arrows, public)
    assert check_src([("low/b.cpp", "#ifdef OPEN_MPI\n#endif\n")], arrows, public)
    assert not check_src([(QUIRKS, "#if MPI_VERSION >= 4\n#endif\n")], arrows | {"mpi": set()}, public)
    assert cycles({"a": {"b"}, "b": {"a"}}) and not cycles({"a": {"b"}, "b": set()})
    assert check_use([("high/a.cpp", '#include "low/b.hpp"\n')], arrows | {"top": {"low"}}, public)
    assert not check_use([("high/a.cpp", '#include "strake/low.hpp"\n')], arrows, public)
    parts = {"high/up": {"high/down"}, "high/down": set()}
    up, down = ("high/up/a.cpp", '#include "high/down/b.hpp"\n'), ("high/down/b.hpp", '#include "low/c.hpp"\n')
    assert not check_parts([up, down], parts)
    assert check_parts([up, ("high/down/b.hpp", '#include "high/up/a.hpp"\n')], parts)
    assert check_parts([up, down, ("high/c.cpp", "")], parts) and check_parts([down], parts)
    assert read_parts("text\n    a/x -> a/y a/z\n    a/y ->\n") == {"a/x": {"a/y", "a/z"}, "a/y": set()}
    circle = [("low/a.hpp", ""), ("low/a.cpp", '#include "low/b.hpp"\n'), ("low/b.hpp", '#include "low/a.hpp"\n')]
    assert check_units(circle) and not check_units(circle[:2])
    assert check_tools([("a/x.cpp", '#include "b/y.hpp"\n'), ("b/y.hpp", '#include "a/x.hpp"\n')], set())
    assert check_text([("a.hpp", "/// \x0cile")]) and not check_text([("a.hpp", "/// \\file\n\tx")])
    assert check_lengths([("a.cpp", LONGEST + 1)]) and not check_lengths([("a.cpp", LONGEST)])
    assert check_topics(["probe.cpp"], ["probes"]) and check_topics(["others/probe.cpp"], ["probes"])
    assert not check_topics(["CMakeLists.txt", "probes/probe.cpp", "support/check.hpp"], ["probes"])
    assert check_programs(["probes/new.cpp"], {"probes": "strake_interpose_test(news RANKS 1)"})
    assert not check_programs(["probes/new.cpp"], {"probes": "strake_interpose_test(new RANKS 1)"})
    state.self_test()
    comments.self_test()
    functions.self_test()
    assert read_arrows("text\n    a -> b c\n    b ->\n") == {"a": {"b", "c"}, "b": set()}


if __name__ == "__main__":
    sys.exit(run(check, self_test))
