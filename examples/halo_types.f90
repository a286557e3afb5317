! The datatypes of a 3D halo: for each of the 26 directions, which cells leave and which cells arrive.
module halo_types
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  implicit none
  private
  public :: block_t, region_t, all_directions, make_region

  ! A rank's part of the grid, cells(x, y, z, quantity), with `radius` ghost cells on every side.
  type :: block_t
    integer :: n = 64, radius = 3, quantities = 2
  end type

  ! `datatype` is applied at cell `first` of the first quantity.
  type :: region_t
    type(MPI_Datatype) :: datatype
    integer :: first(3) = 1
  end type

contains

  ! Directions along x, y and z, x fastest. Direction i is opposite to direction 27 - i.
  function all_directions() result(directions)
    integer :: directions(3, 26)
    integer :: x, y, z, i
    i = 0
    do z = -1, 1
      do y = -1, 1
        do x = -1, 1
          if (x == 0 .and. y == 0 .and. z == 0) cycle
          i = i + 1
          directions(:, i) = [x, y, z]
        end do
      end do
    end do
  end function

  ! One subarray of four dimensions, the quantities outermost.
  function as_subarray(block, extent, start) result(datatype)
    type(block_t), intent(in) :: block
    integer, intent(in) :: extent(3), start(3)
    type(MPI_Datatype) :: datatype
    integer :: side
    side = block%n + 2 * block%radius
    call MPI_Type_create_subarray(4, [side, side, side, block%quantities], [extent, block%quantities], &
                                  [start, 0], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, datatype)
  end function

  ! Rows of a plane, planes of a cube, cubes of the block; the region's first cell is the base address.
  function as_vectors(block, extent) result(datatype)
    type(block_t), intent(in) :: block
    integer, intent(in) :: extent(3)
    type(MPI_Datatype) :: datatype, plane, box
    integer(MPI_ADDRESS_KIND) :: side, cell
    side = block%n + 2 * block%radius
    cell = storage_size(1.0_real64) / 8
    call MPI_Type_vector(extent(2), extent(1), int(side), MPI_DOUBLE_PRECISION, plane)
    call MPI_Type_create_hvector(extent(3), 1, side**2 * cell, plane, box)
    call MPI_Type_create_hvector(block%quantities, 1, side**3 * cell, box, datatype)
    call MPI_Type_free(plane)
    call MPI_Type_free(box)
  end function

  ! A struct of one subarray per quantity.
  function as_struct(block, extent, start) result(datatype)
    type(block_t), intent(in) :: block
    integer, intent(in) :: extent(3), start(3)
    type(MPI_Datatype) :: datatype, box
    integer(MPI_ADDRESS_KIND) :: side, cell, displacements(block%quantities)
    type(MPI_Datatype) :: types(block%quantities)
    integer :: lengths(block%quantities), q
    side = block%n + 2 * block%radius
    cell = storage_size(1.0_real64) / 8
    call MPI_Type_create_subarray(3, int([side, side, side]), extent, start, MPI_ORDER_FORTRAN, &
                                  MPI_DOUBLE_PRECISION, box)
    lengths = 1
    do q = 1, block%quantities
      types(q) = box
      displacements(q) = (q - 1) * side**3 * cell
    end do
    call MPI_Type_create_struct(block%quantities, lengths, displacements, types, datatype)
    call MPI_Type_free(box)
  end function

  ! The committed type of one direction: the interior's outermost `radius` cells on that side, or, with `ghost`, the
  ! ghost cells beyond them.
  function make_region(block, direction, ghost) result(region)
    type(block_t), intent(in) :: block
    integer, intent(in) :: direction(3)
    logical, intent(in) :: ghost
    type(region_t) :: region
    integer :: extent(3), start(3), sides
    extent = merge(block%n, block%radius, direction == 0)
    start = merge(block%n, block%radius, direction > 0)
    if (ghost) start = start + direction * block%radius
    sides = count(direction /= 0)
    if (sides == 1 .and. direction(1) /= 0) then
      region%datatype = as_subarray(block, extent, start)
    else if ((sides == 1 .and. direction(2) /= 0) .or. sides == 3) then
      region%datatype = as_vectors(block, extent)
      region%first = start + 1
    else  ! z faces and edges
      region%datatype = as_struct(block, extent, start)
    end if
    call MPI_Type_commit(region%datatype)
  end function

end module
