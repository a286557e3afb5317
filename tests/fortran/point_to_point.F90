! Messages of every kind around a ring of ranks (also of one rank), in derived types, with every value checked.
#include "dialect.h"
program point_to_point
  USE_MPI
  use expect_module
  implicit none
  INCLUDE_MPI
  integer, parameter :: n = 6
  integer :: ranks, left, right, code
  double precision :: box(n, n, n), ghost(n, n, n)
  DATATYPE :: column, face

  call MPI_Init(code)
  call expect_success(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  left = mod(my_rank + ranks - 1, ranks)
  right = mod(my_rank + 1, ranks)
  call MPI_Type_vector(n, 1, n, MPI_DOUBLE_PRECISION, column, code)
  call MPI_Type_commit(column, code)
  call expect_success(code)
  call MPI_Type_create_subarray(3, [n, n, n], [2, n - 2, 3], [1, 2, 0], MPI_ORDER_FORTRAN, &
                                MPI_DOUBLE_PRECISION, face, code)
  call MPI_Type_commit(face, code)
  call expect_success(code)

  call blocking()
  call nonblocking()
  call send_modes()
  call packing()
  call external_packing()
  call probes()
  call bottom()
  call persistent()
  call elements()
  call refused()
#if defined(DIALECT_F08)
  call without_ierror()
#endif
  call MPI_Type_free(column, code)
  call expect('a freed type is null', column == MPI_DATATYPE_NULL .and. code == MPI_SUCCESS)
  call MPI_Type_free(face, code)
  call MPI_Finalize(code)
  call expect_success(code)

contains
  elemental double precision function cell(rank, i, j, k)
    integer, intent(in) :: rank, i, j, k
    cell = 1000000 * rank + 10000 * i + 100 * j + k
  end function cell

  subroutine fill()
    integer :: i, j, k
    do k = 1, n
      do j = 1, n
        do i = 1, n
          box(i, j, k) = cell(my_rank, i, j, k)
        end do
      end do
    end do
    ghost = -1
  end subroutine fill

  ! The face (rows 2-3, columns 3 to n, planes 1-3) came from `from`, and nothing else of `ghost` was touched.
  logical function face_is_from(from)
    integer, intent(in) :: from
    integer :: i, j, k
    face_is_from = .true.
    do k = 1, n
      do j = 1, n
        do i = 1, n
          if (i >= 2 .and. i <= 3 .and. j >= 3 .and. j <= n .and. k <= 3) then
            face_is_from = face_is_from .and. ghost(i, j, k) == cell(from, i, j, k)
          else
            face_is_from = face_is_from .and. ghost(i, j, k) == -1
          end if
        end do
      end do
    end do
  end function face_is_from

  subroutine blocking()
    STATUS(status)
    double precision :: row(n)
    integer :: count
    call fill()
    call MPI_Sendrecv(box, 1, face, right, 7, ghost, 1, face, left, 7, MPI_COMM_WORLD, status, code)
    call expect_success(code)
    call expect('a subarray in Fortran order', face_is_from(left))
    call expect('source and tag', SOURCE_OF(status) == left .and. TAG_OF(status) == 7)
    call MPI_Get_count(status, face, count, code)
    call expect('one face counted', count == 1)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, code)
    call expect('its cells counted', count == 2 * (n - 2) * 3)
    call MPI_Sendrecv(box(2, 1, 1), 1, column, right, 8, row, n, MPI_DOUBLE_PRECISION, left, 8, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call expect('a row of a matrix', all(row == cell(left, 2, [1, 2, 3, 4, 5, 6], 1)))
    call MPI_Sendrecv_replace(box, 1, face, right, 9, left, 9, MPI_COMM_WORLD, status, code)
    ghost = -1
    ghost(2:3, 3:n, 1:3) = box(2:3, 3:n, 1:3)
    call expect('a face replaced', face_is_from(left))
    call MPI_Sendrecv(box(1:n:2, 1, 1), n / 2, MPI_DOUBLE_PRECISION, right, 8, row, n, MPI_DOUBLE_PRECISION, &
                      left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call expect('an array section', all(row(1:n/2) == cell(left, [1, 3, 5], 1, 1)))
    ! Even ranks send first. A single rank has nobody to receive from but itself.
    call fill()
    if (ranks == 1) then
      call MPI_Send(box, 1, face, MPI_PROC_NULL, 3, MPI_COMM_WORLD, code)
      call MPI_Recv(ghost, 1, face, MPI_PROC_NULL, 3, MPI_COMM_WORLD, status, code)
      call expect('a null source', SOURCE_OF(status) == MPI_PROC_NULL)
    else if (mod(my_rank, 2) == 0) then
      call MPI_Send(box, 1, face, right, 3, MPI_COMM_WORLD, code)
      call MPI_Recv(ghost, 1, face, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
      call expect('received after sending', face_is_from(left))
    else
      call MPI_Recv(ghost, 1, face, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, code)
      call expect('received before sending', face_is_from(left) .and. SOURCE_OF(status) == left)
      call MPI_Send(box, 1, face, right, 3, MPI_COMM_WORLD, code)
    end if
  end subroutine blocking

  subroutine nonblocking()
    integer, parameter :: messages = 60  ! more than an entry point keeps on its stack
    REQUEST :: requests(2 * messages)
    STATUSES(statuses, 2 * messages)
    integer :: sent(2, messages), received(2, messages), i, count
    logical :: in_order, are_counted
    do i = 1, messages
      sent(:, i) = [100 * my_rank + i, -i]
      call MPI_Irecv(received(1, i), 1, MPI_2INTEGER, left, i, MPI_COMM_WORLD, requests(i), code)
    end do
    do i = messages, 1, -1
      call MPI_Isend(sent(1, i), 2, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(messages + i), code)
    end do
    call MPI_Waitall(2 * messages, requests, statuses, code)
    call expect_success(code)
    in_order = .true.
    are_counted = .true.
    do i = 1, messages
      in_order = in_order .and. all(received(:, i) == [100 * left + i, -i]) .and. &
                 SOURCE_AT(statuses, i) == left .and. TAG_AT(statuses, i) == i .and. &
                 requests(i) == MPI_REQUEST_NULL .and. requests(messages + i) == MPI_REQUEST_NULL
      call MPI_Get_count(AT(statuses, i), MPI_INTEGER, count, code)
      are_counted = are_counted .and. count == 2
    end do
    call expect('all messages, each with its status', in_order)
    call expect('all messages counted', are_counted)
    call fill()
    call MPI_Irecv(ghost, 1, face, left, 1, MPI_COMM_WORLD, requests(1), code)
    call MPI_Isend(box, 1, face, right, 1, MPI_COMM_WORLD, requests(2), code)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    call expect('a face without statuses', face_is_from(left))
    call MPI_Irecv(ghost, 1, face, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(1), code)
    call MPI_Wait(requests(1), AT(statuses, 1), code)
    call MPI_Get_count(AT(statuses, 1), face, count, code)
    call expect('waited for nobody', count == 0)
    call MPI_Waitall(0, requests, MPI_STATUSES_IGNORE, code)
    call expect('an empty list', code == MPI_SUCCESS)
  end subroutine nonblocking

  subroutine send_modes()
    use iso_c_binding, only: c_ptr
    REQUEST :: request
    DETACHED_BUFFER :: detached
    integer :: bytes, mode
    integer, parameter :: modes = 7
    character(1), allocatable :: space(:)
    call MPI_Pack_size(1, face, MPI_COMM_WORLD, bytes, code)
    allocate (space(2 * (bytes + MPI_BSEND_OVERHEAD)))
    call MPI_Buffer_attach(space, size(space), code)
    do mode = 1, modes
      call fill()
      call MPI_Irecv(ghost, 1, face, left, mode, MPI_COMM_WORLD, request, code)
      call MPI_Barrier(MPI_COMM_WORLD, code)  ! ready sends need a posted receive
      call send_as(mode)
      call expect_success(code)
      call MPI_Wait(request, MPI_STATUS_IGNORE, code)
      call expect('a mode of sending', face_is_from(left))
    end do
    call MPI_Buffer_detach(detached, bytes, code)
    call expect('the buffer detached', bytes == size(space))
  end subroutine send_modes

  subroutine send_as(mode)
    integer, intent(in) :: mode
    REQUEST :: request
    select case (mode)
    case (1)
      call MPI_Ssend(box, 1, face, right, mode, MPI_COMM_WORLD, code)
    case (2)
      call MPI_Rsend(box, 1, face, right, mode, MPI_COMM_WORLD, code)
    case (3)
      call MPI_Bsend(box, 1, face, right, mode, MPI_COMM_WORLD, code)
    case (4)
      call MPI_Issend(box, 1, face, right, mode, MPI_COMM_WORLD, request, code)
    case (5)
      call MPI_Irsend(box, 1, face, right, mode, MPI_COMM_WORLD, request, code)
    case (6)
      call MPI_Ibsend(box, 1, face, right, mode, MPI_COMM_WORLD, request, code)
    case default
      call MPI_Isend(box, 1, face, right, mode, MPI_COMM_WORLD, request, code)
    end select
    if (mode >= 4) call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  end subroutine send_as

  subroutine packing()
    character(1) :: bytes(4096)
    integer :: position
    call fill()
    position = 16
    call MPI_Pack(box, 1, face, bytes, size(bytes), position, MPI_COMM_WORLD, code)
    call expect('position after packing', position == 16 + 8 * 2 * (n - 2) * 3)
    position = 16
    call MPI_Unpack(bytes, size(bytes), position, ghost, 1, face, MPI_COMM_WORLD, code)
    call expect('position after unpacking', position == 16 + 8 * 2 * (n - 2) * 3)
    call expect('packed and unpacked', face_is_from(my_rank))
  end subroutine packing

  subroutine external_packing()
    character(1) :: bytes(4096)
    integer(MPI_ADDRESS_KIND) :: position, space
    call fill()
    space = size(bytes)
    position = 0
    call MPI_Pack_external('external32', box, 1, face, bytes, space, position, code)
    call expect_success(code)
    position = 0
    call MPI_Unpack_external('external32', bytes, space, position, ghost, 1, face, code)
    call expect('packed and unpacked as external32', face_is_from(my_rank) .and. position == 8 * 2 * (n - 2) * 3)
  end subroutine external_packing

  subroutine probes()
    REQUEST :: sends(4), request
    STATUS(status)
    MESSAGE :: message
    logical :: is_there
    integer :: value(4), got, i, count
    value = [(10 * my_rank + i, i=1, 4)]
    do i = 1, 4
      call MPI_Isend(value(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, sends(i), code)
    end do
    call MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call expect('probed', TAG_OF(status) == 1 .and. count == 1)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    is_there = .false.
    do while (.not. is_there)
      call MPI_Iprobe(left, 2, MPI_COMM_WORLD, is_there, status, code)
    end do
    call expect('found by Iprobe', SOURCE_OF(status) == left .and. TAG_OF(status) == 2)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call MPI_Iprobe(left, 77, MPI_COMM_WORLD, is_there, MPI_STATUS_IGNORE, code)
    call expect('nothing with another tag', .not. is_there)
    call MPI_Mprobe(left, 3, MPI_COMM_WORLD, message, status, code)
    call MPI_Mrecv(got, 1, MPI_INTEGER, message, status, code)
    call expect('matched and received', got == 10 * left + 3 .and. message == MPI_MESSAGE_NULL)
    is_there = .false.
    do while (.not. is_there)
      call MPI_Improbe(left, 4, MPI_COMM_WORLD, is_there, message, status, code)
    end do
    call MPI_Imrecv(got, 1, MPI_INTEGER, message, request, code)
    call MPI_Wait(request, status, code)
    call expect('matched and received later', got == 10 * left + 4 .and. TAG_OF(status) == 4)
    call MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, code)
    call expect('a message of nobody', message == MPI_MESSAGE_NO_PROC)
    call MPI_Mrecv(got, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, code)
    call MPI_Waitall(4, sends, MPI_STATUSES_IGNORE, code)
  end subroutine probes

  ! Absolute addresses in the type, MPI_BOTTOM for a buffer.
  subroutine bottom()
    integer(MPI_ADDRESS_KIND) :: address(2)
    integer, volatile :: out(2), in(2)  ! read and written behind the compiler's back
    DATATYPE :: send_type, receive_type
    out = [my_rank, 100 + my_rank]
    in = -1
    call MPI_Get_address(out(2), address(1), code)
    call MPI_Get_address(out(1), address(2), code)
    call MPI_Type_create_hindexed(2, [1, 1], address, MPI_INTEGER, send_type, code)
    call MPI_Type_commit(send_type, code)
    call MPI_Get_address(in(1), address(1), code)
    call MPI_Get_address(in(2), address(2), code)
    call MPI_Type_create_hindexed(2, [1, 1], address, MPI_INTEGER, receive_type, code)
    call MPI_Type_commit(receive_type, code)
    call MPI_Sendrecv(MPI_BOTTOM, 1, send_type, right, 5, MPI_BOTTOM, 1, receive_type, left, 5, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, code)
    call expect('absolute addresses', in(1) == 100 + left .and. in(2) == left)
    call MPI_Type_free(send_type, code)
    call MPI_Type_free(receive_type, code)
  end subroutine bottom

  subroutine persistent()
    REQUEST :: requests(2), more(4)
    integer :: turn, i
    logical :: all_right
    call MPI_Recv_init(ghost, 1, face, left, 6, MPI_COMM_WORLD, requests(1), code)
    call MPI_Send_init(box, 1, face, right, 6, MPI_COMM_WORLD, requests(2), code)
    all_right = .true.
    do turn = 1, 3
      call fill()
      if (turn == 2) then
        call MPI_Start(requests(1), code)
        call MPI_Start(requests(2), code)
      else
        call MPI_Startall(2, requests, code)
      end if
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
      all_right = all_right .and. face_is_from(left) .and. requests(1) /= MPI_REQUEST_NULL
    end do
    call expect('a persistent exchange, three times', all_right)
    call MPI_Ssend_init(box, 1, face, right, 6, MPI_COMM_WORLD, more(1), code)
    call MPI_Rsend_init(box, 1, face, MPI_PROC_NULL, 6, MPI_COMM_WORLD, more(2), code)
    call MPI_Bsend_init(box, 1, face, MPI_PROC_NULL, 6, MPI_COMM_WORLD, more(3), code)
    call fill()
    more(4) = requests(1)
    call MPI_Startall(4, more, code)
    call MPI_Waitall(4, more, MPI_STATUSES_IGNORE, code)
    call expect('a synchronous persistent exchange', face_is_from(left))
    do i = 1, 4
      call MPI_Request_free(more(i), code)
    end do
    call MPI_Request_free(requests(2), code)
    call expect('freed requests are null', all([(more(i) == MPI_REQUEST_NULL, i=1, 4)]))
  end subroutine persistent

  ! Half a pair arrives.
  subroutine elements()
    STATUS(status)
    integer :: out(3), in(4), count
    integer(MPI_COUNT_KIND) :: large
    DATATYPE :: pair
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, code)
    call MPI_Type_commit(pair, code)
    out = [1, 2, 3]
    call MPI_Sendrecv(out, 3, MPI_INTEGER, right, 2, in, 2, pair, left, 2, MPI_COMM_WORLD, status, code)
    call MPI_Get_count(status, pair, count, code)
    call expect('not a whole number of pairs', count == MPI_UNDEFINED)
    call MPI_Get_elements(status, pair, count, code)
    call expect('three elements', count == 3)
    call MPI_Get_elements_x(status, pair, large, code)
    call expect('three elements in a large count', large == 3)
    call MPI_Type_free(pair, code)
  end subroutine elements

  ! A bad argument gives the MPI library's error class, in ierror.
  subroutine refused()
    integer :: class, value
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
    call MPI_Send(value, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class, code)
    call expect('no such rank', class == MPI_ERR_RANK)
    call MPI_Send(value, -1, MPI_INTEGER, right, 0, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class, code)
    call expect('a negative count', class == MPI_ERR_COUNT)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, code)
  end subroutine refused

#if defined(DIALECT_F08)
  subroutine without_ierror()
    REQUEST :: requests(2)
    call fill()
    call MPI_Irecv(ghost, 1, face, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(box, 1, face, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Barrier(MPI_COMM_WORLD)
    call expect('calls without ierror', face_is_from(left))
  end subroutine without_ierror
#endif
end program point_to_point
