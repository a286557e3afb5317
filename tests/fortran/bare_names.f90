! Sends columns by turns. Compiled without the underscores that Fortran's names end with.
program bare_names
  implicit none
  include 'mpif.h'
  integer, parameter :: rows = 2000
  integer :: rank, other, turn, column, i, error, status(MPI_STATUS_SIZE), right
  real(8) :: values(3, rows)
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_TYPE_VECTOR(rows, 1, 3, MPI_DOUBLE_PRECISION, column, error)
  call MPI_TYPE_COMMIT(column, error)
  other = 1 - rank
  right = 0
  do turn = 0, 79
    if (rank == mod(turn, 2)) then
      values(1, :) = [(real(i + turn, 8), i = 1, rows)]
      call MPI_SEND(values, 1, column, other, turn, MPI_COMM_WORLD, error)
    else
      values = -1
      call MPI_RECV(values, 1, column, other, turn, MPI_COMM_WORLD, status, error)
      if (all(values(1, :) == [(real(i + turn, 8), i = 1, rows)]) .and. all(values(2:, :) == -1)) then
        right = right + 1
      else
        print *, 'message', turn, 'is wrong'
      end if
    end if
  end do
  print '(I0, A)', right, ' messages are right'
  call MPI_FINALIZE(error)
end program
