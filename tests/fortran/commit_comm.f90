! A datatype that all ranks commit together, and free; and one of which Strake, if it is there, finds that it was not.
program commit_comm
  use mpi
  use strake_mpix
  implicit none
  integer, parameter :: rows = 2000
  integer :: rank, other, column, turn, error, right, status(MPI_STATUS_SIZE)
  character(len=8) :: with_strake
  real(8) :: values(3, rows)
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_TYPE_VECTOR(rows, 1, 3, MPI_DOUBLE_PRECISION, column, error)
  call MPIX_Type_commit_comm(column, MPI_COMM_WORLD, error)
  if (error /= MPI_SUCCESS) print *, 'the type is not committed'
  other = 1 - rank
  right = 0
  do turn = 0, 7
    values = rank
    call MPI_SENDRECV_REPLACE(values, 1, column, other, 1, other, 1, MPI_COMM_WORLD, status, error)
    if (all(values(1, :) == other) .and. all(values(2:, :) == rank)) right = right + 1
  end do
  call MPIX_Type_free_comm(column, MPI_COMM_WORLD, error)
  if (error == MPI_SUCCESS .and. column == MPI_DATATYPE_NULL) right = right + 1
  call get_environment_variable('STRAKE_JOB', with_strake)
  if (with_strake /= '') then
    call MPI_TYPE_VECTOR(rows, 1, 3, MPI_DOUBLE_PRECISION, column, error)
    call MPIX_Type_free_comm(column, MPI_COMM_WORLD, error)
    if (error /= MPI_SUCCESS .and. column /= MPI_DATATYPE_NULL) right = right + 1
  else
    right = right + 1
  end if
  print '(I0, A)', right, ' of 10 are right'
  call MPI_FINALIZE(error)
end program
