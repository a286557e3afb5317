"""check_shared.py FILE command…: runs allocations.cpp's program on a stand-in for a device, which has its summary written
to FILE: its messages are copied from device to device, unless its memory can't be shared."""

import json
import os
import pathlib
import subprocess
import sys

file = pathlib.Path(sys.argv[1])
for sharing, kind in ((True, "malloc"), (True, "mapped"), (False, "malloc")):
    file.unlink(missing_ok=True)
    more = {"TEST_MEMORY": kind} | ({} if sharing else {"STANDIN_NO_SHARING": "1"})
    subprocess.run(sys.argv[2:], check=True, env={**os.environ, **more})
    summary = json.loads(file.read_text())
    direct = summary["methods"]["direct"]["calls"]
    declined = sum(summary["shared_memory"]["unshareable"].values())
    # The program has more allocations at a time than are shared.
    if (direct > 1700) != sharing or declined == 0 or (not sharing and direct != 0):
        sys.exit(f"shared: {sharing}, but {direct} messages were called direct, and {declined} could not be")
