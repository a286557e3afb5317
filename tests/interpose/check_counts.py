"""check_counts.py FILE DISABLED command…: runs counts.cpp's program, which has its summary written to FILE, and checks it."""

import json
import os
import pathlib
import subprocess
import sys

EXPECTED = {  # of both ranks together: calls, messages of 800 bytes
    "MPI_Send": (4, 4), "MPI_Recv": (2, 2), "MPI_Isend": (2, 2), "MPI_Irecv": (2, 2),
    "MPI_Send_init": (3, 3), "MPI_Recv_init": (3, 3), "MPI_Sendrecv": (6, 4),
}
REASONS = {
    "collective operations": 2 * (3 + 5), "no bytes or no peer": 2,
    "external32": 4, "one-sided operations": 2 * 9,
}

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
disabled = sys.argv[2] == "1"
said = subprocess.run(sys.argv[3:], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      env={**os.environ, "STRAKE_SUMMARY": "1", "STRAKE_ANYTHING": "1"}).stdout
if said.count("STRAKE_ANYTHING is not a setting") != 1:  # of both ranks
    sys.exit(f"a wrong setting is told once: {said}")
if ("disabled: every call was passed on" in said) != disabled:
    sys.exit(f"the summary: {said}")
summary = json.loads(file.read_text())
found = {name: (entry["calls"], entry["bytes"] / 800) for name, entry in summary["functions"].items()}
reasons = {name: entry["calls"] for name, entry in summary["reasons"].items()}
if not summary["mpi"].startswith(("Open MPI v4", "Open MPI v5")):  # both of MPI 3.1
    REASONS["MPI_Isendrecv and MPI_Isendrecv_replace"] = 4
if reasons != ({} if disabled else REASONS):
    sys.exit(f"reasons: {reasons}")
if summary["disabled"] != disabled:
    sys.exit(f"disabled: {summary['disabled']}")
if found != ({} if disabled else EXPECTED):
    sys.exit(f"expected {EXPECTED}, found {summary['functions']}")
if not disabled and set(summary["functions"]["MPI_Recv"]["methods"]) != {"pack"}:
    sys.exit(f"received by {summary['functions']['MPI_Recv']}")
