! Every way to complete a list of requests, with the indices and flags that Fortran sees.
#include "dialect.h"
program completion
  USE_MPI
  use expect_module
  implicit none
  INCLUDE_MPI
  integer, parameter :: n = 5
  integer :: ranks, left, right, code, received(n), sent(n), first
  REQUEST :: receives(n), sends(n)
  STATUS(status)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  left = mod(my_rank + ranks - 1, ranks)
  right = mod(my_rank + 1, ranks)
  call find_first()
  call wait_for_any()
  call wait_for_some()
  call test_for_any()
  call test_for_some()
  call test_one_and_all()
  call cancelled()
  call MPI_Finalize(code)

contains
  ! The index of a list's first request: 1, but for MPICH 4.0's mpi_f08, which passes C's 0 on. With and without the
  ! interposer it must be the same.
  subroutine find_first()
    call MPI_Irecv(received, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, receives(1), code)
    call MPI_Isend(sent, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, sends(1), code)
    call MPI_Waitany(1, receives, first, MPI_STATUS_IGNORE, code)
    call MPI_Wait(sends(1), MPI_STATUS_IGNORE, code)
    if (my_rank == 0) print '(a, i0)', 'lists start at ', first
    call expect('a known start of lists', first == 0 .or. first == 1)
  end subroutine find_first

  ! MPICH 4.0's mpif.h and `use mpi`, and 4.2's mpi_f08, count this one up as well. Strake's mpi_f08 does not.
  logical function is_undefined(index)
    integer, intent(in) :: index
    is_undefined = index == MPI_UNDEFINED
#if defined(DIALECT_F08)
    if (.not. interposed()) is_undefined = is_undefined .or. index == MPI_UNDEFINED + 1
#else
    is_undefined = is_undefined .or. index == MPI_UNDEFINED + 1
    if (my_rank == 0) print '(a, i0)', 'undefined and ', index - MPI_UNDEFINED
#endif
  end function is_undefined

#if defined(DIALECT_F08)
  logical function interposed()
    integer :: length
    call get_environment_variable('LD_PRELOAD', length=length)
    interposed = length > 0
  end function interposed
#endif

  ! Receives 1 to n-1 by tag; the last entry of the list is null. Nothing is sent yet.
  subroutine post()
    integer :: i
    received = -1
    do i = 1, n - 1
      call MPI_Irecv(received(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, receives(i), code)
    end do
    receives(n) = MPI_REQUEST_NULL
    sends = MPI_REQUEST_NULL
  end subroutine post

  subroutine send(i)
    integer, intent(in) :: i
    sent(i) = 100 * my_rank + i
    call MPI_Isend(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, sends(i), code)
  end subroutine send

  ! Receives that nothing can have been sent to yet: no neighbour gets past this before all have looked.
  subroutine look_together()
    call MPI_Barrier(MPI_COMM_WORLD, code)
  end subroutine look_together

  subroutine end_sends()
    call MPI_Waitall(n, sends, MPI_STATUSES_IGNORE, code)
  end subroutine end_sends

  subroutine wait_for_any()
    integer :: index, i
    logical :: in_order
    call post()
    in_order = .true.
    do i = n - 1, 1, -1  ! one message at a time, so that only its receive can complete
      call send(i)
      call MPI_Waitany(n, receives, index, status, code)
      in_order = in_order .and. index == first - 1 + i .and. TAG_OF(status) == i .and. SOURCE_OF(status) == left .and. &
                 received(i) == 100 * left + i .and. receives(i) == MPI_REQUEST_NULL
      call look_together()
    end do
    call expect("Waitany's indices", in_order)
    index = 77
    call MPI_Waitany(n, receives, index, MPI_STATUS_IGNORE, code)
    call expect('Waitany finds none', is_undefined(index) .and. code == MPI_SUCCESS)
    call end_sends()
  end subroutine wait_for_any

  subroutine wait_for_some()
    integer :: indices(n), done, i, total
    STATUSES(statuses, n)
    logical :: are_right
    call post()
    do i = 1, n - 1
      call send(i)
    end do
    total = 0
    are_right = .true.
    do while (total < n - 1)
      call MPI_Waitsome(n, receives, done, indices, statuses, code)
      indices(1:done) = indices(1:done) - first + 1
      do i = 1, done
        are_right = are_right .and. indices(i) >= 1 .and. indices(i) <= n - 1
        are_right = are_right .and. TAG_AT(statuses, i) == indices(i)
        are_right = are_right .and. received(indices(i)) == 100 * left + indices(i)
      end do
      total = total + done
    end do
    call expect("Waitsome's indices", are_right .and. total == n - 1)
    call MPI_Waitsome(n, receives, done, indices, MPI_STATUSES_IGNORE, code)
    call expect('Waitsome finds none', done == MPI_UNDEFINED)
    call end_sends()
  end subroutine wait_for_some

  subroutine test_for_any()
    integer :: index
    logical :: is_done
    call post()
    index = 77
    is_done = .true.
    call MPI_Testany(n, receives, index, is_done, status, code)
    call expect('Testany finds nothing complete', .not. is_done .and. is_undefined(index))
    call look_together()
    call send(3)
    do while (.not. is_done)
      call MPI_Testany(n, receives, index, is_done, status, code)
    end do
    call expect("Testany's index", index == first + 2 .and. TAG_OF(status) == 3 .and. received(3) == 100 * left + 3)
    call look_together()
    call send(1)
    call send(2)
    call send(4)
    call MPI_Waitall(n, receives, MPI_STATUSES_IGNORE, code)
    call MPI_Testany(n, receives, index, is_done, MPI_STATUS_IGNORE, code)
    call expect('Testany finds none', is_done .and. is_undefined(index))
    call end_sends()
    call look_together()
  end subroutine test_for_any

  subroutine test_for_some()
    integer :: indices(n), done
    call post()
    call MPI_Testsome(n, receives, done, indices, MPI_STATUSES_IGNORE, code)
    call expect('Testsome finds nothing complete', done == 0)
    call look_together()
    call send(4)
    do while (done == 0)
      call MPI_Testsome(n, receives, done, indices, MPI_STATUSES_IGNORE, code)
    end do
    call expect("Testsome's index", done == 1 .and. indices(1) == first + 3)
    call look_together()
    call send(1)
    call send(2)
    call send(3)
    call MPI_Waitall(n, receives, MPI_STATUSES_IGNORE, code)
    call MPI_Testsome(n, receives, done, indices, MPI_STATUSES_IGNORE, code)
    call expect('Testsome finds none', done == MPI_UNDEFINED)
    call end_sends()
    call look_together()
  end subroutine test_for_some

  subroutine test_one_and_all()
    STATUSES(statuses, n)
    logical :: is_done
    integer :: i
    call post()
    is_done = .true.
    call MPI_Testall(n, receives, is_done, statuses, code)
    call expect('Testall finds something open', .not. is_done)
    is_done = .true.
    call MPI_Request_get_status(receives(2), is_done, status, code)
    call expect('an open request', .not. is_done)
    call look_together()
    do i = 1, n - 1
      call send(i)
    end do
    do while (.not. is_done)
      call MPI_Request_get_status(receives(2), is_done, status, code)
    end do
    call expect('status of a request that stays', TAG_OF(status) == 2 .and. receives(2) /= MPI_REQUEST_NULL)
    is_done = .false.
    do while (.not. is_done)
      call MPI_Test(receives(2), is_done, status, code)
    end do
    call expect('one request tested', TAG_OF(status) == 2 .and. receives(2) == MPI_REQUEST_NULL)
    is_done = .false.
    do while (.not. is_done)
      call MPI_Testall(n, receives, is_done, statuses, code)
    end do
    call expect('all requests tested', all(received(1:4) == [(100 * left + i, i=1, 4)]) .and. TAG_AT(statuses, 4) == 4)
    call end_sends()
  end subroutine test_one_and_all

  subroutine cancelled()
    REQUEST :: request
    logical :: is_cancelled
    integer :: value
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 99, MPI_COMM_WORLD, request, code)
    call MPI_Cancel(request, code)
    call MPI_Wait(request, status, code)
    call MPI_Test_cancelled(status, is_cancelled, code)
    call expect('a receive cancelled', is_cancelled .and. request == MPI_REQUEST_NULL)
  end subroutine cancelled
end program completion
