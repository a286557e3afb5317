"""check_sharing.py FOLDER FUNCTION WRITER LAUNCH… -- PROGRAM…: tried.cpp's program with made-up profiles. Without trials its
messages go by memory that the ranks share, packed, or as the MPI library sends them, whichever the profile calls the fastest; with
trials they begin that way, and try shared memory all the same."""

import json
import os
import pathlib
import subprocess
import sys

folder, function, writer = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
launch = sys.argv[4:sys.argv.index("--")]
program = sys.argv[sys.argv.index("--") + 1:]
folder.mkdir(parents=True, exist_ok=True)
file = folder / "summary.json"


def ways(profile, trials):
    """The methods of the sends by `function`, and the reasons why messages were left."""
    file.unlink(missing_ok=True)
    settings = {"STRAKE_PROFILE": str(profile), "STRAKE_TRIALS": trials, "STRAKE_SUMMARY_JSON": str(file)}
    if trials == "0":
        settings["TEST_SECONDS"] = "0.1"
    subprocess.run([*launch, *program], check=True, env={**os.environ, **settings})
    summary = json.loads(file.read_text())
    counts = {way: count["calls"] for way, count in summary["functions"][function]["methods"].items() if count["calls"]}
    return counts, summary["reasons"]


for state, way in [("shared", "shared"), ("packed", "pack"), ("left", "library")]:
    profile = folder / f"{state}.profile"
    subprocess.run([*launch, writer, str(profile), state], check=True)
    counts, reasons = ways(profile, "0")
    # The first messages of a job are sent before the ranks share memory.
    most = max(counts, key=counts.get)
    if most != way or (way != "shared" and "shared" in counts):
        sys.exit(f"{function} by the profile '{state}': {counts}")
    left = reasons.get("the MPI library is faster, by the profile of this machine", {"calls": 0})["calls"]
    if way == "library" and left == 0:
        sys.exit(f"{function} was left for another reason than the profile: {reasons}")

# Other work on the machine can make trials too dear for a run.
tried = []
while not any("shared" in counts for counts in tried):
    if len(tried) == 5:
        sys.exit(f"{function} never tried shared memory, as the profile 'left' says: {tried}")
    tried.append(ways(folder / "left.profile", "1")[0])
