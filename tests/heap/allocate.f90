! Large arrays of allocate and of automatic growth are in the shared heap, and keep their values.
program allocate_arrays
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function heap_has(address) bind(c)
      import c_int, c_ptr
      type(c_ptr), value :: address
    end function
  end interface
  real(8), allocatable, target :: large(:, :), small(:), other(:, :)
  integer :: i

  allocate(large(1000, 1000), small(10))
  small = 2
  large = reshape([(real(i, 8), i = 1, 1000000)], [1000, 1000])
  if (heap_has(c_loc(large)) /= 1) error stop "the large array is not in the heap"
  if (heap_has(c_loc(small)) /= 0) error stop "the small array is in the heap"
  allocate(other, source=large)
  if (heap_has(c_loc(other)) /= 1) error stop "the copy is not in the heap"
  deallocate(large)
  if (sum(other) /= 500000500000d0) error stop "the copy has other values"
  other = reshape([(1d0, i = 1, 4000000)], [2000, 2000])
  if (sum(other) /= 4d6) error stop "the longer array has other values"
  if (heap_has(c_loc(other)) /= 1) error stop "the longer array is not in the heap"
  if (sum(small) /= 20) error stop "the small array has other values"
  print *, "ok"
end program
