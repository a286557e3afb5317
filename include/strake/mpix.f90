! Extensions of MPI that a program may call whether it runs under `strake run` or not: see strake/mpix.h. To be compiled with
! the program, whose types and communicators are INTEGERs (mpif.h, use mpi) or those of mpi_f08 (pass type%MPI_VAL).
module strake_mpix
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: MPIX_Type_commit_comm, MPIX_Type_free_comm
  external :: MPI_Type_commit, MPI_Type_free

  interface
    function dlsym(handle, name) bind(C, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface
  abstract interface
    subroutine function_of_strake(type, comm, ierror) bind(C)
      import :: c_int
      integer(c_int), intent(inout) :: type
      integer(c_int), intent(in) :: comm
      integer(c_int), intent(out) :: ierror
    end subroutine
  end interface

contains

  function found(name) result(procedure_of)
    character(*), intent(in) :: name
    procedure(function_of_strake), pointer :: procedure_of
    type(c_funptr) :: address
    address = dlsym(c_null_ptr, name // c_null_char)
    nullify(procedure_of)
    if (c_associated(address)) call c_f_procpointer(address, procedure_of)
  end function

  subroutine call_either(name, of_mpi, type, comm, ierror)
    character(*), intent(in) :: name
    external :: of_mpi
    integer, intent(inout) :: type
    integer, intent(in) :: comm
    integer, intent(out) :: ierror
    procedure(function_of_strake), pointer :: strake
    strake => found(name)
    if (associated(strake)) then
      call strake(type, comm, ierror)
    else
      call of_mpi(type, ierror)
    end if
  end subroutine

  subroutine MPIX_Type_commit_comm(type, comm, ierror)
    integer, intent(inout) :: type
    integer, intent(in) :: comm
    integer, intent(out) :: ierror
    call call_either("strake_type_commit_comm_fortran", MPI_Type_commit, type, comm, ierror)
  end subroutine

  subroutine MPIX_Type_free_comm(type, comm, ierror)
    integer, intent(inout) :: type
    integer, intent(in) :: comm
    integer, intent(out) :: ierror
    call call_either("strake_type_free_comm_fortran", MPI_Type_free, type, comm, ierror)
  end subroutine
end module
