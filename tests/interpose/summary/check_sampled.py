"""check_sampled.py FILE command…: the summary of `sampled` counts each call once, and its times are about those that the program saw."""

import json
import pathlib
import re
import subprocess
import sys

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
said = subprocess.run(sys.argv[2:], check=True, text=True, stdout=subprocess.PIPE).stdout
seen = float(re.search(r"sends took ([0-9.]+) s", said)[1])
summary = json.loads(file.read_text())
rows = summary["calls"]
ROUNDS, FAILED = 10_000, 100
calls = {}
for row in rows:
    failed = "datatype" not in row and row["function"] in ("MPI_Isend", "MPI_Irecv")
    key = row["function"] + (" that failed" if failed else "")
    calls[key] = calls.get(key, 0) + row["calls"]
expected = {"MPI_Irecv": ROUNDS, "MPI_Isend": ROUNDS, "MPI_Isend that failed": FAILED, "MPI_Waitall": ROUNDS}
if {key: calls.get(key) for key in expected} != expected:
    sys.exit(f"calls: {calls}")
moved = sum(row.get("bytes", 0) for row in rows if row["function"] == "MPI_Irecv")
if moved != ROUNDS // 5 * (4 * 8 + (64 << 10)):
    sys.exit(f"{moved} bytes")
sends = sum(row["seconds"] for row in rows if row["function"] == "MPI_Isend")
# A call that the operating system interrupts is counted once, whether that one was timed or not.
if not 0.3 * seen - 0.005 < sends < 1.5 * seen + 0.005:
    sys.exit(f"sends: {sends} s in the summary, {seen} s seen by the program")
time = summary["time"]
if not 0 < time["in_mpi_s"] <= time["wall_s"]:
    sys.exit(f"time: {time}")
