/// \file  A rank is killed where the others are in a collective call with it. The first argument
/// says which; the launcher ends the job, as it does without Strake.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "described.hpp"

namespace {

class Call {
 public:
  explicit Call(std::string form) : form_(std::move(form)) {
    const int others[] = {check::next(), check::previous()};
    CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, others, MPI_UNWEIGHTED, 2, others,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring_));
  }
  void run() {
    MPI_Request request = MPI_REQUEST_NULL;
    if (form_ == "all") {
      CHECK_MPI(MPI_Alltoallw(out_.data(), counts_.data(), places_.data(), types_.data(),
                              in_.data(), counts_.data(), places_.data(), types_.data(),
                              MPI_COMM_WORLD));
    } else if (form_ == "neighbours") {
      CHECK_MPI(
          MPI_Neighbor_alltoall(out_.data(), 1, type_.type, in_.data(), 1, type_.type, ring_));
    } else {
      CHECK_MPI(MPI_Ineighbor_alltoall(out_.data(), 1, type_.type, in_.data(), 1, type_.type, ring_,
                                       &request));
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }

 private:
  std::string form_;
  MPI_Comm ring_ = MPI_COMM_NULL;
  Described type_ = describe::large();
  Image out_{type_, check::size()}, in_{type_, check::size()};
  std::vector<int> counts_ = std::vector<int>(static_cast<std::size_t>(check::size()), 1);
  std::vector<int> places_ = std::vector<int>(static_cast<std::size_t>(check::size()), 0);
  std::vector<MPI_Datatype> types_ =
      std::vector<MPI_Datatype>(static_cast<std::size_t>(check::size()), type_.type);
};

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  Call call(argv[1]);
  check::section("all live");
  for (int i = 0; i < 3; ++i) call.run();
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  check::section("one is killed");
  if (check::rank() == check::size() - 1) {
    constexpr useconds_t kOthersWait = 100'000;
    usleep(kOthersWait);
    std::printf("a rank ends\n");
    std::fflush(stdout);
    (void)raise(SIGKILL);
  }
  call.run();
  std::printf("FAILED rank %d: the call has ended without one of its ranks\n", check::rank());
  return 1;
}
