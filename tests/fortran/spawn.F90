! Programs that start others of themselves: command and arguments reach them, and strided messages go both ways.
#include "dialect.h"
program spawn
  USE_MPI
  use expect_module
  implicit none
  INCLUDE_MPI
  integer, parameter :: cells = 100
  integer :: ranks, code
  double precision :: out(2, cells), in(2, cells)
  character(len=512) :: program_name, argument
  DATATYPE :: every_second
  COMM :: parent, children

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Type_vector(cells, 1, 2, MPI_DOUBLE_PRECISION, every_second, code)
  call MPI_Type_commit(every_second, code)
  call MPI_Comm_get_parent(parent, code)
  call get_command_argument(0, program_name)
  if (parent /= MPI_COMM_NULL) then
    call answer()
  else
    call one_program()
    call several_programs()
  end if
  call MPI_Type_free(every_second, code)
  call MPI_Finalize(code)

contains
  ! A child gives back what comes from rank 0 of its parents, with its own argument's number added.
  subroutine answer()
    integer :: added
    call get_command_argument(1, argument)
    if (argument /= 'a child') error stop 'a child without its argument'
    call get_command_argument(2, argument)
    read (argument, *) added
    call MPI_Recv(in, 1, every_second, 0, 1, parent, MPI_STATUS_IGNORE, code)
    in = in + added
    call MPI_Send(in, 1, every_second, 0, 2, parent, code)
    call MPI_Comm_disconnect(parent, code)
  end subroutine answer

  subroutine ask(child, added)
    integer, intent(in) :: child, added
    integer :: i
    out = reshape([(dble(i), i=1, 2 * cells)], [2, cells])
    in = -1
    if (my_rank == 0) then
      call MPI_Send(out, 1, every_second, child, 1, children, code)
      call MPI_Recv(in, 1, every_second, child, 2, children, MPI_STATUS_IGNORE, code)
      call expect('a message to a child and back', all(in(1, :) == out(1, :) + added) .and. all(in(2, :) == -1))
    end if
  end subroutine ask

  ! The arguments are read at the root alone.
  subroutine one_program()
    character(len=16) :: arguments(3)
    integer :: codes(2)
    arguments = [character(len=16) :: 'a child', '7', ' ']
    if (my_rank /= 0) arguments = 'nonsense'
    codes = -1
    call MPI_Comm_spawn(program_name, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, code)
    call expect_success(code)
    call expect('no error code of a child', my_rank /= 0 .or. all(codes == MPI_SUCCESS))
    call ask(0, 7)
    call ask(1, 7)
    call MPI_Comm_disconnect(children, code)
  end subroutine one_program

  subroutine several_programs()
    character(len=512) :: commands(2)
    character(len=16) :: arguments(2, 3)
    integer :: most(2), codes(2)
#if defined(DIALECT_F08)
    type(MPI_Info) :: infos(2)
#else
    integer :: infos(2)
#endif
    commands = program_name
    arguments(1, :) = [character(len=16) :: 'a child', '20', ' ']
    arguments(2, :) = [character(len=16) :: 'a child', '30', ' ']
    most = 1
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, children, codes, code)
    call expect_success(code)
    call ask(0, 20)
    call ask(1, 30)
    call MPI_Comm_disconnect(children, code)
  end subroutine several_programs
end program spawn
