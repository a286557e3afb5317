"""check_large_blocks.py FILE command…: runs large_blocks.cpp's program, which has its summary written to FILE, and checks that
Strake carried the block of more than 2 GiB whole."""

import json
import pathlib
import subprocess
import sys

BYTES = (1 << 31) + 4096

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
subprocess.run(sys.argv[2:], check=True)
functions = json.loads(file.read_text())["functions"]
ways = {name: function["methods"] for name, function in functions.items() if "alltoall" in name.lower()}
carried = [way["bytes"] for methods in ways.values() for way in methods.values() if way["bytes"] > 0]
if carried != [BYTES]:
    sys.exit(f"not {BYTES} bytes in one block: {ways}")
