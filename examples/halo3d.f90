! The Fortran twin of halo3d.cpp: a periodic 3D halo exchange with 26 neighbours. It knows nothing of Strake.
! Every cell is checked against the value that it must have; both programs print the same checksum.
module halo3d_parts
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use mpi_f08
  use halo_types
  implicit none

  type(block_t) :: block
  integer :: iterations = 30
  logical :: json = .false.
  integer :: directions(3, 26), dims(3) = 0, coords(3), neighbours(26)
  type(MPI_Comm) :: cart
  type(region_t) :: sends(26), ghosts(26)
  real(real64), allocatable, asynchronous :: cells(:, :, :, :)
  integer(int64) :: wrong = 0, checksum = 0

contains

  ! Reads the command line; false where it is not understood.
  logical function parse() result(good)
    character(len=32) :: name, text
    integer :: i, number, status
    good = .true.
    i = 1
    do while (i <= command_argument_count())
      call get_command_argument(i, name)
      if (name == '--json') then
        json = .true.
        i = i + 1
        cycle
      end if
      call get_command_argument(i + 1, text)
      read (text, *, iostat=status) number
      good = good .and. status == 0
      if (.not. good) return
      good = number >= 1 .and. number <= 16384
      select case (name)
      case ('--n')
        block%n = number
      case ('--radius')
        block%radius = number
      case ('--quantities')
        block%quantities = number
      case ('--iterations')
        iterations = number
      case default
        good = .false.
      end select
      i = i + 2
    end do
    good = good .and. block%radius <= block%n
  end function

  subroutine join_grid()
    integer :: size, rank, i, there(3)
    directions = all_directions()
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    ! MPI's grid is z, y, x, as in the C++ program, so that both give each rank the same part.
    call MPI_Dims_create(size, 3, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.true., .true., .true.], .false., cart)
    call MPI_Comm_rank(cart, rank)
    call MPI_Cart_coords(cart, rank, 3, coords)
    do i = 1, 26
      there = coords + directions(3:1:-1, i)
      call MPI_Cart_rank(cart, there, neighbours(i))
    end do
    dims = dims(3:1:-1)
    coords = coords(3:1:-1)
  end subroutine

  subroutine make_types()
    integer :: i
    do i = 1, 26
      sends(i) = make_region(block, directions(:, i), .false.)
      ghosts(i) = make_region(block, directions(:, i), .true.)
    end do
  end subroutine

  subroutine free_types()
    integer :: i
    do i = 1, 26
      call MPI_Type_free(sends(i)%datatype)
      call MPI_Type_free(ghosts(i)%datatype)
    end do
  end subroutine

  ! The message that leaves in direction i carries tag i; from the neighbour in direction i comes the one that left in
  ! the opposite direction.
  subroutine exchange()
    type(MPI_Request) :: requests(52)
    integer :: i, at(3)
    do i = 1, 26
      at = ghosts(i)%first
      call MPI_Irecv(cells(at(1), at(2), at(3), 1), 1, ghosts(i)%datatype, neighbours(i), 27 - i, cart, requests(i))
    end do
    do i = 1, 26
      at = sends(i)%first
      call MPI_Isend(cells(at(1), at(2), at(3), 1), 1, sends(i)%datatype, neighbours(i), i, cart, requests(26 + i))
    end do
    call MPI_Waitall(52, requests, MPI_STATUSES_IGNORE)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(cells)
  end subroutine

  ! Packs every send region, one after the other.
  subroutine pack(packed, position)
    real(real64), intent(inout) :: packed(:)
    integer, intent(out) :: position
    integer :: i, at(3), bytes
    bytes = size(packed) * storage_size(packed) / 8
    position = 0
    do i = 1, 26
      at = sends(i)%first
      call MPI_Pack(cells(at(1), at(2), at(3), 1), 1, sends(i)%datatype, packed, bytes, position, cart)
    end do
  end subroutine

  ! What a cell must hold: its quantity, global coordinate and generation; every value below 2^53 is exact.
  pure real(real64) function value_of(x, y, z, q, generation) result(value)
    integer, intent(in) :: x, y, z, q, generation
    integer(int64) :: length(3), global(3)
    length = int(dims, int64) * block%n
    global = modulo(int(coords, int64) * block%n + [x, y, z] - 1 - block%radius, length)
    value = real(4 * ((((q - 1) * length(3) + global(3)) * length(2) + global(2)) * length(1) + global(1)) &
                 + generation, real64)
  end function

  ! Fills the interior with what each cell must hold, and the ghost cells with what none may hold.
  subroutine fill(generation)
    integer, intent(in) :: generation
    integer :: x, y, z, q, low, high
    low = block%radius + 1
    high = block%radius + block%n
    cells = -1
    do q = 1, block%quantities
      do z = low, high
        do y = low, high
          do x = low, high
            cells(x, y, z, q) = value_of(x, y, z, q, generation)
          end do
        end do
      end do
    end do
  end subroutine

  ! Counts the cells, ghost cells and interior, that do not hold what they must.
  subroutine check(generation)
    integer, intent(in) :: generation
    integer :: x, y, z, q
    real(real64) :: value
    do q = 1, size(cells, 4)
      do z = 1, size(cells, 3)
        do y = 1, size(cells, 2)
          do x = 1, size(cells, 1)
            value = value_of(x, y, z, q, generation)
            if (transfer(cells(x, y, z, q), 0_int64) /= transfer(value, 0_int64)) then
              if (wrong == 0) write (error_unit, '(a, 4i6, a, f0.0, a, f0.0)') 'halo3d: cell', x, y, z, q, &
                ' holds ', cells(x, y, z, q), ' instead of ', value
              wrong = wrong + 1
            end if
            call add_word(transfer(cells(x, y, z, q), 0_int64))
          end do
        end do
      end do
    end do
  end subroutine

  ! One step of the checksum, a chain of xorshift steps over 64-bit words.
  subroutine add_word(word)
    integer(int64), intent(in) :: word
    checksum = ieor(checksum, word)
    checksum = ieor(checksum, ishft(checksum, 13))
    checksum = ieor(checksum, ishft(checksum, -7))
    checksum = ieor(checksum, ishft(checksum, 17))
  end subroutine

  ! The slowest rank's time since `begin`. [us]
  real(real64) function elapsed_us(begin) result(time)
    real(real64), intent(in) :: begin
    time = (MPI_Wtime() - begin) * 1e6_real64
    call MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  end function

  real(real64) function median(samples)
    real(real64), intent(in) :: samples(:)
    real(real64) :: sorted(size(samples)), sample
    integer :: i, j
    sorted = samples
    do i = 2, size(sorted)
      sample = sorted(i)
      j = i - 1
      do while (j >= 1)
        if (sorted(j) <= sample) exit
        sorted(j + 1) = sorted(j)
        j = j - 1
      end do
      sorted(j + 1) = sample
    end do
    median = sorted(size(sorted) / 2 + 1)
  end function

end module

program halo3d
  use halo3d_parts
  implicit none
  real(real64) :: begin, first_commit
  real(real64), allocatable :: commits(:), packs(:), exchanges(:)
  real(real64), allocatable :: packed(:)
  integer :: rank, side, i, bytes, total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (.not. parse()) then
    if (rank == 0) write (error_unit, '(a)') &
      'usage: halo3d [--n CELLS] [--radius CELLS] [--quantities COUNT] [--iterations COUNT] [--json]'
    call MPI_Finalize()
    stop 2
  end if
  call join_grid()
  allocate (commits(iterations), packs(iterations), exchanges(iterations))
  side = block%n + 2 * block%radius
  allocate (cells(side, side, side, block%quantities))

  call MPI_Barrier(MPI_COMM_WORLD)
  begin = MPI_Wtime()
  call make_types()
  first_commit = elapsed_us(begin)

  ! Checked before and after the timed runs, since the first exchange and later ones may take different paths.
  call fill(1)
  call exchange()
  call check(1)
  do i = 1, iterations
    call MPI_Barrier(MPI_COMM_WORLD)
    begin = MPI_Wtime()
    call exchange()
    exchanges(i) = elapsed_us(begin)
  end do
  call fill(2)
  call exchange()
  call check(2)

  total = 0
  do i = 1, 26
    call MPI_Pack_size(1, sends(i)%datatype, cart, bytes)
    total = total + bytes
  end do
  allocate (packed(total / 8 + 1))
  call pack(packed, total)
  do i = 1, iterations
    call MPI_Barrier(MPI_COMM_WORLD)
    begin = MPI_Wtime()
    call pack(packed, total)
    packs(i) = elapsed_us(begin)
  end do
  do i = 1, total / 8
    call add_word(transfer(packed(i), 0_int64))
  end do

  do i = 1, iterations
    call free_types()
    call MPI_Barrier(MPI_COMM_WORLD)
    begin = MPI_Wtime()
    call make_types()
    commits(i) = elapsed_us(begin)
  end do

  call add_word(int(rank, int64))
  call MPI_Allreduce(MPI_IN_PLACE, checksum, 1, MPI_INTEGER8, MPI_BXOR, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) call report()
  call free_types()
  call MPI_Comm_free(cart)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  subroutine report()
    if (json) then
      print '(a, 5(a, i0), 4(a, f12.1), a, i0, a, z16.16, a)', '{"program": "halo3d_f90", "memory": "host"', &
        ', "ranks": ', product(dims), ', "n": ', block%n, ', "radius": ', block%radius, ', "quantities": ', &
        block%quantities, ', "packed_bytes": ', total, ', "first_commit_us": ', first_commit, ', "commit_us": ', &
        median(commits), ', "pack_us": ', median(packs), ', "exchange_us": ', median(exchanges), &
        ', "wrong_cells": ', wrong, ', "checksum": "', checksum, '"}'
      return
    end if
    print '(a, 2(i0, a), i0, a, i0, a, i0, a, i0, a)', 'halo3d (Fortran): ', dims(3), ' x ', dims(2), ' x ', dims(1), &
      ' ranks, ', block%quantities, ' quantities of ', block%n, '^3 cells and ', block%radius, &
      ' ghost layers each, host memory'
    print '(a, f10.1, a, f0.1, a)', '  commit    ', median(commits), &
      ' us  52 types, created and committed (the first time ', first_commit, ' us)'
    print '(a, f10.1, a, f0.2, a)', '  pack      ', median(packs), ' us  ', total / 1e6_real64, ' MB from 26 regions'
    print '(a, f10.1, a)', '  exchange  ', median(exchanges), ' us  the same with 26 neighbours'
    print '(a, z16.16, a, i0, a)', '  checksum  ', checksum, ', ', wrong, ' wrong cells'
  end subroutine

end program
