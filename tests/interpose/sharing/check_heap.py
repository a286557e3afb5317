"""check_heap.py FILE COMMAND…: a job with the shared heap. Its summary, in FILE, tells of blocks there, and of messages that were
copied from them."""

import json
import pathlib
import subprocess
import sys

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
subprocess.run(sys.argv[2:], check=True)
summary = json.loads(file.read_text())
heap, direct = summary["shared_heap"], summary["methods"]["direct"]
if heap["ranks"]["in use"] != summary["ranks"] or heap["blocks"] == 0 or direct["calls"] == 0:
    sys.exit(f"shared_heap: {heap}, direct: {direct}")
