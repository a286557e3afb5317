"""check_staged.py FILE command…: runs device_collectives.cpp's program on device memory, which has its summary written to FILE,
and checks that collectives were counted by function, as staged."""

import json
import pathlib
import subprocess
import sys

file = pathlib.Path(sys.argv[1])
file.unlink(missing_ok=True)
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
summary = json.loads(file.read_text())
functions = summary["functions"]
blocking = (
    "Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce Allreduce Reduce_scatter "
    "Reduce_scatter_block Scan Exscan Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
    "Neighbor_alltoallw"
).split()
names = [f"MPI_{name}" for name in blocking] + [f"MPI_I{name[0].lower()}{name[1:]}" for name in blocking]
if "MPICH" in summary["mpi"]:
    names += ["MPI_Bcast_init", "MPI_Allreduce_init"]
for name in [*names, "MPI_Reduce_local"]:
    methods = functions.get(name, {}).get("methods", {})
    if not set(methods) <= {"staged", "library"} or methods.get("staged", {}).get("bytes", 0) == 0:
        sys.exit(f"{name} went by {methods}")
# Those that each second rank made of host memory.
if summary["reasons"].get("collective operations", {}).get("calls", 0) == 0:
    sys.exit(f"no collective was passed on: {summary['reasons']}")
