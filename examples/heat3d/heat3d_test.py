#!/usr/bin/env python3
"""Runs heat3d on two ranks in all forms: they must agree, and both pictures must be whole.

  heat3d_test.py PROGRAM LAUNCH…
"""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FORMS = ["layout", "basic", "memmap", "shift", "mapped", "grid", "types", "pack"]
SVG = "{http://www.w3.org/2000/svg}"


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def test_forms(command, folder):
    bars, picture = os.path.join(folder, "bars.svg"), os.path.join(folder, "slice.svg")
    done = run([*command, "--size", "16", "--form", "all", "--steps", "19", "--warm", "8", "--svg", bars,
                "--picture", picture])
    assert done.returncode == 0, done.stdout + done.stderr
    heading, names, *rows = done.stdout.splitlines()
    assert heading.startswith("2 ranks of 16^3 cells, 7-point stencil, 19 steps"), heading
    rows = [dict(zip(names.split(), row.split())) for row in rows]
    assert [row["form"] for row in rows] == FORMS, rows
    # The ends differ by rounding alone; the program itself compares them more closely.
    assert len({f"{float(row['checksum']):.8e}" for row in rows}) == 1, rows
    assert all(float(row["total"]) > 0 for row in rows), rows
    assert [row["steps"] for row in rows] == ["1" if form == "mapped" else "8" for form in FORMS], rows
    parts = xml.etree.ElementTree.parse(bars).findall(f".//{SVG}rect/{SVG}title")
    assert len(parts) == 3 * len(FORMS) and parts[0].text.startswith("layout: compute "), [part.text for part in parts]
    drawn = xml.etree.ElementTree.parse(picture)
    assert drawn.find(f".//{SVG}image").get("href").startswith("data:image/png;base64,iVBOR")
    # The ranks lie one above the other along z: the slice is of one.
    assert [text.text for text in drawn.iter(f"{SVG}text")][0] in ("rank 0", "rank 1")


def test_refusal(program):
    """One rank, without a launcher: mpirun waits two seconds where a rank fails."""
    done = run([program, "--size", "12"])
    assert done.returncode == 2 and "--size 12: bricks are cubes of 8" in done.stderr, done


def main(program, *launch):
    with tempfile.TemporaryDirectory() as folder:
        test_forms([*launch, program], folder)
    test_refusal(program)


if __name__ == "__main__":
    main(*sys.argv[1:])
