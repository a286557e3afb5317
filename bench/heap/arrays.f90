! A subroutine that allocates arrays of 20^3 to 79^3 values each time. Prints the milliseconds of 2000 calls.
!   gfortran -O2 bench/heap/arrays.f90 -o arrays
program arrays
  implicit none
  integer :: i
  real(8) :: total
  integer(8) :: begin, end, rate
  total = 0
  call system_clock(begin, rate)
  do i = 1, 2000
    call step(20 + mod(7 * i, 60), total)
  end do
  call system_clock(end)
  print '(f8.1, a, es10.2, a)', 1d3 * (end - begin) / rate, ' ms (sum', total, ')'

contains

  subroutine step(n, total)
    integer, intent(in) :: n
    real(8), intent(inout) :: total
    real(8), allocatable :: a(:, :, :), b(:, :, :), c(:, :, :), d(:, :)
    allocate (a(n, n, n), b(n, n, n), c(n, n, n), d(n, n))
    a = total * 1d-9
    b = a + 1
    c = a * b
    d = sum(c, 3)
    total = total + d(1, 1) + 1
  end subroutine
end program
