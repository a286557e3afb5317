"""check_counts.py FILE DISABLED command…: runs counts.cpp's program, which has its summary written to FILE, and checks it."""

import json
import os
import pathlib
import re
import subprocess
import sys

EXPECTED = {  # by both ranks together: calls, messages of 800 bytes
    "MPI_Send": (4, 4), "MPI_Recv": (2, 2), "MPI_Isend": (2, 2), "MPI_Irecv": (2, 2),
    "MPI_Send_init": (3, 3), "MPI_Recv_init": (3, 3), "MPI_Sendrecv": (6, 4),
    "MPI_Bcast": (10, 10), "MPI_Ibcast": (4, 4), "MPI_Iallreduce": (2, 0.02),
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
    EXPECTED.update({"MPI_Bcast": (8, 8), "MPI_Bcast_init": (2, 2)})
if reasons != ({} if disabled else REASONS):
    sys.exit(f"reasons: {reasons}")
if summary["disabled"] != disabled:
    sys.exit(f"disabled: {summary['disabled']}")
if found != ({} if disabled else EXPECTED):
    sys.exit(f"expected {EXPECTED}, found {summary['functions']}")
if not disabled and set(summary["functions"]["MPI_Recv"]["methods"]) != {"pack"}:
    sys.exit(f"received by {summary['functions']['MPI_Recv']}")

# Where the time inside MPI went: also of calls that are passed on.
time = summary["time"]
if not 0 < time["in_mpi_s"] < time["wall_s"] or abs(time["in_mpi_share"] - time["in_mpi_s"] / time["wall_s"]) > 1e-6:
    sys.exit(f"time: {time}")
rows = summary["calls"]
both = "STRAKE_SUMMARY" not in " ".join(sys.argv[3:]).replace("STRAKE_SUMMARY_JSON=", "")  # else only rank 0 times
called = {}
for row in rows:
    called[row["function"]] = called.get(row["function"], 0) + row["calls"]
if called["MPI_Sendrecv"] != (4 if both else 2) or called["MPI_Win_free"] != (2 if both else 1):
    sys.exit(f"calls: {called}")
if [row["seconds"] for row in rows] != sorted((row["seconds"] for row in rows), reverse=True):
    sys.exit("the rows are not sorted by their time")
if both and abs(sum(row["seconds"] for row in rows) - 2 * time["in_mpi_s"]) > 0.01 * time["in_mpi_s"]:
    sys.exit(f"{time['in_mpi_s']} s are not those of the rows")
places = {row["place"] for row in rows if row["function"] == "MPI_Sendrecv"}
if len(places) != 2 or not all(re.fullmatch(r"interpose_counts_\w+\+0x[0-9a-f]+", place) for place in places):
    sys.exit(f"places of two calls: {places}")
datatypes = {row["datatype"] for row in rows if row["function"] == "MPI_Isend"}
if datatypes != ({None} if disabled else {"hvector(100,8,16,byte)"}):
    sys.exit(f"datatypes: {datatypes}")
if not disabled and [row["bytes"] for row in rows if row["function"] == "MPI_Isend"] != [800 * (2 if both else 1)]:
    sys.exit("the bytes of MPI_Isend")
# Of a type that was not decoded yet the size is known.
moved = sum(row["bytes"] for row in rows if row["function"] in ("MPI_Bcast", "MPI_Bcast_c") and "bytes" in row)
if not disabled and both and moved != (8000 if summary["mpi"].startswith(("Open MPI v4", "Open MPI v5")) else 6400):
    sys.exit(f"{moved} bytes of MPI_Bcast")
