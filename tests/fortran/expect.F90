! What the test programs say: one line for each thing checked, from rank 0, and a failure from any rank at once.
module expect_module
  implicit none
  integer :: my_rank = 0
contains
  subroutine expect(what, holds)
    character(*), intent(in) :: what
    logical, intent(in) :: holds
    if (.not. holds) then
      print '(a, i0, 2a)', 'rank ', my_rank, ': FAILED: ', what
      error stop 1
    end if
    if (my_rank == 0) print '(2a)', 'ok: ', what
  end subroutine expect

  subroutine expect_success(code)
    integer, intent(in) :: code
    if (code == 0) return
    print '(a, i0, a, i0)', 'rank ', my_rank, ': FAILED: error code ', code
    error stop 1
  end subroutine expect_success
end module expect_module
