"""A halo exchange of derived types from Python: the interpreter itself is linked to no MPI library."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size

# A column of a 100 x 60 matrix of doubles, and a 3D subarray, in plain bytearrays viewed as doubles.
ROWS, COLUMNS = 100, 60
column = MPI.DOUBLE.Create_vector(ROWS, 1, COLUMNS).Commit()
block = MPI.DOUBLE.Create_subarray([20, 30, 40], [5, 6, 7], [3, 2, 1]).Commit()


def filled(count, function):
    view = memoryview(bytearray(8 * count)).cast("d")
    for i in range(count):
        view[i] = function(i)
    return view


# Nonblocking columns, blocking subarrays, then a persistent pair.
out = filled(ROWS * COLUMNS, lambda i: 1000.0 * rank + i)
into = filled(ROWS * COLUMNS, lambda i: -1.0)
requests = [
    comm.Irecv([into, 1, column], source=left, tag=1),
    comm.Isend([out, 1, column], dest=right, tag=1),
]
status = MPI.Status()
requests[0].Wait(status)
MPI.Request.Waitall(requests)
assert status.Get_count(column) == 1, status.Get_count(column)
assert status.source == left and status.tag == 1
for i in range(ROWS * COLUMNS):
    expected = 1000.0 * left + i if i % COLUMNS == 0 else -1.0
    assert into[i] == expected, (i, into[i], expected)

grid = filled(20 * 30 * 40, lambda i: 1e6 * rank + i)
ghost = filled(20 * 30 * 40, lambda i: -1.0)
comm.Sendrecv([grid, 1, block], dest=right, sendtag=2, recvbuf=[ghost, 1, block], source=left,
              recvtag=2)
moved = 0
for i in range(20 * 30 * 40):
    x, y, z = i // 1200, i // 40 % 30, i % 40
    inside = 3 <= x < 8 and 2 <= y < 8 and 1 <= z < 8
    moved += inside
    assert ghost[i] == (1e6 * left + i if inside else -1.0), i

packed = bytearray(8 * 5 * 6 * 7)
position = block.Pack(grid, packed, 0, comm)
assert position == len(packed)

pair = [
    comm.Recv_init([into, 1, column], source=left, tag=3),
    comm.Send_init([out, 1, column], dest=right, tag=3),
]
for turn in range(3):
    out[COLUMNS] = turn
    MPI.Prequest.Startall(pair)
    MPI.Request.Waitall(pair)
    assert into[COLUMNS] == turn
for request in pair:
    request.Free()

column.Free()
block.Free()
lines = comm.gather(f"[{rank}] {moved} elements of the block moved", root=0)
if rank == 0:
    print("\n".join(lines))
    print("ok", flush=True)
