program hello
  use mpi
  implicit none
  integer :: rank, ranks, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  print '(a,i0,a,i0)', 'hello ', rank, ' of ', ranks
  call MPI_Finalize(error)
end program hello
