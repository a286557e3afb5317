// The benchmark takes what a call that is passed on costs in a real job: it exchanges 16 contiguous
// messages each way through MPI_Isend and so on and, in turn with that, through the MPI library's
// own functions, which the interposer does not see. Both in one process, so that all else is alike.
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/sampling.hpp"

namespace {

using namespace bench;

constexpr int kMessages = 16;
constexpr int kCalls = 2 * kMessages + 1;
constexpr int kExchanges = 50;  // of a sample
constexpr int kMaxBytes = 16 << 10;

struct Functions {
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Waitall) waitall;
};

/// The MPI library's own, found where it was loaded; null where that is not known.
Functions of_library() {
#ifdef OPEN_MPI
  const char* const names[] = {"libmpi.so.40"};
#else
  const char* const names[] = {"libmpich.so.12", "libmpi.so.12"};
#endif
  for (const char* name : names) {
    void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    return {reinterpret_cast<decltype(&MPI_Irecv)>(dlsym(library, "MPI_Irecv")),
            reinterpret_cast<decltype(&MPI_Isend)>(dlsym(library, "MPI_Isend")),
            reinterpret_cast<decltype(&MPI_Waitall)>(dlsym(library, "MPI_Waitall"))};
  }
  return {};
}

struct Buffers {
  std::vector<char> out = std::vector<char>(kMessages * kMaxBytes);
  std::vector<char> in = std::vector<char>(kMessages * kMaxBytes);
};

void exchange(const Functions& call, Buffers& b, int bytes, int peer) {
  std::array<MPI_Request, 2 * kMessages> requests{};
  for (int i = 0; i < kMessages; ++i) {
    call.irecv(b.in.data() + i * kMaxBytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
               &requests[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < kMessages; ++i) {
    call.isend(b.out.data() + i * kMaxBytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
               &requests[static_cast<std::size_t>(kMessages + i)]);
  }
  call.waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
}

/// Whether the last exchange brought the peer's bytes, and no more of them.
bool is_right(const Buffers& b, int bytes, char expected) {
  for (int i = 0; i < kMessages; ++i) {
    const char* const in = b.in.data() + i * kMaxBytes;
    const bool right = in[0] == expected && in[bytes - 1] == expected && in[bytes] == '.';
    if (!right) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "What a call that is passed on costs, in exchanges of 16 messages");
  const int sizes[] = {24, 216, 1000, 4096};
  if (options.list) {
    for (const int bytes : sizes) std::printf("passed_on_%dB\n", bytes);
    return 0;
  }
  Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const Report report("passed_on", mpi.ranks(), mpi.library());
  const Functions past = of_library();
  if (past.irecv == nullptr || past.isend == nullptr || past.waitall == nullptr) {
    std::fprintf(stderr, "passed_on: the MPI library's own functions were not found\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const Functions through = {MPI_Irecv, MPI_Isend, MPI_Waitall};
  Buffers b;
  b.out.assign(b.out.size(), static_cast<char>('a' + mpi.rank()));
  const int rounds = options.quick ? 20 : 400;
  for (const int bytes : sizes) {
    const std::string name = "passed_on_" + std::to_string(bytes) + "B";
    if (!options.selects(name)) continue;
    const int peer = 1 - mpi.rank();
    const auto seconds =
        sample_by_turns(std::vector<Plan>(2, Plan{kExchanges, rounds}), {rounds, rounds / 10},
                        [&](std::size_t which, const Plan& part, std::vector<double>& to) {
                          b.in.assign(b.in.size(), '.');
                          const Functions& by = which == 0 ? past : through;
                          take_samples(
                              part, [&] { exchange(by, b, bytes, peer); }, to);
                          if (is_right(b, bytes, static_cast<char>('a' + peer))) return;
                          std::fprintf(stderr, "passed_on: rank %d got wrong bytes\n", mpi.rank());
                          MPI_Abort(MPI_COMM_WORLD, 1);
                        });
    if (mpi.rank() != 0) continue;
    std::vector<double> call_ns;
    for (std::size_t i = 0; i < seconds[0].size(); ++i)
      call_ns.push_back((seconds[1][i] - seconds[0][i]) / kCalls * 1e9);
    report.line(name, summarize(call_ns), "-ns",
                {{"exchange_alone_us", summarize(seconds[0]).median * 1e6}, {"op", "call"}});
  }
  return 0;
}
