/// \file  Every collective in all of its forms, on buffers that may lie in a device's memory.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "check.hpp"
#include "collectives/forms.hpp"
#include "memory.hpp"

namespace {

using namespace forms;

void rooted(Buffers& buffers, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = size - 1;
  const MPI_Datatype gapped = gapped_type();
  int* const out = buffers.out.data() + 2;
  int* const in = buffers.in.data() + 2;
  const Blocks blocks(size);
  const int mine = blocks.counts[static_cast<std::size_t>(rank)];
  const int* const counts = blocks.counts.data();
  const int* const at = blocks.at.data();
  ALL_FORMS("Bcast", Bcast, bcast, in, 300, MPI_INT, root, comm);
  TYPE_FORMS("Bcast of a type with gaps", Bcast, bcast, in, 20, gapped, root, comm);
  // (MPICH 4.0 writes past its own memory for some collectives of such a type.)
  MPI_Datatype before = listed_type(-2);
  TYPE_FORMS("Bcast from before the address", Bcast, bcast, in, 20, before, root, comm);
  CHECK_MPI(MPI_Type_free(&before));
  TYPE_FORMS("Bcast of nothing", Bcast, bcast, in, 0, gapped, root, comm);
  ALL_FORMS("Gather", Gather, gather, out, 7, MPI_INT, in, 7, MPI_INT, root, comm);
  TYPE_FORMS("Gather of types", Gather, gather, out, 2, gapped, in, 6, MPI_INT, root, comm);
  TYPE_FORMS("Gather in place", Gather, gather, rank == root ? MPI_IN_PLACE : out, 2, gapped, in, 2,
             gapped, root, comm);
  ALL_FORMS("Gatherv", Gatherv, gatherv, out, mine, MPI_INT, in, counts, at, MPI_INT, root, comm);
  TYPE_FORMS("Gatherv of types in place", Gatherv, gatherv, rank == root ? MPI_IN_PLACE : out, mine,
             gapped, in, counts, at, gapped, root, comm);
  TYPE_FORMS("Scatter", Scatter, scatter, out, 4, gapped, in, 12, MPI_INT, root, comm);
  ALL_FORMS("Scatter in place", Scatter, scatter, out, 4, MPI_INT, rank == root ? MPI_IN_PLACE : in,
            4, MPI_INT, root, comm);
  TYPE_FORMS("Scatterv", Scatterv, scatterv, out, counts, at, gapped, in, mine, gapped, root, comm);
  ALL_FORMS("Reduce", Reduce, reduce, out, in, 50, MPI_INT, MPI_SUM, root, comm);
  ALL_FORMS("Reduce in place", Reduce, reduce, rank == root ? MPI_IN_PLACE : out, in, 50, MPI_INT,
            MPI_MAX, root, comm);
}

void unrooted(Buffers& buffers, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const MPI_Datatype gapped = gapped_type();
  int* const out = buffers.out.data() + 2;
  int* const in = buffers.in.data() + 2;
  const Blocks blocks(size);
  const int mine = blocks.counts[static_cast<std::size_t>(rank)];
  const int* const counts = blocks.counts.data();
  const int* const at = blocks.at.data();
  TYPE_FORMS("Allgather", Allgather, allgather, out, 6, MPI_INT, in, 2, gapped, comm);
  ALL_FORMS("Allgather in place", Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 9,
            MPI_INT, comm);
  TYPE_FORMS("Allgatherv", Allgatherv, allgatherv, out, mine, gapped, in, counts, at, gapped, comm);
  ALL_FORMS("Allgatherv in place", Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_INT, in, counts, at,
            MPI_INT, comm);
  ALL_FORMS("Allreduce", Allreduce, allreduce, out, in, 400, MPI_INT, MPI_SUM, comm);
  ALL_FORMS("Allreduce in place", Allreduce, allreduce, MPI_IN_PLACE, in, 400, MPI_INT, MPI_SUM,
            comm);
  ALL_FORMS("Reduce_scatter", Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM,
            comm);
  ALL_FORMS("Reduce_scatter_block", Reduce_scatter_block, reduce_scatter_block, out, in, 11,
            MPI_INT, MPI_MAX, comm);
  ALL_FORMS("Scan", Scan, scan, out, in, 30, MPI_INT, MPI_SUM, comm);
  ALL_FORMS("Scan in place", Scan, scan, MPI_IN_PLACE, in, 30, MPI_INT, MPI_SUM, comm);
  ALL_FORMS("Exscan", Exscan, exscan, out, in, 30, MPI_INT, MPI_SUM, comm);
}

void all_to_all(Buffers& buffers, MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const MPI_Datatype gapped = gapped_type();
  int* const out = buffers.out.data() + 2;
  int* const in = buffers.in.data() + 2;
  // Between any two ranks as much both ways.
  Blocks blocks(size, 1);
  std::fill(blocks.counts.begin(), blocks.counts.end(), 3);
  const Blocks wide(size, 6);
  const int* const counts = blocks.counts.data();
  const int* const at = blocks.at.data();
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), gapped);
  TYPE_FORMS("Alltoall", Alltoall, alltoall, out, 2, gapped, in, 6, MPI_INT, comm);
  ALL_FORMS("Alltoall in place", Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_INT, in, 6, MPI_INT,
            comm);
  TYPE_FORMS("Alltoallv", Alltoallv, alltoallv, out, counts, at, gapped, in, counts, at, gapped,
             comm);
  TYPE_FORMS("Alltoallw", Alltoallw, alltoallw, out, counts, wide.bytes.data(), types.data(), in,
             counts, wide.bytes.data(), types.data(), comm);
  TYPE_FORMS("Alltoallw in place", Alltoallw, alltoallw, MPI_IN_PLACE, nullptr, nullptr, nullptr,
             in, counts, wide.bytes.data(), types.data(), comm);
}

void between_neighbours(Buffers& buffers, MPI_Comm comm, int sources, int destinations) {
  const MPI_Datatype gapped = gapped_type();
  int* const out = buffers.out.data() + 2;
  int* const in = buffers.in.data() + 2;
  Blocks to(std::max(destinations, 1), 6), from(std::max(sources, 1), 6);
  std::fill(to.counts.begin(), to.counts.end(), 3);
  std::fill(from.counts.begin(), from.counts.end(), 3);
  const std::vector<MPI_Aint> to_bytes(to.bytes.begin(), to.bytes.end());
  const std::vector<MPI_Aint> from_bytes(from.bytes.begin(), from.bytes.end());
  const std::vector<MPI_Datatype> types(8, gapped);
  TYPE_FORMS("Neighbor_allgather", Neighbor_allgather, neighbor_allgather, out, 2, gapped, in, 6,
             MPI_INT, comm);
  TYPE_FORMS("Neighbor_allgatherv", Neighbor_allgatherv, neighbor_allgatherv, out, 3, gapped, in,
             from.counts.data(), from.at.data(), gapped, comm);
  TYPE_FORMS("Neighbor_alltoall", Neighbor_alltoall, neighbor_alltoall, out, 6, MPI_INT, in, 2,
             gapped, comm);
  TYPE_FORMS("Neighbor_alltoallv", Neighbor_alltoallv, neighbor_alltoallv, out, to.counts.data(),
             to.at.data(), gapped, in, from.counts.data(), from.at.data(), gapped, comm);
  TYPE_FORMS("Neighbor_alltoallw", Neighbor_alltoallw, neighbor_alltoallw, out, to.counts.data(),
             to_bytes.data(), types.data(), in, from.counts.data(), from_bytes.data(), types.data(),
             comm);
}

void topologies(Buffers& buffers) {
  const int dims[] = {check::size()}, open[] = {0};
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, open, 0, &comm));
  between_neighbours(buffers, comm, 2, 2);
  CHECK_MPI(MPI_Comm_free(&comm));
  // Each rank's neighbours are the ranks on both sides, which it names in the same order.
  const int next[] = {check::next()}, previous[] = {check::previous()};
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, previous, MPI_UNWEIGHTED, 1, next,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  between_neighbours(buffers, comm, 1, 1);
  CHECK_MPI(MPI_Comm_free(&comm));
  if (check::size() < 2) return;
  // The first two ranks are each other's neighbours.
  std::vector<int> index, edges = {1, 0};
  for (int i = 0; i < check::size(); ++i) index.push_back(std::min(i + 1, 2));
  CHECK_MPI(MPI_Graph_create(MPI_COMM_WORLD, check::size(), index.data(), edges.data(), 0, &comm));
  const int neighbours = check::rank() < 2 ? 1 : 0;
  between_neighbours(buffers, comm, neighbours, neighbours);
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// The lower half of the ranks, and the upper one.
void two_groups(Buffers& buffers) {
  if (check::size() < 2) return;
  const int half = check::size() / 2;
  const bool low = check::rank() < half;
  MPI_Comm group = MPI_COMM_NULL, comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, 0, &group));
  CHECK_MPI(MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, low ? half : 0, 9, &comm));
  int rank = 0, local = 0, remote = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &local);
  MPI_Comm_remote_size(comm, &remote);
  // The root is the last rank of the lower half.
  const int root = !low ? half - 1 : rank == half - 1 ? MPI_ROOT : MPI_PROC_NULL;
  int* const out = buffers.out.data() + 2;
  int* const in = buffers.in.data() + 2;
  const Blocks blocks(remote), own(local);
  const int mine = own.counts[static_cast<std::size_t>(rank)];
  std::vector<int> alike(static_cast<std::size_t>(local), 12 / local);
  // (Not MPI_Ibcast: MPICH 4.0 delivers what its first receiver had before.)
  check::section("Bcast to a group");
  buffers.fill();
  CHECK_MPI(MPI_Bcast(in, 100, MPI_INT, root, comm));
  buffers.note("Bcast to a group", "blocking");
  ALL_FORMS("Gather from a group", Gather, gather, out, 5, MPI_INT, in, 5, MPI_INT, root, comm);
  ALL_FORMS("Scatter to a group", Scatter, scatter, out, 5, MPI_INT, in, 5, MPI_INT, root, comm);
  ALL_FORMS("Gatherv from a group", Gatherv, gatherv, out, mine, MPI_INT, in, blocks.counts.data(),
            blocks.at.data(), MPI_INT, root, comm);
  ALL_FORMS("Reduce from a group", Reduce, reduce, out, in, 9, MPI_INT, MPI_SUM, root, comm);
  ALL_FORMS("Allgather of groups", Allgather, allgather, out, 5, MPI_INT, in, 5, MPI_INT, comm);
  ALL_FORMS("Allgatherv of groups", Allgatherv, allgatherv, out, mine, MPI_INT, in,
            blocks.counts.data(), blocks.at.data(), MPI_INT, comm);
  ALL_FORMS("Alltoall of groups", Alltoall, alltoall, out, 5, MPI_INT, in, 5, MPI_INT, comm);
  ALL_FORMS("Allreduce of groups", Allreduce, allreduce, out, in, 9, MPI_INT, MPI_SUM, comm);
  if (local == remote)
    ALL_FORMS("Reduce_scatter of groups", Reduce_scatter, reduce_scatter, out, in, alike.data(),
              MPI_INT, MPI_SUM, comm);
  CHECK_MPI(MPI_Comm_free(&comm));
  CHECK_MPI(MPI_Comm_free(&group));
}

/// Products of 2 x 2 matrices, whose elements are every second integer.
void multiply(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const auto* a = static_cast<const int*>(in);
  auto* b = static_cast<int*>(inout);
  for (int i = 0; i < *count; ++i, a += 8, b += 8) {
    const int product[] = {a[0] * b[0] + a[2] * b[4], a[0] * b[2] + a[2] * b[6],
                           a[4] * b[0] + a[6] * b[4], a[4] * b[2] + a[6] * b[6]};
    for (int k = 0; k < 4; ++k) b[2 * k] = product[k] % 1009;
  }
}

void own_operation(Buffers& buffers) {
  MPI_Datatype every_second = MPI_DATATYPE_NULL, matrix = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(4, 1, 2, MPI_INT, &every_second));
  CHECK_MPI(MPI_Type_create_resized(every_second, 0, 32, &matrix));
  CHECK_MPI(MPI_Type_free(&every_second));
  CHECK_MPI(MPI_Type_commit(&matrix));
  MPI_Op op = MPI_OP_NULL;
  CHECK_MPI(MPI_Op_create(multiply, 0, &op));
  int* const out = buffers.out.data();
  int* const in = buffers.in.data();
  MPI_Comm comm = MPI_COMM_WORLD;
  // (Not MPI_Reduce_scatter: MPICH 4.0 writes past its own memory then.)
  TYPE_FORMS("Reduce by an own operation", Reduce, reduce, out, in, 5, matrix, op, 0, comm);
  TYPE_FORMS("Allreduce by an own operation", Allreduce, allreduce, MPI_IN_PLACE, in, 5, matrix, op,
             comm);
  TYPE_FORMS("Scan by an own operation", Scan, scan, out, in, 5, matrix, op, comm);
  check::section("Reduce_local");
  buffers.fill();
  CHECK_MPI(MPI_Reduce_local(out, in, 4, matrix, op));
  buffers.note("Reduce_local", "by an own operation");
  buffers.fill();
  CHECK_MPI(MPI_Reduce_local(out, in, 100, MPI_INT, MPI_SUM));
  buffers.note("Reduce_local", "sum");
  CHECK_MPI(MPI_Op_free(&op));
  CHECK_MPI(MPI_Type_free(&matrix));
}

void absolute_addresses(Buffers& buffers) {
  MPI_Aint addresses[2];
  CHECK_MPI(MPI_Get_address(buffers.in.data() + 200, &addresses[0]));
  CHECK_MPI(MPI_Get_address(buffers.in.data() + 20, &addresses[1]));
  MPI_Datatype both = MPI_DATATYPE_NULL, one = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_hindexed_block(2, 30, addresses, MPI_INT, &both));
  CHECK_MPI(MPI_Type_create_hindexed_block(1, 60, &addresses[1], MPI_INT, &one));
  CHECK_MPI(MPI_Type_commit(&both));
  CHECK_MPI(MPI_Type_commit(&one));
  MPI_Comm comm = MPI_COMM_WORLD;
  TYPE_FORMS("Bcast by addresses", Bcast, bcast, MPI_BOTTOM, 1, both, 0, comm);
  TYPE_FORMS("Scatter by addresses", Scatter, scatter, buffers.out.data(), 60, MPI_INT, MPI_BOTTOM,
             1, one, 0, comm);
  CHECK_MPI(MPI_Type_free(&both));
  CHECK_MPI(MPI_Type_free(&one));
}

/// One in device memory, one in the host's, by absolute addresses in one call.
void both_memories() {
  check::section("both memories");
  Buffer there(8, check::rank() == 0 ? 5 : 0);
  std::vector<int> here(8, check::rank() == 0 ? 6 : 0);
  MPI_Aint addresses[2];
  CHECK_MPI(MPI_Get_address(there.data(), &addresses[0]));
  CHECK_MPI(MPI_Get_address(here.data(), &addresses[1]));
  MPI_Datatype both = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_hindexed_block(2, 8, addresses, MPI_INT, &both));
  CHECK_MPI(MPI_Type_commit(&both));
  CHECK_MPI(MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD));
  CHECK_EQ(there.get()[7], 5);
  CHECK_EQ(here[7], 6);
  CHECK_MPI(MPI_Type_free(&both));
}

/// Elements far apart, and many of them side by side; work before the call is done in time.
void sizes() {
  check::section("sizes");
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(64, 1, 16384, MPI_INT, &column));
  CHECK_MPI(MPI_Type_commit(&column));
  Buffer far(std::size_t{64} * 16384, check::rank() + 1);
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, far.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Bcast(far.data(), 1, column, 0, MPI_COMM_WORLD));
  const std::vector<int>& got = far.get();
  CHECK_EQ(got[0], check::size() * (check::size() + 1) / 2);
  CHECK_EQ(got[16384], 1);
  CHECK_EQ(got[16385], check::rank() + 1);
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, far.data(), 64 * 16384, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK_EQ(far.get()[12345], check::size());
  CHECK_MPI(MPI_Type_free(&column));
  // With a GPU-aware library, and in host memory, this is the program's to wait for.
  if (std::getenv("TEST_LATE") != nullptr) {
    test_memory::set_late(far.data(), 1, 4096);
  } else {
    far.fill(0x01010101);
  }
  CHECK_MPI(MPI_Bcast(far.data(), 1024, MPI_INT, check::size() - 1, MPI_COMM_WORLD));
  CHECK_EQ(far.get()[1000], 0x01010101);
}

/// Several at a time, completed in another order.
void several() {
  check::section("several");
  Buffer out(100, check::rank()), first(100, -1), second(100, -1), third(100, -1);
  MPI_Request requests[4];
  CHECK_MPI(
      MPI_Iallreduce(out.data(), first.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[0]));
  CHECK_MPI(MPI_Iallreduce(out.data(), second.data(), 100, MPI_INT, MPI_MAX, MPI_COMM_SELF,
                           &requests[1]));
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_EQ(first.get()[99], check::rank());
  CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK_EQ(second.get()[99], check::rank());
  CHECK_MPI(MPI_Iallreduce(out.data(), first.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           &requests[0]));
  CHECK_MPI(
      MPI_Irecv(third.data(), 100, MPI_INT, check::previous(), 3, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Isend(out.data(), 100, MPI_INT, check::next(), 3, MPI_COMM_WORLD, &requests[2]));
  CHECK_MPI(MPI_Ibcast(second.data(), 100, MPI_INT, 0, MPI_COMM_WORLD, &requests[3]));
  CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(first.get()[99], check::size() * (check::size() - 1) / 2);
  CHECK_EQ(third.get()[99], check::previous());
  CHECK_EQ(second.get()[99], 0);
}

#if MPI_VERSION >= 4
void large_counts(Buffers& buffers) {
  const auto size = static_cast<std::size_t>(check::size());
  const std::vector<MPI_Count> counts(size, 3);
  std::vector<MPI_Aint> at(size), bytes(size);
  // MPICH 4.0: MPI_Allgatherv_c on one rank ignores displacements.
  for (std::size_t i = 1; i < size; ++i) bytes[i] = 4 * (at[i] = static_cast<MPI_Aint>(5 * i + 1));
  const std::vector<MPI_Datatype> types(size, MPI_INT);
  int* const out = buffers.out.data();
  int* const in = buffers.in.data();
  const auto one = [&](const char* name, const auto& call) {
    check::section(name);
    buffers.fill();
    CHECK_MPI(call());
    buffers.note(name, "large count");
  };
  one("Bcast_c", [&] { return MPI_Bcast_c(in, 77, MPI_INT, 0, MPI_COMM_WORLD); });
  one("Allgatherv_c", [&] {
    return MPI_Allgatherv_c(out, 3, MPI_INT, in, counts.data(), at.data(), MPI_INT, MPI_COMM_WORLD);
  });
  one("Alltoallw_c", [&] {
    return MPI_Alltoallw_c(out, counts.data(), bytes.data(), types.data(), in, counts.data(),
                           bytes.data(), types.data(), MPI_COMM_WORLD);
  });
  one("Reduce_scatter_c", [&] {
    return MPI_Reduce_scatter_c(out, in, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  one("Iscatterv_c", [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Iscatterv_c(out, counts.data(), at.data(), MPI_INT, in, 3, MPI_INT, 0,
                                     MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
  });
}

/// Persistent ones beside a receive that is not complete: MPICH's MPI_Testall must not see them.
void persistent_beside_others() {
  check::section("persistent beside others");
  Buffer one(10, 1), sum(10, 0), out(5000, 4), in(5000, 0);
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(1000, 1, 5, MPI_INT, &gapped));
  CHECK_MPI(MPI_Type_commit(&gapped));
  MPI_Request requests[4];
  CHECK_MPI(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CHECK_MPI(MPI_Allreduce_init(one.data(), sum.data(), 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &requests[1]));
  CHECK_MPI(MPI_Startall(2, requests));
  CHECK_MPI(MPI_Irecv(in.data(), 1, gapped, check::previous(), 5, MPI_COMM_WORLD, &requests[2]));
  CHECK_MPI(MPI_Issend(out.data(), 1, gapped, check::next(), 5, MPI_COMM_WORLD, &requests[3]));
  CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in.get()[4995], 4);
  CHECK_EQ(sum.get()[9], check::size());
  CHECK_MPI(MPI_Request_free(&requests[0]));
  CHECK_MPI(MPI_Request_free(&requests[1]));
  CHECK_MPI(MPI_Type_free(&gapped));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  {
    Buffers buffers;
    rooted(buffers, MPI_COMM_WORLD);
    unrooted(buffers, MPI_COMM_WORLD);
    all_to_all(buffers, MPI_COMM_WORLD);
    topologies(buffers);
    two_groups(buffers);
    own_operation(buffers);
    absolute_addresses(buffers);
    unrooted(buffers, MPI_COMM_SELF);
#if MPI_VERSION >= 4
    large_counts(buffers);
#endif
  }
  both_memories();
  sizes();
  several();
#if MPI_VERSION >= 4
  persistent_beside_others();
#endif
  // Each second rank's buffers lie in host memory.
  const bool device =
      std::exchange(test_memory::on_device(), test_memory::on_device() && check::rank() % 2 == 0);
  {
    Buffers buffers;
    rooted(buffers, MPI_COMM_WORLD);
    unrooted(buffers, MPI_COMM_WORLD);
    all_to_all(buffers, MPI_COMM_WORLD);
  }
  test_memory::on_device() = device;
  CHECK_MPI(MPI_Type_free(&gapped_type()));
  return check::finish();
}
