#!/usr/bin/env python3
"""Runs heat3d on two ranks in all forms, with steps and without: they must agree, and files must be whole.

  heat3d_test.py PROGRAM LAUNCH…
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FORMS = ["layout", "basic", "memmap", "shift", "mapped", "best", "grid", "types", "pack"]
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


def test_exchanges(command, folder):
    """Deep ghosts, which are no whole bricks: forms of bricks send more than the others."""
    bars, lines = os.path.join(folder, "exchanges.svg"), os.path.join(folder, "rows.json")
    with open(lines, "w") as file:
        file.write("{}\n")
    done = run([*command, "--exchange-only", "--size", "16", "--ghost", "10", "--steps", "52", "--svg", bars, "--json", lines])
    assert done.returncode == 0, done.stdout + done.stderr
    heading, names, *rows = done.stdout.splitlines()
    assert heading.startswith("2 ranks of 16^3 cells, exchanges of ghosts of 10 cells"), heading
    rows = {row["form"]: row for row in (dict(zip(names.split(), row.split())) for row in rows)}
    assert list(rows) == [*FORMS, "buffers"], rows
    assert rows["buffers"].pop("checksum") == "-", rows
    assert len({row["checksum"] for row in rows.values() if "checksum" in row}) == 1, rows
    assert rows["types"]["faster"] == "1.00" and all(float(row["exchange"]) > 0 for row in rows.values()), rows
    assert {form: row["ghost"] for form, row in rows.items()} == {
        form: "10" if form in ("grid", "types", "pack") else "16" for form in rows}, rows
    assert rows["buffers"]["messages"] == "26" and rows["buffers"]["bytes"] == rows["memmap"]["bytes"], rows
    with open(lines) as file:
        first, *written = [json.loads(line) for line in file]
    assert first == {} and [row["form"] for row in written] == list(rows), written
    for row in written:
        assert (row["ranks"], row["size"], row["steps"], row["stencil"]) == (2, 16, 52, None), row
        assert abs(row["exchange_us"] - float(rows[row["form"]]["exchange"])) < 0.01, row
        assert str(row["bytes"]) == rows[row["form"]]["bytes"], row
    parts = xml.etree.ElementTree.parse(bars).findall(f".//{SVG}rect/{SVG}title")
    assert len(parts) == len(rows) and parts[0].text.startswith("layout: exchange "), [part.text for part in parts]


def test_refusals(program):
    """One rank, without a launcher: mpirun waits two seconds where a rank fails."""
    for options, message in ((["--size", "12"], "--size 12: bricks are cubes of 8"),
                             (["--form", "buffers"], "--form buffers: it has no cells"),
                             (["--exchange-only", "--stencil", "27"], "--stencil: --exchange-only computes no steps")):
        done = run([program, *options])
        assert done.returncode == 2 and message in done.stderr, done


def main(program, *launch):
    with tempfile.TemporaryDirectory() as folder:
        test_forms([*launch, program], folder)
        test_exchanges([*launch, program], folder)
    test_refusals(program)


if __name__ == "__main__":
    main(*sys.argv[1:])
