"""check_short_receives.py FILE command…: runs short_receives.cpp's program, which has its summary written to FILE: its
long messages go by memory that the ranks share, also after more receives than there is room for were too short."""

import json
import pathlib
import subprocess
import sys

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
subprocess.run(sys.argv[2:], check=True)
sends = json.loads(file.read_text())["functions"]["MPI_Send"]["methods"]
shared = sends["shared"]["calls"]
packed = sends.get("pack", {"calls": 0})["calls"]
if shared < 1500 or packed > 50:
    sys.exit(f"{shared} sends went by shared memory, {packed} were packed for the MPI library")
