"""check_recorded.py FILE GRAPH command…: runs recorded.cpp's program, and checks the recorded graph of bytes."""

import pathlib
import subprocess
import sys

RING = 100 + 3 * 8 + 5 * 10 + 7 + 4 * 4
TO_ALL = 2
VERDICT = 4  # of check.hpp, to rank 0

graph = pathlib.Path(sys.argv[2])
graph.unlink(missing_ok=True)
subprocess.run(sys.argv[3:], check=True)
edges = {}
for line in graph.read_text().splitlines():
    if not line.startswith("#"):
        start, end, weight = map(int, line.split())
        edges[start, end] = edges.get((start, end), 0) + weight
ranks = 1 + max(start for start, _ in edges)
expected = {(start, end): TO_ALL + (RING if end == (start + 1) % ranks else 0) + (VERDICT if start > end == 0 else 0)
            for start in range(ranks) for end in range(ranks)}
wrong = {edge: (edges.get(edge), weight) for edge, weight in expected.items() if edges.get(edge) != weight}
if ranks != 3 or wrong or len(edges) != len(expected):
    sys.exit(f"{ranks} ranks; recorded and expected bytes: {wrong}")
