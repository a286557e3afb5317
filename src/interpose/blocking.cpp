// Functions that may block until another rank acts: what waits to be sent is handed to the system
// first, so that a peer that waits for it gets it while this rank sits in the call
// (docs/decisions/0004-progress.md).
#include <utility>

#include "exchange/engine.hpp"
#include "exchange/events.hpp"
#include "interpose/boundary.hpp"

namespace strake::interpose {
namespace {

template <typename Real, typename... Args>
int blocking(Real real, Args... args) {
  if (t_depth == 0) exchange::Engine::get().hand_on();
  return real(args...);
}

/// One that moves data.
template <typename Real, typename... Args>
int collective(Real real, Args... args) {
  if (t_depth == 0) exchange::record_passed(exchange::Reason::Collective);
  return blocking(real, args...);
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

// Parameter names are those of mpi.h.
STRAKE_MPI int MPI_Barrier(MPI_Comm comm) { return blocking(next().MPI_Barrier, comm); }
STRAKE_MPI int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return collective(next().MPI_Bcast, buffer, count, datatype, root, comm);
}
STRAKE_MPI int MPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return collective(next().MPI_Gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                    root, comm);
}
STRAKE_MPI int MPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                           int root, MPI_Comm comm) {
  return collective(next().MPI_Gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                    recvtype, root, comm);
}
STRAKE_MPI int MPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return collective(next().MPI_Scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                    root, comm);
}
STRAKE_MPI int MPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                            MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return collective(next().MPI_Scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                    recvtype, root, comm);
}
STRAKE_MPI int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                    recvtype, comm);
}
STRAKE_MPI int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const int recvcounts[], const int displs[],
                              MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                    displs, recvtype, comm);
}
STRAKE_MPI int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                    comm);
}
STRAKE_MPI int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                             MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                             const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                    recvcounts, rdispls, recvtype, comm);
}
STRAKE_MPI int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                             const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                             const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return collective(next().MPI_Alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                    recvcounts, rdispls, recvtypes, comm);
}
STRAKE_MPI int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                          MPI_Op op, int root, MPI_Comm comm) {
  return collective(next().MPI_Reduce, sendbuf, recvbuf, count, datatype, op, root, comm);
}
STRAKE_MPI int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm) {
  return collective(next().MPI_Allreduce, sendbuf, recvbuf, count, datatype, op, comm);
}
STRAKE_MPI int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return collective(next().MPI_Reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, comm);
}
STRAKE_MPI int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return collective(next().MPI_Reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op,
                    comm);
}
STRAKE_MPI int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm) {
  return collective(next().MPI_Scan, sendbuf, recvbuf, count, datatype, op, comm);
}
STRAKE_MPI int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                          MPI_Op op, MPI_Comm comm) {
  return collective(next().MPI_Exscan, sendbuf, recvbuf, count, datatype, op, comm);
}
STRAKE_MPI int MPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                      MPI_Comm comm) {
  return collective(next().MPI_Neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                    recvtype, comm);
}
STRAKE_MPI int MPI_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, const int recvcounts[], const int displs[],
                                       MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf,
                    recvcounts, displs, recvtype, comm);
}
STRAKE_MPI int MPI_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                     MPI_Comm comm) {
  return collective(next().MPI_Neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                    recvtype, comm);
}
STRAKE_MPI int MPI_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[],
                                      const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                      const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPI_Comm comm) {
  return collective(next().MPI_Neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                    recvcounts, rdispls, recvtype, comm);
}
STRAKE_MPI int MPI_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                      void* recvbuf, const int recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                      MPI_Comm comm) {
  return collective(next().MPI_Neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                    recvcounts, rdispls, recvtypes, comm);
}
STRAKE_MPI int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_dup, comm, newcomm);
}
STRAKE_MPI int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_dup_with_info, comm, info, newcomm);
}
STRAKE_MPI int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_create, comm, group, newcomm);
}
STRAKE_MPI int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_create_group, comm, group, tag, newcomm);
}
STRAKE_MPI int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_split, comm, color, key, newcomm);
}
STRAKE_MPI int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info,
                                   MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_split_type, comm, split_type, key, info, newcomm);
}
STRAKE_MPI int MPI_Comm_free(MPI_Comm* comm) { return blocking(next().MPI_Comm_free, comm); }
STRAKE_MPI int MPI_Comm_disconnect(MPI_Comm* comm) {
  return blocking(next().MPI_Comm_disconnect, comm);
}
STRAKE_MPI int MPI_Comm_accept(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                               MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_accept, port_name, info, root, comm, newcomm);
}
STRAKE_MPI int MPI_Comm_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                                MPI_Comm* newcomm) {
  return blocking(next().MPI_Comm_connect, port_name, info, root, comm, newcomm);
}
STRAKE_MPI int MPI_Comm_join(int fd, MPI_Comm* intercomm) {
  return blocking(next().MPI_Comm_join, fd, intercomm);
}
STRAKE_MPI int MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info,
                              int root, MPI_Comm comm, MPI_Comm* intercomm,
                              int array_of_errcodes[]) {
  return blocking(next().MPI_Comm_spawn, command, argv, maxprocs, info, root, comm, intercomm,
                  array_of_errcodes);
}
STRAKE_MPI int MPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                                       const int array_of_maxprocs[],
                                       const MPI_Info array_of_info[], int root, MPI_Comm comm,
                                       MPI_Comm* intercomm, int array_of_errcodes[]) {
  return blocking(next().MPI_Comm_spawn_multiple, count, array_of_commands, array_of_argv,
                  array_of_maxprocs, array_of_info, root, comm, intercomm, array_of_errcodes);
}
STRAKE_MPI int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm bridge_comm,
                                    int remote_leader, int tag, MPI_Comm* newintercomm) {
  return blocking(next().MPI_Intercomm_create, local_comm, local_leader, bridge_comm, remote_leader,
                  tag, newintercomm);
}
STRAKE_MPI int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintercomm) {
  return blocking(next().MPI_Intercomm_merge, intercomm, high, newintercomm);
}
STRAKE_MPI int MPI_Cart_create(MPI_Comm old_comm, int ndims, const int dims[], const int periods[],
                               int reorder, MPI_Comm* comm_cart) {
  return blocking(next().MPI_Cart_create, old_comm, ndims, dims, periods, reorder, comm_cart);
}
STRAKE_MPI int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* new_comm) {
  return blocking(next().MPI_Cart_sub, comm, remain_dims, new_comm);
}
STRAKE_MPI int MPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[],
                                int reorder, MPI_Comm* comm_graph) {
  return blocking(next().MPI_Graph_create, comm_old, nnodes, index, edges, reorder, comm_graph);
}
STRAKE_MPI int MPI_Dist_graph_create(MPI_Comm comm_old, int n, const int nodes[],
                                     const int degrees[], const int targets[], const int weights[],
                                     MPI_Info info, int reorder, MPI_Comm* newcomm) {
  return blocking(next().MPI_Dist_graph_create, comm_old, n, nodes, degrees, targets, weights, info,
                  reorder, newcomm);
}
STRAKE_MPI int MPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                              const int sourceweights[], int outdegree,
                                              const int destinations[], const int destweights[],
                                              MPI_Info info, int reorder,
                                              MPI_Comm* comm_dist_graph) {
  return blocking(next().MPI_Dist_graph_create_adjacent, comm_old, indegree, sources, sourceweights,
                  outdegree, destinations, destweights, info, reorder, comm_dist_graph);
}
STRAKE_MPI int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info,
                              MPI_Comm comm, MPI_Win* win) {
  return blocking(next().MPI_Win_create, base, size, disp_unit, info, comm, win);
}
STRAKE_MPI int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                void* baseptr, MPI_Win* win) {
  return blocking(next().MPI_Win_allocate, size, disp_unit, info, comm, baseptr, win);
}
STRAKE_MPI int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                       void* baseptr, MPI_Win* win) {
  return blocking(next().MPI_Win_allocate_shared, size, disp_unit, info, comm, baseptr, win);
}
STRAKE_MPI int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return blocking(next().MPI_Win_create_dynamic, info, comm, win);
}
STRAKE_MPI int MPI_Win_free(MPI_Win* win) { return blocking(next().MPI_Win_free, win); }
STRAKE_MPI int MPI_Win_fence(int assert, MPI_Win win) {
  return blocking(next().MPI_Win_fence, assert, win);
}
STRAKE_MPI int MPI_Win_start(MPI_Group group, int assert, MPI_Win win) {
  return blocking(next().MPI_Win_start, group, assert, win);
}
STRAKE_MPI int MPI_Win_complete(MPI_Win win) { return blocking(next().MPI_Win_complete, win); }
STRAKE_MPI int MPI_Win_wait(MPI_Win win) { return blocking(next().MPI_Win_wait, win); }
STRAKE_MPI int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
  return blocking(next().MPI_Win_lock, lock_type, rank, assert, win);
}
STRAKE_MPI int MPI_Win_unlock(int rank, MPI_Win win) {
  return blocking(next().MPI_Win_unlock, rank, win);
}
STRAKE_MPI int MPI_Win_lock_all(int assert, MPI_Win win) {
  return blocking(next().MPI_Win_lock_all, assert, win);
}
STRAKE_MPI int MPI_Win_unlock_all(MPI_Win win) { return blocking(next().MPI_Win_unlock_all, win); }
STRAKE_MPI int MPI_Win_flush(int rank, MPI_Win win) {
  return blocking(next().MPI_Win_flush, rank, win);
}
STRAKE_MPI int MPI_Win_flush_all(MPI_Win win) { return blocking(next().MPI_Win_flush_all, win); }
STRAKE_MPI int MPI_Win_flush_local(int rank, MPI_Win win) {
  return blocking(next().MPI_Win_flush_local, rank, win);
}
STRAKE_MPI int MPI_Win_flush_local_all(MPI_Win win) {
  return blocking(next().MPI_Win_flush_local_all, win);
}
STRAKE_MPI int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info,
                             MPI_File* fh) {
  return blocking(next().MPI_File_open, comm, filename, amode, info, fh);
}
STRAKE_MPI int MPI_File_close(MPI_File* fh) { return blocking(next().MPI_File_close, fh); }
STRAKE_MPI int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                                 MPI_Datatype filetype, const char* datarep, MPI_Info info) {
  return blocking(next().MPI_File_set_view, fh, disp, etype, filetype, datarep, info);
}
STRAKE_MPI int MPI_File_set_size(MPI_File fh, MPI_Offset size) {
  return blocking(next().MPI_File_set_size, fh, size);
}
STRAKE_MPI int MPI_File_preallocate(MPI_File fh, MPI_Offset size) {
  return blocking(next().MPI_File_preallocate, fh, size);
}
STRAKE_MPI int MPI_File_sync(MPI_File fh) { return blocking(next().MPI_File_sync, fh); }
STRAKE_MPI int MPI_File_read_all(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                                 MPI_Status* status) {
  return blocking(next().MPI_File_read_all, fh, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void* buf, int count,
                                    MPI_Datatype datatype, MPI_Status* status) {
  return blocking(next().MPI_File_read_at_all, fh, offset, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_read_ordered(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                                     MPI_Status* status) {
  return blocking(next().MPI_File_read_ordered, fh, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_write_all(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                                  MPI_Status* status) {
  return blocking(next().MPI_File_write_all, fh, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                                     MPI_Datatype datatype, MPI_Status* status) {
  return blocking(next().MPI_File_write_at_all, fh, offset, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_write_ordered(MPI_File fh, const void* buf, int count,
                                      MPI_Datatype datatype, MPI_Status* status) {
  return blocking(next().MPI_File_write_ordered, fh, buf, count, datatype, status);
}
STRAKE_MPI int MPI_File_read_all_end(MPI_File fh, void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_read_all_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_read_at_all_end(MPI_File fh, void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_read_at_all_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_read_ordered_end(MPI_File fh, void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_read_ordered_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_write_all_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_write_all_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_write_at_all_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_write_at_all_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_write_ordered_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return blocking(next().MPI_File_write_ordered_end, fh, buf, status);
}
STRAKE_MPI int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
  return blocking(next().MPI_File_seek_shared, fh, offset, whence);
}
