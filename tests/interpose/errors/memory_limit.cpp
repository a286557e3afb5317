/// \file  Messages for which no temporary buffer can be allocated: they travel as without Strake.
#include <sys/resource.h>

#include <cstring>
#include <fstream>

#include "described.hpp"

namespace {

constexpr int kElements = 6 << 20;  // 24 MiB of every second int
constexpr int kTag = 3;

/// This process may map no more than `room` bytes beyond what it has.
void limit_memory(std::size_t room) {
  std::ifstream status("/proc/self/statm");
  std::size_t pages = 0;
  status >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + room;
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

struct Data {
  std::vector<int> out = std::vector<int>(2 * std::size_t{kElements});
  std::vector<int> in = std::vector<int>(2 * std::size_t{kElements});
  MPI_Datatype type = MPI_DATATYPE_NULL;

  Data() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(i) + check::rank();
    MPI_Type_vector(kElements, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
  }
  ~Data() { MPI_Type_free(&type); }

  void check_and_clear() {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      wrong += in[i] != (i % 2 == 0 ? static_cast<int>(i) + check::previous() : 0);
    CHECK_EQ(wrong, std::size_t{0});
    std::fill(in.begin(), in.end(), 0);
  }
};

void messages() {
  Data data;
  limit_memory(std::size_t{16} << 20);
  MPI_Request requests[2];
  check::section("Isend, Irecv");
  CHECK_MPI(MPI_Irecv(data.in.data(), 1, data.type, check::previous(), kTag, MPI_COMM_WORLD,
                      &requests[0]));
  CHECK_MPI(
      MPI_Isend(data.out.data(), 1, data.type, check::next(), kTag, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  data.check_and_clear();
  check::section("Sendrecv");
  CHECK_MPI(MPI_Sendrecv(data.out.data(), 1, data.type, check::next(), kTag, data.in.data(), 1,
                         data.type, check::previous(), kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  data.check_and_clear();
  check::section("persistent ones");
  CHECK_MPI(MPI_Recv_init(data.in.data(), 1, data.type, check::previous(), kTag, MPI_COMM_WORLD,
                          &requests[0]));
  CHECK_MPI(MPI_Send_init(data.out.data(), 1, data.type, check::next(), kTag, MPI_COMM_WORLD,
                          &requests[1]));
  CHECK_MPI(MPI_Startall(2, requests));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& request : requests) CHECK_MPI(MPI_Request_free(&request));
  data.check_and_clear();
  check::section("Send, Recv");
  if (check::rank() % 2 == 0)
    CHECK_MPI(MPI_Send(data.out.data(), 1, data.type, check::next(), kTag, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Recv(data.in.data(), 1, data.type, check::previous(), kTag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
  if (check::rank() % 2 == 1)
    CHECK_MPI(MPI_Send(data.out.data(), 1, data.type, check::next(), kTag, MPI_COMM_WORLD));
  data.check_and_clear();
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  messages();
  return check::finish();
}
