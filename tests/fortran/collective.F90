! Collectives, communicators, windows and files; and that a message under way never holds up a collective, nor the other
! way round.
#include "dialect.h"
program collective
  USE_MPI
  use expect_module
  implicit none
  INCLUDE_MPI
  integer :: ranks, left, right, code, provided, i

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call expect('a thread level', provided >= MPI_THREAD_SINGLE .and. provided <= MPI_THREAD_MULTIPLE)
  left = mod(my_rank + ranks - 1, ranks)
  right = mod(my_rank + 1, ranks)
  call message_under_way()
  call in_place()
  call moved()
  call reduced()
  call types_per_rank()
  call nonblocking()
  call communicators()
  call topologies()
  call intercommunicator()
  call windows()
  call files()
  call MPI_Finalize(code)

contains
  ! The send is larger than any eager limit and the receive is strided.
  subroutine message_under_way()
    integer, parameter :: rows = 512
    double precision, allocatable :: out(:, :), in(:, :)
    REQUEST :: requests(2)
    DATATYPE :: half
    COMM :: split
    allocate (out(rows, rows), in(rows, rows))
    out = my_rank
    in = -1
    call MPI_Type_create_subarray(2, [rows, rows], [rows / 2, rows], [0, 0], MPI_ORDER_FORTRAN, &
                                  MPI_DOUBLE_PRECISION, half, code)
    call MPI_Type_commit(half, code)
    call MPI_Irecv(in, 1, half, left, 1, MPI_COMM_WORLD, requests(1), code)
    call MPI_Isend(out, 1, half, right, 1, MPI_COMM_WORLD, requests(2), code)
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(my_rank, 2), -my_rank, split, code)
    call MPI_Comm_free(split, code)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    call expect('a message across a barrier and a split', all(in(:rows/2, :) == left) .and. all(in(rows/2+1:, :) == -1))
    call MPI_Type_free(half, code)
  end subroutine message_under_way

  subroutine in_place()
    integer :: sums(3), gathered(ranks), block
    sums = [my_rank, 2 * my_rank, 1]
    call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('Allreduce in place', all(sums == [1, 2, 0] * (ranks * (ranks - 1) / 2) + [0, 0, ranks]))
    gathered = -1
    gathered(my_rank + 1) = my_rank * my_rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call expect('Allgather in place', all(gathered == [(i * i, i=0, ranks - 1)]))
    gathered = my_rank
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call expect('Alltoall in place', all(gathered == [(i, i=0, ranks - 1)]))
    block = my_rank + 1
    call MPI_Scan(MPI_IN_PLACE, block, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('Scan in place', block == (my_rank + 1) * (my_rank + 2) / 2)
  end subroutine in_place

  subroutine moved()
    integer :: value(2), gathered(2 * ranks), counts(ranks), starts(ranks), part(2), returned(2 * ranks)
    counts = 2
    starts = [(2 * i, i=0, ranks - 1)]
    value = [my_rank, -my_rank]
    call MPI_Gather(value, 1, MPI_2INTEGER, gathered, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call MPI_Gatherv(value, 2, MPI_INTEGER, gathered, counts, starts, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call MPI_Bcast(gathered, ranks, MPI_2INTEGER, 0, MPI_COMM_WORLD, code)
    call expect('gathered and broadcast', all([(gathered(2*i+1) == i .and. gathered(2*i+2) == -i, i=0, ranks - 1)]))
    part = -1
    call MPI_Scatter(gathered, 2, MPI_INTEGER, part, 1, MPI_2INTEGER, 0, MPI_COMM_WORLD, code)
    call expect('scattered', all(part == value))
    call MPI_Scatterv(gathered, counts, starts, MPI_INTEGER, part, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call expect('scattered by lists', all(part == value))
    gathered = -1
    call MPI_Allgatherv(value, 2, MPI_INTEGER, gathered, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, code)
    call expect('gathered everywhere', all([(gathered(2*i+2) == -i, i=0, ranks - 1)]))
    call MPI_Alltoallv(gathered, counts, starts, MPI_INTEGER, returned, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, code)
    call expect('exchanged by lists', all([(all(returned(2*i+1:2*i+2) == value), i=0, ranks - 1)]))
  end subroutine moved

  subroutine reduced()
    integer :: value, result, ones(ranks), counts(ranks), part
    value = my_rank + 1
    result = 0
    call MPI_Reduce(value, result, 1, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, code)
    call expect('reduced', result == merge(ranks * (ranks + 1) / 2, 0, my_rank == ranks - 1))
    ones = 1
    counts = 1
    call MPI_Reduce_scatter(ones, part, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('reduced and scattered', part == ranks)
    part = 0
    call MPI_Reduce_scatter_block(ones, part, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('reduced and scattered in blocks', part == ranks)
    call MPI_Exscan(value, result, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('a sum of those before', my_rank == 0 .or. result == my_rank * (my_rank + 1) / 2)
  end subroutine reduced

  ! A type for each rank: the list is as long as the communicator.
  subroutine types_per_rank()
    integer :: out(2 * ranks), in(2 * ranks), counts(ranks), bytes(ranks)
    DATATYPE :: types(ranks), pairs(ranks)
    out = [(100 * my_rank + i, i=1, 2 * ranks)]
    in = -1
    do i = 1, ranks
      call MPI_Type_contiguous(2, MPI_INTEGER, types(i), code)
      call MPI_Type_commit(types(i), code)
    end do
    pairs = MPI_2INTEGER
    counts = 1
    bytes = [(8 * i, i=0, ranks - 1)]
    call MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, pairs, MPI_COMM_WORLD, code)
    call expect('a type for each rank', all([(in(2*i+1) == 100 * i + 2 * my_rank + 1, i=0, ranks - 1)]))
    call MPI_Alltoallw(MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, code)
    call expect('and back in place', all([(in(2*i+1) == 100 * my_rank + 2 * i + 1, i=0, ranks - 1)]))
    do i = 1, ranks
      call MPI_Type_free(types(i), code)
    end do
  end subroutine types_per_rank

  subroutine nonblocking()
    integer, asynchronous :: pairs(2, 3), sums(2), out(ranks), in(ranks)
    integer :: counts(ranks), bytes(ranks)
    REQUEST :: requests(3)
    DATATYPE :: types(ranks), row
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, row, code)
    call MPI_Type_commit(row, code)
    pairs = -1
    if (my_rank == ranks - 1) pairs(1, :) = [1, 2, 3]
    sums = [my_rank, 1]
    out = [(100 * my_rank + i, i=1, ranks)]
    in = -1
    counts = 1
    bytes = [(4 * i, i=0, ranks - 1)]
    types = MPI_INTEGER
    requests = MPI_REQUEST_NULL
    call MPI_Ibcast(pairs, 1, row, ranks - 1, MPI_COMM_WORLD, requests(1), code)
    call MPI_Iallreduce(MPI_IN_PLACE, sums, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2), code)
    call MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, requests(3), code)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, code)
    call expect('broadcast meanwhile', all(pairs(1, :) == [1, 2, 3]) .and. all(pairs(2, :) == -1))
    call expect('reduced meanwhile, in place', all(sums == [ranks * (ranks - 1) / 2, ranks]))
    call expect('a type for each rank meanwhile', all([(in(i + 1) == 100 * i + my_rank + 1, i=0, ranks - 1)]))
    call MPI_Type_free(row, code)
  end subroutine nonblocking

  subroutine communicators()
    COMM :: copy, half, none
    GROUP :: group, reversed
    integer :: size, rank
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
    call MPI_Comm_group(copy, group, code)
    call MPI_Group_range_incl(group, 1, reshape([ranks - 1, 0, -1], [3, 1]), reversed, code)
    call MPI_Comm_create(copy, reversed, half, code)
    call MPI_Comm_rank(half, rank, code)
    call expect('a communicator in reverse order', rank == ranks - 1 - my_rank)
    call MPI_Comm_disconnect(half, code)
    call expect('a disconnected communicator is null', half == MPI_COMM_NULL)
    call MPI_Comm_create_group(copy, reversed, 5, half, code)
    call MPI_Comm_free(half, code)
    call MPI_Comm_split(copy, MPI_UNDEFINED, 0, none, code)
    call expect('no communicator for me', none == MPI_COMM_NULL)
    call MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, half, code)
    call MPI_Comm_free(half, code)
    call MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, half, code)
    call MPI_Comm_size(half, size, code)
    call expect('the ranks of this machine', size == ranks)
    call MPI_Comm_free(half, code)
    call MPI_Comm_free(copy, code)
    call expect('a freed communicator is null', copy == MPI_COMM_NULL)
    call MPI_Group_free(reversed, code)
    call MPI_Group_free(group, code)
  end subroutine communicators

  subroutine topologies()
    COMM :: ring, line, graph
    integer :: got(2), value, in_degree, out_degree, back, ahead, counts(2), starts(2), weights(1)
    integer(MPI_ADDRESS_KIND) :: bytes(2)
    DATATYPE :: types(2)
    logical :: is_weighted
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks, 1], [.true., .false.], .false., ring, code)
    call MPI_Cart_sub(ring, [.true., .false.], line, code)
    call MPI_Cart_shift(line, 0, 1, back, ahead, code)
    call expect('a periodic line', back == left .and. ahead == right)
    value = my_rank + 1
    counts = 1
    starts = [0, 1]
    got = -1
    call MPI_Neighbor_allgather(value, 1, MPI_INTEGER, got, 1, MPI_INTEGER, line, code)
    call expect('from both neighbours', all(got == [left, right] + 1))
    got = -1
    call MPI_Neighbor_allgatherv(value, 1, MPI_INTEGER, got, counts, starts, MPI_INTEGER, line, code)
    call expect('from both neighbours by lists', all(got == [left, right] + 1))
    bytes = [0, 4]
    types = MPI_INTEGER
#if !defined(DIALECT_F08)
    ! Not everywhere: MPICH's mpi_f08 takes every communicator for a distributed graph, and Open MPI reads no more types
    ! than there are ranks.
    if (ranks > 1) then
      got = -1
      call MPI_Neighbor_alltoallw([value, value], counts, bytes, types, got, counts, bytes, types, line, code)
      call expect('a type for each neighbour', all(got == [left, right] + 1))
    end if
#endif
    call MPI_Comm_free(line, code)
    call MPI_Comm_free(ring, code)

    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, code)
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, is_weighted, code)
    call expect('a graph without weights', in_degree == 1 .and. out_degree == 1 .and. .not. is_weighted)
    got = -1
    call MPI_Neighbor_alltoall(value, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, code)
    call expect('along a graph', got(1) == left + 1 .and. got(2) == -1)
    got = -1
    call MPI_Neighbor_alltoallv(value, [1], [0], MPI_INTEGER, got, [1], [1], MPI_INTEGER, graph, code)
    call expect('along a graph by lists', got(2) == left + 1 .and. got(1) == -1)
    got = -1
    call MPI_Neighbor_alltoallw(value, counts, bytes, types, got, counts, bytes, types, graph, code)
    call expect('along a graph by types', got(1) == left + 1 .and. got(2) == -1)
    call MPI_Comm_free(graph, code)
    weights = 3
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [my_rank], [1], [right], weights, MPI_INFO_NULL, .false., graph, code)
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, is_weighted, code)
    call expect('a graph with weights', in_degree == 1 .and. out_degree == 1 .and. is_weighted)
    call MPI_Comm_free(graph, code)
    call MPI_Graph_create(MPI_COMM_WORLD, 1, [1], [0], .false., graph, code)
    call expect('a graph of one', (graph == MPI_COMM_NULL) .eqv. (my_rank > 0))
    if (my_rank == 0) call MPI_Comm_free(graph, code)
  end subroutine topologies

  ! Even ranks and odd ranks, joined and merged.
  subroutine intercommunicator()
    COMM :: half, joined, merged
    integer :: rank, other
    if (ranks == 1) return
    call MPI_Comm_split(MPI_COMM_WORLD, mod(my_rank, 2), my_rank, half, code)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(my_rank, 2), 12, joined, code)
    other = -1
    call MPI_Allreduce(my_rank, other, 1, MPI_INTEGER, MPI_MIN, joined, code)
    call expect('the least of the other half', other == 1 - mod(my_rank, 2))
    call MPI_Intercomm_merge(joined, mod(my_rank, 2) == 0, merged, code)
    call MPI_Comm_rank(merged, rank, code)
    call expect('the even ranks come last', rank >= ranks / 2 .eqv. mod(my_rank, 2) == 0)
    call MPI_Comm_free(merged, code)
    call MPI_Comm_free(joined, code)
    call MPI_Comm_free(half, code)
  end subroutine intercommunicator

  ! Data moves with Open MPI only: MPICH 4.0 over UCX, as Debian ships it, misplaces data in windows on some machines.
  subroutine windows()
    use iso_c_binding, only: c_ptr, c_f_pointer
    WINDOW :: window
    GROUP :: group
    type(c_ptr) :: memory
    integer, pointer :: allocated(:)
    integer, asynchronous :: shown(3), value, got
    integer(MPI_ADDRESS_KIND) :: bytes, at
    REQUEST :: request
    character(MPI_MAX_LIBRARY_VERSION_STRING) :: version
    logical :: moves
    integer :: to, length
    if (ranks == 1) return  ! Open MPI has no window for a single rank where it finds no shared memory transport
    value = my_rank + 7
    call MPI_Get_library_version(version, length, code)
    moves = index(version(:length), 'Open MPI') == 1
    to = merge(right, MPI_PROC_NULL, moves)
    bytes = 12
    at = 2
    shown = -1
    got = -1
    call MPI_Win_create(shown, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, code)
    call MPI_Win_fence(0, window, code)
    call MPI_Put(value, 1, MPI_INTEGER, to, at, 1, MPI_INTEGER, window, code)
    call MPI_Win_fence(0, window, code)
    call expect('put', all(shown == [-1, -1, merge(left + 7, -1, moves)]))
    call MPI_Get(got, 1, MPI_INTEGER, to, at, 1, MPI_INTEGER, window, code)
    call MPI_Win_fence(0, window, code)
    call expect('got', got == merge(my_rank + 7, -1, moves))
    call MPI_Accumulate(value, 1, MPI_INTEGER, to, at, 1, MPI_INTEGER, MPI_SUM, window, code)
    call MPI_Win_fence(0, window, code)
    call expect('accumulated', shown(3) == merge(2 * (left + 7), -1, moves))
    call MPI_Win_lock_all(0, window, code)
    at = 1
    call MPI_Rput(value, 1, MPI_INTEGER, to, at, 1, MPI_INTEGER, window, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call MPI_Win_unlock_all(window, code)
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call expect('put by request', shown(2) == merge(left + 7, -1, moves) .and. request == MPI_REQUEST_NULL)
    bytes = 4
    call MPI_Win_free(window, code)
    call expect('a freed window is null', window == MPI_WIN_NULL)

    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window, code)
    call c_f_pointer(memory, allocated, [1])
    allocated(1) = value
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window, code)
    call MPI_Win_flush(right, window, code)
    call MPI_Win_unlock(right, window, code)
    call expect('allocated memory', allocated(1) == value .and. code == MPI_SUCCESS)
    call MPI_Win_lock_all(0, window, code)
    call MPI_Win_flush_local(right, window, code)
    call MPI_Win_flush_local_all(window, code)
    call MPI_Win_flush_all(window, code)
    call MPI_Win_unlock_all(window, code)
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_Comm_group(MPI_COMM_WORLD, group, code)
    call MPI_Win_post(group, 0, window, code)
    call MPI_Win_start(group, 0, window, code)
    call MPI_Win_complete(window, code)
    call MPI_Win_wait(window, code)
    call expect('an epoch by group', code == MPI_SUCCESS)
    call MPI_Group_free(group, code)
    call MPI_Win_free(window, code)
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window, code)
    call c_f_pointer(memory, allocated, [1])
    allocated(1) = value
    call expect('shared memory', allocated(1) == value)
    call MPI_Win_free(window, code)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, code)
    call MPI_Win_free(window, code)
  end subroutine windows

  subroutine files()
    FILE_HANDLE :: file
    STATUS(status)
    character(20) :: name
    integer :: out(4), in(4), count
    integer(MPI_OFFSET_KIND) :: start, bytes
    DATATYPE :: every_rank
    name = '  collective.data'
    out = 10 * my_rank + [1, 2, 3, 4]
    in = -1
    start = 0
    bytes = 16 * ranks
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file, code)
    call expect('opened', code == MPI_SUCCESS)
    call MPI_Type_vector(4, 1, ranks, MPI_INTEGER, every_rank, code)
    call MPI_Type_commit(every_rank, code)
    call MPI_File_set_size(file, bytes, code)
    call MPI_File_preallocate(file, bytes, code)
    call MPI_File_set_view(file, 4_MPI_OFFSET_KIND * my_rank, MPI_INTEGER, every_rank, 'native   ', MPI_INFO_NULL, code)
    call MPI_File_write_all(file, out, 4, MPI_INTEGER, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call expect('written', count == 4)
    call MPI_File_sync(file, code)
    call MPI_File_read_at_all(file, start, in, 4, MPI_INTEGER, MPI_STATUS_IGNORE, code)
    call expect('read back', all(in == out))
    call MPI_File_set_view(file, start, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, code)
    call MPI_File_read_all(file, in(1:1), 1, MPI_INTEGER, status, code)
    call expect('in the order of ranks', in(1) == 1)
    call MPI_File_write_at_all(file, int(my_rank, MPI_OFFSET_KIND), out, 1, MPI_INTEGER, status, code)
    call MPI_Type_free(every_rank, code)
    call MPI_File_close(file, code)
    call expect('a closed file is null', file == MPI_FILE_NULL)
  end subroutine files
end program collective
