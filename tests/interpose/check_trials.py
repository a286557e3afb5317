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
    said = subprocess.run([*sys.argv[2:], "256", "60"], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "STRAKE_TRIALS": trials}).stdout
    return re.search("checksum [0-9A-F]{16}", said)[0], said, json.loads(file.read_text())


checksum, said, summary = run("1")
tried = summary["trials"]
# Each of the two ranks sends and receives one layout.
if tried["packed"] + tried["left"] != 4 or tried["unsettled"] != 0:
    sys.exit(f"trials: {tried}")
if not re.search(r"trials +packing kept for \d kinds of message, the MPI library's copy for \d\n", said):
    sys.exit(f"the summary: {said}")
ways = {row["method"] for row in summary["calls"] if row["function"] == "MPI_Isend" and "method" in row}
if not {"pack", "system"} <= ways:
    sys.exit(f"only tried: {ways}")
# After the trials they go one way.
reasons = summary["reasons"]
by_trials = reasons.get("the MPI library was faster in this job's trials", {"calls": 0})["calls"]
if (by_trials > 0) != (tried["left"] > 0):
    sys.exit(f"{tried}, and {reasons}")

expected, said, summary = run("0")
if summary["trials"] != {"packed": 0, "left": 0, "unsettled": 0} or "trials" in said:
    sys.exit(f"tried although that is turned off: {summary['trials']}")
if checksum != expected:
    sys.exit(f"{checksum} with trials, {expected} without")
