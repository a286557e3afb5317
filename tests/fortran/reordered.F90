! Communicators whose ranks may be reordered: each vertex has the neighbours and weights that were named for it.
#include "dialect.h"
program reordered
  USE_MPI
  use expect_module
  implicit none
  INCLUDE_MPI
  integer :: ranks, half, code

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  half = max(ranks / 2, 1)
  call by_their_ends()
  call without_weights()
  call named_by_one()
  call grids()
  call graphs()
  call MPI_Finalize(code)

contains
  integer function partner(vertex)
    integer, intent(in) :: vertex
    partner = mod(vertex + half, ranks)
  end function partner

  subroutine check_pair(graph, what, weight)
    COMM, intent(in) :: graph
    character(*), intent(in) :: what
    integer, intent(in) :: weight
    integer :: rank, from(1), to(1), in_weights(1), out_weights(1), value, got
    call MPI_Comm_rank(graph, rank, code)
    call MPI_Dist_graph_neighbors(graph, 1, from, in_weights, 1, to, out_weights, code)
    call expect(what // ': the partner', from(1) == partner(rank) .and. to(1) == partner(rank))
    if (weight > 0) call expect(what // ': the weight', in_weights(1) == weight .and. out_weights(1) == weight)
    value = rank
    got = -1
    call MPI_Neighbor_alltoall(value, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, code)
    call expect(what // ': its value', got == partner(rank))
  end subroutine check_pair

  subroutine by_their_ends()
    COMM :: graph
    integer :: there(1), weights(1)
    there = partner(my_rank)
    weights = 30
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, there, weights, 1, there, weights, MPI_INFO_NULL, .true., &
                                        graph, code)
    call check_pair(graph, 'by their ends', 30)
    call MPI_Comm_free(graph, code)
  end subroutine by_their_ends

  subroutine without_weights()
    COMM :: graph
    integer :: there(1), degree, in_degree, out_degree
    logical :: is_weighted
    there = partner(my_rank)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, there, MPI_UNWEIGHTED, 1, there, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .true., graph, code)
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, is_weighted, code)
    call expect('no weights', in_degree == 1 .and. out_degree == 1 .and. .not. is_weighted)
    call check_pair(graph, 'without weights', 0)
    call MPI_Comm_free(graph, code)
    ! The first pair has edges, with weights; all others none.
    degree = merge(1, 0, my_rank == 0 .or. my_rank == partner(0))
    if (degree == 1) then
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, there, [4], 1, there, [4], MPI_INFO_NULL, .true., graph, code)
    else
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, there, MPI_WEIGHTS_EMPTY, 0, there, MPI_WEIGHTS_EMPTY, &
                                          MPI_INFO_NULL, .true., graph, code)
    end if
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, is_weighted, code)
    call MPI_Comm_rank(graph, degree, code)
    degree = merge(1, 0, degree == 0 .or. degree == partner(0))
    call expect('edges of one pair', in_degree == degree .and. out_degree == degree .and. is_weighted)
    call MPI_Comm_free(graph, code)
  end subroutine without_weights

  subroutine named_by_one()
    COMM :: graph
    integer :: i, all, from(ranks), degrees(ranks), to(ranks), weights(ranks)
    from = [(i, i=0, ranks - 1)]
    degrees = 1
    to = [(partner(i), i=0, ranks - 1)]
    weights = 7
    all = merge(ranks, 0, my_rank == 0)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, all, from, degrees, to, weights, MPI_INFO_NULL, .true., graph, code)
    call check_pair(graph, 'named by one rank', 7)
    call MPI_Comm_free(graph, code)
  end subroutine named_by_one

  subroutine grids()
    COMM :: grid
    integer :: rank, mapped, at(2), sum
    if (ranks < 2) return
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, half], [.true., .false.], .true., grid, code)
    call MPI_Cart_map(MPI_COMM_WORLD, 2, [2, half], [.true., .false.], mapped, code)
    call MPI_Comm_rank(grid, rank, code)
    call MPI_Cart_coords(grid, rank, 2, at, code)
    call expect('its place in the grid', rank == at(1) * half + at(2))
    call MPI_Allreduce(mapped, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('each place once', sum == ranks * (ranks - 1) / 2)
    call MPI_Comm_free(grid, code)
  end subroutine grids

  subroutine graphs()
    COMM :: graph
    integer :: i, rank, mapped, sum, there(1)
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, [(i, i=1, ranks)], [(partner(i), i=0, ranks - 1)], .true., graph, code)
    call MPI_Graph_map(MPI_COMM_WORLD, ranks, [(i, i=1, ranks)], [(partner(i), i=0, ranks - 1)], mapped, code)
    call MPI_Comm_rank(graph, rank, code)
    call MPI_Graph_neighbors(graph, rank, 1, there, code)
    call expect('the partner in a graph', there(1) == partner(rank))
    call MPI_Allreduce(mapped, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call expect('each vertex once', sum == ranks * (ranks - 1) / 2)
    call MPI_Comm_free(graph, code)
  end subroutine graphs
end program reordered
