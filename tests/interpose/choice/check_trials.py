"""check_trials.py FILE command…: runs halo2d, whose columns of 2 KiB no shared memory carries, with and without trials."""

import json
import os
import pathlib
import re
import subprocess
import sys

file = pathlib.Path(sys.argv[1])


def run(trials):
    file.unlink(missing_ok=True)
    said = subprocess.run([*sys.argv[2:], "256", "3000"], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "STRAKE_TRIALS": trials}).stdout
    return re.search("checksum [0-9A-F]{16}", said)[0], said, json.loads(file.read_text())


# Other work on the machine can make trials too dear for a run.
for _ in range(5):
    checksum, said, summary = run("1")
    tried = summary["trials"]
    if tried["unsettled"] == 0:
        break
# Each of the two ranks sends and receives one layout.
if tried["packed"] + tried["left"] != 4 or tried["unsettled"] != 0:
    sys.exit(f"trials: {tried}")
if not re.search(r"trials +packing kept for \d kinds of message, shared memory for 0, the MPI library's copy for \d\n +an exchange took [0-9.]+ us by Strake, "
                 r"[0-9.]+ us left to the MPI library\n", said):
    sys.exit(f"the summary: {said}")
if not (tried["moved_us"] > 0 and tried["left_us"] > 0):
    sys.exit(f"times of trials: {tried}")
# What it means comes first; no word claims a gain.
if not re.search(r"^strake: 2 ranks: \d+ % of the strided bytes went another way than the MPI library's; an exchange of this job's trials took "
                 r"[0-9.]+ us by Strake, [0-9.]+ us left; whether that helps: strake run --compare 5$", said, re.M):
    sys.exit(f"the first line: {said}")
if re.search("accelerat", said):
    sys.exit(f"a claim: {said}")
# Both ends of a message count; calls without bytes do not.
reached = summary["reached"]
messages = sum(count["calls"] for method, count in summary["methods"].items() if method != "library")
if reached["another_way"]["calls"] != messages or reached["contiguous"]["calls"] != 0:
    sys.exit(f"{reached} of {summary['methods']}")
typed = [row for row in summary["calls"] if row.get("datatype", "").startswith("hvector")]
if sum(row["calls"] for row in typed) != reached["another_way"]["calls"] + reached["left"]["calls"]:
    sys.exit(f"{reached}, but {typed}")
# By method the rows and the counts agree, of sends; what a receive gets is not known when it is called.
by_row = {}
for row in typed:
    if row["function"] == "MPI_Isend":
        by_row[row["method"]] = by_row.get(row["method"], 0) + row["calls"]
    elif "method" in row:
        sys.exit(f"a receive's method: {row}")
counted = {method: count["calls"] for method, count in summary["functions"]["MPI_Isend"]["methods"].items()}
counted["library"] = counted.get("library", 0) - summary["reasons"]["no bytes or no peer"]["calls"] // 2
if {k: v for k, v in by_row.items() if v} != {k: v for k, v in counted.items() if v}:
    sys.exit(f"rows {by_row}, counted {counted}")
# Calls that return at once are timed now and then; what they are taken to last is in the rows and in the total alike.
spent, total = sum(row["seconds"] for row in summary["calls"]), summary["ranks"] * summary["time"]["in_mpi_s"]
if not 0.99 * total < spent < 1.01 * total or total > summary["ranks"] * summary["time"]["wall_s"]:
    sys.exit(f"rows of {spent} s, {total} s in MPI, {summary['time']}")
ways = {row["method"] for row in summary["calls"] if row["function"] == "MPI_Isend" and "method" in row}
if not {"pack", "library"} <= ways:
    sys.exit(f"only tried: {ways}")
# After the trials they go one way.
reasons = summary["reasons"]
by_trials = reasons.get("the MPI library was faster in this job's trials", {"calls": 0})["calls"]
if (by_trials > 0) != (tried["left"] > 0):
    sys.exit(f"{tried}, and {reasons}")

expected, said, summary = run("0")
if summary["trials"] != {"packed": 0, "shared": 0, "left": 0, "unsettled": 0, "moved_us": None, "left_us": None} or "trials" in said:
    sys.exit(f"tried although that is turned off: {summary['trials']}")
if checksum != expected:
    sys.exit(f"{checksum} with trials, {expected} without")
