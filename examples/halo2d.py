"""Heat on a square plate, in strips of columns, with mpi4py and NumPy: each step sends a column of 8-byte cells to each
neighbour. As halo2d.c.   halo2d.py [CELLS [STEPS]]"""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
n = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
if n < ranks or steps < 1:
    comm.Abort(2)

# This rank's columns, and one more on each side: the neighbour's, or the cold edge.
first = n * rank // ranks
columns = n * (rank + 1) // ranks - first
left = rank - 1 if rank > 0 else MPI.PROC_NULL
right = rank + 1 if rank + 1 < ranks else MPI.PROC_NULL
now = np.zeros((n + 2, columns + 2))
after = np.zeros_like(now)
rows, lines = np.mgrid[1:n + 1, 1:columns + 1]
now[1:-1, 1:-1] = (7 * rows + 13 * (first + lines)) % 100

row = columns + 2
column = MPI.DOUBLE.Create_vector(n, 1, row).Commit()


def column_of(cells, at):
    """The column `at`, without the edge's cells, as mpi4py takes it: the memory from its first cell on, and its type."""
    return [cells.reshape(-1)[row + at:], 1, column]


start = MPI.Wtime()
for _ in range(steps):
    MPI.Request.Waitall([
        comm.Irecv(column_of(now, 0), left, 0),
        comm.Irecv(column_of(now, columns + 1), right, 1),
        comm.Isend(column_of(now, 1), left, 1),
        comm.Isend(column_of(now, columns), right, 0)])
    after[1:-1, 1:-1] = 0.25 * (now[:-2, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] + now[2:, 1:-1])
    now, after = after, now
seconds = MPI.Wtime() - start

# Of all cells' bits, so that it is the same for every number of ranks.
total = np.ascontiguousarray(now[1:-1, 1:-1]).view(np.uint64).sum(keepdims=True)
comm.Allreduce(MPI.IN_PLACE, total, MPI.SUM)
if rank == 0:
    print(f"{1e6 * seconds / steps:.1f} us per step, checksum {int(total.item()):016X}")
