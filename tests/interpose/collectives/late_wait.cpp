/// \file  A rank completes nonblocking collectives before a barrier, the others after it: it must
/// not wait for them, also where no memory that they share is left (STRAKE_SHARE_BYTES).
#include <unistd.h>

#include "described.hpp"

namespace {

void run() {
  const auto ranks = static_cast<std::size_t>(check::size());
  constexpr int kCalls = 40;
  const Described type = describe::commit(describe::vector(8960, 1, 3, describe::real()));
  std::vector<Image> out, in;
  std::vector<MPI_Request> requests(kCalls, MPI_REQUEST_NULL);
  const std::vector<int> counts(ranks, 1);
  std::vector<int> places(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    places[i] = static_cast<int>(i) * static_cast<int>(type.extent);
  const std::vector<MPI_Datatype> types(ranks, type.type);
  for (int i = 0; i < kCalls; ++i) {
    out.emplace_back(type, check::size());
    in.emplace_back(type, check::size());
  }
  for (int round = 0; round < 2; ++round) {
    check::section(round == 0 ? "blocking" : "nonblocking");
    // The others are in the barrier when it sends.
    if (check::rank() == 0) usleep(100'000);
    for (int i = 0; i < (round == 0 ? 1 : kCalls); ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at].fill(static_cast<std::uint64_t>(i));
      in[at].poison();
      const int code =
          round == 0 ? MPI_Alltoallw(out[at].data(), counts.data(), places.data(), types.data(),
                                     in[at].data(), counts.data(), places.data(), types.data(),
                                     MPI_COMM_WORLD)
                     : MPI_Ialltoallw(out[at].data(), counts.data(), places.data(), types.data(),
                                      in[at].data(), counts.data(), places.data(), types.data(),
                                      MPI_COMM_WORLD, &requests[at]);
      CHECK_MPI(code);
    }
    check::section("the wait");
    const bool first = check::rank() == 0;
    if (first) CHECK_MPI(MPI_Waitall(kCalls, requests.data(), MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!first) CHECK_MPI(MPI_Waitall(kCalls, requests.data(), MPI_STATUSES_IGNORE));
  }
  // Each block of a rank's message went to one rank, which got the same block of all others.
  for (int i = 0; i < kCalls; ++i) {
    Image wanted(type, check::size());
    wanted.fill(static_cast<std::uint64_t>(i));
    const std::ptrdiff_t own = wanted.origin() + check::rank() * type.extent;
    const std::vector<std::byte>& sent = wanted.memory();
    const std::vector<std::byte>& got = in[static_cast<std::size_t>(i)].memory();
    for (int from = 0; from < check::size(); ++from)
      for (const std::ptrdiff_t offset : type.bytes)
        if (got[static_cast<std::size_t>(wanted.origin() + from * type.extent + offset)] !=
            sent[static_cast<std::size_t>(own + offset)]) {
          CHECK(!"a wrong byte");
          break;
        }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  run();
  return check::finish();
}
