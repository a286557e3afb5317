"""check_tried.py FILE FUNCTION command…: runs tried.cpp's program, which has its summary written to FILE: its sends by FUNCTION
go by memory that the ranks share, packed, and as the MPI library sends them. Other work on the machine can make trials too
dear for a run; so up to five runs may show it."""

import json
import pathlib
import subprocess
import sys

file, function = pathlib.Path(sys.argv[1]), sys.argv[2]
ways, ended, seen = set(), False, []
while not ({"shared", "pack", "library"} <= ways and ended):
    if len(seen) == 5:
        sys.exit(f"{function} went only these ways: {ways}; trials: {seen}")
    file.unlink(missing_ok=True)
    subprocess.run(sys.argv[3:], check=True)
    summary = json.loads(file.read_text())
    ways |= {way for way, count in summary["functions"][function]["methods"].items() if count["calls"]}
    trials = summary["trials"]
    ended = ended or any(trials[kind] for kind in ("packed", "shared", "left"))
    seen.append(trials)
