// The benchmark takes what a call that is passed on costs in a real job. It exchanges 16 contiguous
// messages each way, or makes a collective call on a communicator of one rank, through the
// program's functions and, in turn with that, through the MPI library's own functions, which the
// interposer does not see. Both in one process, so that all else is alike.
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/sampling.hpp"

#define BENCH_PASSED_FUNCTIONS(X) \
  X(MPI_Irecv)                    \
  X(MPI_Isend)                    \
  X(MPI_Waitall)                  \
  X(MPI_Bcast)                    \
  X(MPI_Gather)                   \
  X(MPI_Allgather)                \
  X(MPI_Reduce)                   \
  X(MPI_Allreduce)                \
  X(MPI_Scan)                     \
  X(MPI_Alltoall)

namespace {

using namespace bench;

constexpr int kMessages = 16;
constexpr int kExchanges = 50;  // of a sample
constexpr int kMaxBytes = 16 << 10;
constexpr int kCollectives = 32;  // of a run, each of one double
constexpr double kSent = 3;

struct PassedFunctions {
#define BENCH_MEMBER(name) decltype(&::name) name = nullptr;
  BENCH_PASSED_FUNCTIONS(BENCH_MEMBER)
#undef BENCH_MEMBER
};

PassedFunctions of_program() {
  PassedFunctions found;
#define BENCH_OF_PROGRAM(name) found.name = &::name;
  BENCH_PASSED_FUNCTIONS(BENCH_OF_PROGRAM)
#undef BENCH_OF_PROGRAM
  return found;
}

/// The MPI library's own, found where it was loaded. Ends the job where that is not known.
PassedFunctions of_library() {
#ifdef OPEN_MPI
  const char* const names[] = {"libmpi.so.40"};
#else
  const char* const names[] = {"libmpich.so.12", "libmpi.so.12"};
#endif
  void* library = nullptr;
  for (const char* name : names) {
    if (library == nullptr) library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  }
  PassedFunctions found;
  bool all = library != nullptr;
#define BENCH_OF_LIBRARY(name)                                                         \
  if (all) found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
  all = all && found.name != nullptr;
  BENCH_PASSED_FUNCTIONS(BENCH_OF_LIBRARY)
#undef BENCH_OF_LIBRARY
  if (all) return found;
  std::fprintf(stderr, "passed_on: the MPI library's own functions were not found\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
  return found;
}

/// Something to be made through either set of functions.
struct Passed {
  std::string name;
  int calls;  ///< of one run
  std::function<void()> clear;
  std::function<void(const PassedFunctions&)> run;
  std::function<bool()> is_right;  ///< after clear() and run()
};

struct Buffers {
  std::vector<char> out = std::vector<char>(kMessages * kMaxBytes);
  std::vector<char> in = std::vector<char>(kMessages * kMaxBytes);
  double sent = kSent;  // of collectives
  double came = 0;
};

void exchange(const PassedFunctions& by, Buffers& b, int bytes, int peer) {
  std::array<MPI_Request, 2 * kMessages> requests{};
  for (int i = 0; i < kMessages; ++i) {
    by.MPI_Irecv(b.in.data() + i * kMaxBytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                 &requests[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < kMessages; ++i) {
    by.MPI_Isend(b.out.data() + i * kMaxBytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                 &requests[static_cast<std::size_t>(kMessages + i)]);
  }
  by.MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
}

/// Whether the last exchange brought the peer's bytes, and no more of them.
bool brought(const Buffers& b, int bytes, char expected) {
  for (int i = 0; i < kMessages; ++i) {
    const char* const in = b.in.data() + i * kMaxBytes;
    const bool right = in[0] == expected && in[bytes - 1] == expected && in[bytes] == '.';
    if (!right) return false;
  }
  return true;
}

Passed exchange_of(Buffers& b, int bytes, int rank) {
  const int peer = 1 - rank;
  return {"passed_on_" + std::to_string(bytes) + "B", 2 * kMessages + 1,
          [&b] { b.in.assign(b.in.size(), '.'); },
          [&b, bytes, peer](const PassedFunctions& by) { exchange(by, b, bytes, peer); },
          [&b, bytes, peer] { return brought(b, bytes, static_cast<char>('a' + peer)); }};
}

/// Takes the double at `out` to `in`, by a collective call on a communicator of one rank.
using TakeOne = void (*)(const PassedFunctions& by, double* out, double* in, MPI_Comm one);

struct NamedTake {
  const char* name;
  TakeOne take;
};

/// MPI libraries spend least in these calls where there is one rank.
constexpr NamedTake kTakes[] = {
    {"Bcast",
     [](const PassedFunctions& by, double* out, double* in, MPI_Comm one) {
       *in = *out;
       by.MPI_Bcast(in, 1, MPI_DOUBLE, 0, one);
     }},
    {"Gather", [](const PassedFunctions& by, double* out, double* in,
                  MPI_Comm one) { by.MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, one); }},
    {"Allgather",
     [](const PassedFunctions& by, double* out, double* in, MPI_Comm one) {
       by.MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, one);
     }},
    {"Reduce", [](const PassedFunctions& by, double* out, double* in,
                  MPI_Comm one) { by.MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, 0, one); }},
    {"Allreduce", [](const PassedFunctions& by, double* out, double* in,
                     MPI_Comm one) { by.MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, one); }},
    {"Scan", [](const PassedFunctions& by, double* out, double* in,
                MPI_Comm one) { by.MPI_Scan(out, in, 1, MPI_DOUBLE, MPI_SUM, one); }},
    {"Alltoall", [](const PassedFunctions& by, double* out, double* in, MPI_Comm one) {
       by.MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, one);
     }}};

Passed collective_of(Buffers& b, const NamedTake& named, MPI_Comm one) {
  return {"passed_on_" + std::string(named.name) + "_one_rank", kCollectives, [&b] { b.came = 0; },
          [&b, take = named.take, one](const PassedFunctions& by) {
            for (int i = 0; i < kCollectives; ++i) take(by, &b.sent, &b.came, one);
          },
          [&b] { return b.came == kSent; }};
}

std::vector<Passed> passed_cases(Buffers& b, int rank, MPI_Comm one) {
  std::vector<Passed> cases;
  for (const int bytes : {24, 216, 1000, 4096}) cases.push_back(exchange_of(b, bytes, rank));
  for (const NamedTake& named : kTakes) cases.push_back(collective_of(b, named, one));
  return cases;
}

void measure(const Passed& one, const PassedFunctions& past, int rounds, int rank,
             const Report& report) {
  const PassedFunctions through = of_program();
  const auto seconds = sample_by_turns(
      std::vector<Plan>(2, Plan{kExchanges, rounds}), {rounds, rounds / 10},
      [&](std::size_t which, const Plan& part, std::vector<double>& to) {
        one.clear();
        const PassedFunctions& by = which == 0 ? past : through;
        take_samples(
            part, [&] { one.run(by); }, to);
        if (one.is_right()) return;
        std::fprintf(stderr, "%s: rank %d got wrong bytes\n", one.name.c_str(), rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
      });
  if (rank != 0) return;
  std::vector<double> call_ns;
  for (std::size_t i = 0; i < seconds[0].size(); ++i)
    call_ns.push_back((seconds[1][i] - seconds[0][i]) / one.calls * 1e9);
  const double alone = summarize(seconds[0]).median;
  report.line(one.name, summarize(call_ns), "-ns",
              {{"alone_us", alone * 1e6}, {"calls", std::int64_t{one.calls}}, {"op", "call"}});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "The cost of a call that is passed on: exchanges of 16 messages, collectives");
  Buffers b;
  if (options.list) {
    for (const Passed& one : passed_cases(b, 0, MPI_COMM_NULL)) std::puts(one.name.c_str());
    return 0;
  }
  Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const Report report("passed_on", mpi.ranks(), mpi.library());
  const PassedFunctions past = of_library();
  b.out.assign(b.out.size(), static_cast<char>('a' + mpi.rank()));
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mpi.rank(), 0, &own);
  for (const Passed& one : passed_cases(b, mpi.rank(), own)) {
    if (options.selects(one.name)) measure(one, past, options.quick ? 20 : 400, mpi.rank(), report);
  }
  MPI_Comm_free(&own);
  return 0;
}
