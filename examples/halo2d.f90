! Heat on a square plate, in strips: each step sends one line of 8-byte cells to each neighbour. Along the first
! dimension, where the strips meet, these cells are a column of the array apart. As halo2d.c.   halo2d [CELLS [STEPS]]
program halo2d
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer :: rank, ranks, left, right, n, steps, first, lines, i, j, step
  real(real64), allocatable, asynchronous :: now(:, :)
  real(real64), allocatable :: next(:, :)
  real(real64) :: start, seconds
  integer(int64) :: total
  type(MPI_Datatype) :: line
  type(MPI_Request) :: requests(4)
  character(len=32) :: text

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  n = 1024
  steps = 100
  call get_command_argument(1, text)
  if (text /= '') read (text, *) n
  call get_command_argument(2, text)
  if (text /= '') read (text, *) steps
  if (n < ranks .or. steps < 1) call MPI_Abort(MPI_COMM_WORLD, 2)

  ! This rank's lines, and one more on each side: the neighbour's, or the cold edge.
  first = int(int(n, int64) * rank / ranks)
  lines = int(int(n, int64) * (rank + 1) / ranks) - first
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  allocate (now(0:lines + 1, 0:n + 1), next(0:lines + 1, 0:n + 1), source=0.0_real64)
  do j = 1, n
    now(1:lines, j) = [(real(mod(7 * j + 13 * (first + i), 100), real64), i=1, lines)]
  end do

  call MPI_Type_vector(n, 1, lines + 2, MPI_DOUBLE_PRECISION, line)
  call MPI_Type_commit(line)
  start = MPI_Wtime()
  do step = 1, steps
    call MPI_Irecv(now(0, 1), 1, line, left, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(now(lines + 1, 1), 1, line, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(now(1, 1), 1, line, left, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(now(lines, 1), 1, line, right, 0, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    next(1:lines, 1:n) = 0.25_real64 * (now(1:lines, 0:n - 1) + now(0:lines - 1, 1:n) &
                                        + now(2:lines + 1, 1:n) + now(1:lines, 2:n + 1))
    now(1:lines, 1:n) = next(1:lines, 1:n)
  end do
  seconds = MPI_Wtime() - start

  total = sum(transfer(now(1:lines, 1:n), [0_int64]))  ! of all cells' bits
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(f0.1, a, z16.16)', 1e6 * seconds / steps, ' us per step, checksum ', total
  call MPI_Finalize()
end program halo2d
