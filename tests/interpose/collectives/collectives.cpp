/// \file  Large derived-type messages are in flight while every rank is inside a blocking
/// collective, a communicator, window or file call, on both sides; then Wait. Some orders need
/// progress made inside the call.
#include <unistd.h>

#include <cstdlib>

#include "described.hpp"

namespace {

/// Two shapes: both operations started before the call and completed after it; and a receiver that
/// enters the call only when its message is complete, while the sender is already inside.
class Traffic {
 public:
  template <class Call>
  void around(const char* name, Call call);

 private:
  Described type_ = describe::large();
  Image out_{type_, 3}, in_{type_, 3};
  std::uint64_t seed_ = 0;
};

template <class Call>
void Traffic::around(const char* name, Call call) {
  check::section(name);

  out_.fill(++seed_);
  in_.poison();
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in_.data(), 3, type_.type, check::previous(), 1, MPI_COMM_WORLD, &receive));
  CHECK_MPI(MPI_Isend(out_.data(), 3, type_.type, check::next(), 1, MPI_COMM_WORLD, &send));
  call();
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(in_.holds(seed_));

  if (check::size() > 1) {
    out_.fill(++seed_);
    in_.poison();
    if (check::rank() % 2 == 0 && check::rank() + 1 < check::size()) {
      CHECK_MPI(MPI_Isend(out_.data(), 3, type_.type, check::rank() + 1, 2, MPI_COMM_WORLD, &send));
      call();
      CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    } else if (check::rank() % 2 == 1) {
      CHECK_MPI(MPI_Recv(in_.data(), 3, type_.type, check::rank() - 1, 2, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
      CHECK(in_.holds(seed_));
      call();
    } else {
      call();
    }
  }
}

void collectives_of_one_value(Traffic& traffic) {
  const int size = check::size();
  const int sum_of_ranks = size * (size - 1) / 2;
  const int rank = check::rank();
  traffic.around("Barrier", [] { CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD)); });
  traffic.around("Bcast", [&] {
    int value = rank == size - 1 ? 42 : 0;
    CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
    CHECK_EQ(value, 42);
  });
  traffic.around("Allreduce", [&] {
    int sum = -1;
    CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, sum_of_ranks);
    int in_place = rank;
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &in_place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(in_place, sum_of_ranks);
  });
  traffic.around("Reduce", [&] {
    int sum = -1;
    CHECK_MPI(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK_EQ(sum, rank == 0 ? sum_of_ranks : -1);
  });
}

void collectives_of_arrays(Traffic& traffic) {
  const int size = check::size();
  const auto ranks = static_cast<std::size_t>(size);
  const int rank = check::rank();
  traffic.around("Gather, Scatter", [&] {
    std::vector<int> all(ranks, -1);
    CHECK_MPI(MPI_Gather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
    int mine = -1;
    CHECK_MPI(MPI_Scatter(all.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_EQ(mine, rank);
  });
  traffic.around("Gatherv, Scatterv", [&] {
    std::vector<int> all(ranks, -1), counts(ranks, 1), at(ranks);
    for (std::size_t i = 0; i < ranks; ++i) at[i] = static_cast<int>(ranks - 1 - i);
    CHECK_MPI(MPI_Gatherv(&rank, 1, MPI_INT, all.data(), counts.data(), at.data(), MPI_INT, 0,
                          MPI_COMM_WORLD));
    int mine = -1;
    CHECK_MPI(MPI_Scatterv(all.data(), counts.data(), at.data(), MPI_INT, &mine, 1, MPI_INT, 0,
                           MPI_COMM_WORLD));
    CHECK_EQ(mine, rank);
  });
  traffic.around("Allgather", [&] {
    std::vector<int> all(ranks, -1);
    CHECK_MPI(MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; ++i) CHECK_EQ(all[static_cast<std::size_t>(i)], i);
  });
  traffic.around("Allgatherv", [&] {
    std::vector<int> all(ranks, -1), counts(ranks, 1), at(ranks);
    for (std::size_t i = 0; i < ranks; ++i) at[i] = static_cast<int>(i);
    CHECK_MPI(MPI_Allgatherv(&rank, 1, MPI_INT, all.data(), counts.data(), at.data(), MPI_INT,
                             MPI_COMM_WORLD));
    for (int i = 0; i < size; ++i) CHECK_EQ(all[static_cast<std::size_t>(i)], i);
  });
  traffic.around("Alltoall", [&] {
    std::vector<int> give(ranks, rank), got(ranks, -1);
    CHECK_MPI(MPI_Alltoall(give.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; ++i) CHECK_EQ(got[static_cast<std::size_t>(i)], i);
  });
  traffic.around("Alltoallv, Alltoallw", [&] {
    std::vector<int> give(ranks, rank), got(ranks, -1), counts(ranks, 1), at(ranks), bytes(ranks);
    for (std::size_t i = 0; i < ranks; ++i) bytes[i] = 4 * (at[i] = static_cast<int>(i));
    CHECK_MPI(MPI_Alltoallv(give.data(), counts.data(), at.data(), MPI_INT, got.data(),
                            counts.data(), at.data(), MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; ++i) CHECK_EQ(got[static_cast<std::size_t>(i)], i);
    std::vector<MPI_Datatype> types(ranks, MPI_INT);
    CHECK_MPI(MPI_Alltoallw(got.data(), counts.data(), bytes.data(), types.data(), give.data(),
                            counts.data(), bytes.data(), types.data(), MPI_COMM_WORLD));
    for (std::size_t i = 0; i < ranks; ++i) CHECK_EQ(give[i], rank);
  });
}

void scans(Traffic& traffic) {
  const int size = check::size();
  const auto ranks = static_cast<std::size_t>(size);
  const int rank = check::rank();
  traffic.around("Scan, Exscan", [&] {
    int sum = -1;
    CHECK_MPI(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, rank * (rank + 1) / 2);
    CHECK_MPI(MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank > 0) CHECK_EQ(sum, rank * (rank - 1) / 2);
  });
  traffic.around("Reduce_scatter(_block)", [&] {
    std::vector<int> give(ranks, rank), counts(ranks, 1);
    int sum = -1;
    CHECK_MPI(
        MPI_Reduce_scatter(give.data(), &sum, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, size * (size - 1) / 2);
    CHECK_MPI(MPI_Reduce_scatter_block(give.data(), &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, size * (size - 1) / 2);
  });
}

void nonblocking_collectives(Traffic& traffic) {
  traffic.around("Ibcast, Ialltoallw", [] {
    const auto ranks = static_cast<std::size_t>(check::size());
    int value = check::rank() == 0 ? 42 : 0;
    std::vector<int> give(ranks, check::rank()), got(ranks, -1), counts(ranks, 1), bytes(ranks);
    for (std::size_t i = 0; i < ranks; ++i) bytes[i] = static_cast<int>(i * sizeof(int));
    const std::vector<MPI_Datatype> types(ranks, MPI_INT);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    CHECK_MPI(MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Ialltoallw(give.data(), counts.data(), bytes.data(), types.data(), got.data(),
                             counts.data(), bytes.data(), types.data(), MPI_COMM_WORLD,
                             &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(value, 42);
    for (std::size_t i = 0; i < ranks; ++i) CHECK_EQ(got[i], static_cast<int>(i));
  });
}

#if MPI_VERSION >= 4
void large_count_collectives(Traffic& traffic) {
  traffic.around("Allreduce_c", [] {
    const int size = check::size(), rank = check::rank();
    int sum = -1;
    CHECK_MPI(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, size * (size - 1) / 2);
  });
  traffic.around("Alltoallv_c", [] {
    const auto ranks = static_cast<std::size_t>(check::size());
    std::vector<int> give(ranks, check::rank()), got(ranks, -1);
    const std::vector<MPI_Count> counts(ranks, 1);
    std::vector<MPI_Aint> at(ranks);
    for (std::size_t i = 0; i < ranks; ++i) at[i] = static_cast<MPI_Aint>(i);
    CHECK_MPI(MPI_Alltoallv_c(give.data(), counts.data(), at.data(), MPI_INT, got.data(),
                              counts.data(), at.data(), MPI_INT, MPI_COMM_WORLD));
    for (std::size_t i = 0; i < ranks; ++i) CHECK_EQ(got[i], static_cast<int>(i));
  });
}
#endif

void communicator_calls(Traffic& traffic) {
  const auto use = [](MPI_Comm& comm) {
    int rank = -1;
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    check::note("rank in the new communicator: %d", rank);
    CHECK_MPI(MPI_Comm_free(&comm));
  };
  traffic.around("Comm_dup", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm);
  });
  traffic.around("Comm_dup_with_info", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm));
    use(comm);
  });
  traffic.around("Comm_split", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check::rank() % 2, -check::rank(), &comm));
    use(comm);
  });
  traffic.around("Comm_split_type", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    use(comm);
  });
  traffic.around("Comm_create", [&] {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_MPI(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    CHECK_MPI(MPI_Group_free(&group));
    use(comm);
  });
  traffic.around("Cart_create", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    const int dims[] = {check::size()}, periods[] = {1};
    CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    use(comm);
  });
  traffic.around("Dist_graph_create_adjacent", [&] {
    MPI_Comm comm = MPI_COMM_NULL;
    const int from[] = {check::previous()}, to[] = {check::next()};
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    int value = check::rank(), got = -1;
    CHECK_MPI(MPI_Neighbor_allgather(&value, 1, MPI_INT, &got, 1, MPI_INT, comm));
    CHECK_EQ(got, check::previous());
    use(comm);
  });
}

void window_calls(Traffic& traffic) {
  traffic.around("Win_create, Win_fence, Put, Win_free", [] {
    static int memory = -1;
    MPI_Win win = MPI_WIN_NULL;
    CHECK_MPI(
        MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_MPI(MPI_Win_fence(0, win));
    const int value = check::rank();
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, check::next(), 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_EQ(memory, check::previous());
    CHECK_MPI(MPI_Win_free(&win));
  });
  traffic.around("Win_allocate", [] {
    int* memory = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    CHECK_MPI(
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    CHECK_MPI(MPI_Win_free(&win));
  });
}

void window_and_file_calls(Traffic& traffic) {
  // Open MPI 4.1 has no window component for a communicator of one rank on some machines.
  if (check::size() > 1) window_calls(traffic);
  // One file name for all ranks, of this job alone.
  static char name[] = "/tmp/strake-interpose-XXXXXX";
  if (check::rank() == 0) {
    const int file = mkstemp(name);
    CHECK(file >= 0);
    close(file);
  }
  CHECK_MPI(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  traffic.around("File_open, File_write_at_all, File_close", [] {
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    const int value = 1000 + check::rank();
    const MPI_Offset at = check::rank() * MPI_Offset{sizeof value};
    CHECK_MPI(MPI_File_write_at_all(file, at, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    int back = 0;
    CHECK_MPI(MPI_File_read_at_all(file, at, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(back, value);
    CHECK_MPI(MPI_File_close(&file));
  });
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) unlink(name);
}

#if MPI_VERSION >= 4
/// Persistent collectives that are complete beside a receive that is not: MPICH's MPI_Testall,
/// which a wait may call meanwhile, fails on that. (Not in a program that has freed a persistent
/// request to MPI_PROC_NULL, after which they hang in MPICH 4.0.)
void persistent_collectives() {
  check::section("persistent collectives beside others");
  const Described type = describe::large();
  for (int turn = 0; turn < 2; ++turn) {
    Image out(type, 1), in(type, 1);
    out.fill(9);
    const int one = 1;
    int sum = 0;
    MPI_Request requests[4];
    CHECK_MPI(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    CHECK_MPI(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[1]));
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_MPI(
        MPI_Irecv(in.data(), 1, type.type, check::previous(), 5, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Issend(out.data(), 1, type.type, check::next(), 5, MPI_COMM_WORLD, &requests[3]));
    if (check::rank() % 2 == 1) usleep(20000);
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(9));
    CHECK_EQ(sum, check::size());
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
  }
}

/// Two that are alike, which ranks start in different orders.
void persistent_in_any_order() {
  check::section("persistent collectives, started in different orders");
  const auto ranks = static_cast<std::size_t>(check::size());
  std::vector<int> give[2], got[2];
  const std::vector<int> counts(ranks, 1);
  std::vector<int> bytes(ranks);
  for (std::size_t i = 0; i < ranks; ++i) bytes[i] = static_cast<int>(i * sizeof(int));
  const std::vector<MPI_Datatype> types(ranks, MPI_INT);
  MPI_Request requests[2];
  for (int one = 0; one < 2; ++one) {
    give[one].assign(ranks, 100 * one + check::rank());
    got[one].assign(ranks, -1);
    CHECK_MPI(MPI_Alltoallw_init(give[one].data(), counts.data(), bytes.data(), types.data(),
                                 got[one].data(), counts.data(), bytes.data(), types.data(),
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[one]));
  }
  const int first = check::rank() % 2;
  CHECK_MPI(MPI_Start(&requests[first]));
  CHECK_MPI(MPI_Start(&requests[1 - first]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int one = 0; one < 2; ++one) {
    for (std::size_t i = 0; i < ranks; ++i) CHECK_EQ(got[one][i], 100 * one + static_cast<int>(i));
    CHECK_MPI(MPI_Request_free(&requests[one]));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  {
    Traffic traffic;
    collectives_of_one_value(traffic);
    collectives_of_arrays(traffic);
    scans(traffic);
    nonblocking_collectives(traffic);
#if MPI_VERSION >= 4
    large_count_collectives(traffic);
#endif
    communicator_calls(traffic);
    window_and_file_calls(traffic);
  }
#if MPI_VERSION >= 4
  persistent_collectives();
  persistent_in_any_order();
#endif
  return check::finish();
}
