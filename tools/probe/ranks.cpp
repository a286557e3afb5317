// Facts about each rank of a job, a line a rank.
#include <link.h>
#include <mpi.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "foreign_memory.hpp"
#include "mpi/library_name.hpp"
#include "program.hpp"

namespace strake::probe {
namespace {

struct Rank {
  std::array<char, 64> host{};
  std::uint64_t network = 0;  ///< network namespace: sockets of one can't be seen from another
  std::uint64_t address = 0;  ///< of `token`, in this process
  std::uint64_t token = 0;    ///< nobody else has it
  std::int32_t process = 0;
  std::int32_t cores = 0;       ///< that it may run on
  std::int32_t interposed = 0;  ///< Strake's interposer is in it
  /// Result of reading the memory of the next rank on the host: 0 or an errno; -1: no such rank.
  std::int32_t reading = -1;
};

bool is_interposed() {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void*) {
               return std::strstr(info->dlpi_name, "/libstrake-mpi-") != nullptr ? 1 : 0;
             },
             nullptr) != 0;
}

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// The next rank on the host of `rank`, around; `rank` itself if it is alone.
std::size_t neighbour(const std::vector<Rank>& all, std::size_t rank) {
  std::size_t next = rank;
  do {
    next = (next + 1) % all.size();
  } while (all[next].host != all[rank].host);
  return next;
}

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return mpi::library_name(text.data());
}

}  // namespace

int tell_ranks(int rank, int ranks) {
  static Rank mine;
  gethostname(mine.host.data(), mine.host.size() - 1);
  struct stat network {};
  if (stat("/proc/self/ns/net", &network) == 0) mine.network = network.st_ino;
  mine.token = std::random_device{}() + (std::uint64_t{1} << 32);
  mine.address = reinterpret_cast<std::uint64_t>(&mine.token);
  mine.process = getpid();
  mine.cores = cores();
  mine.interposed = is_interposed() ? 1 : 0;
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  constexpr int kBytes = sizeof(Rank);
  MPI_Allgather(&mine, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, MPI_COMM_WORLD);
  const Rank& next = all[neighbour(all, static_cast<std::size_t>(rank))];
  if (next.process != mine.process)
    mine.reading = read_of_process(next.process, next.address, next.token);
  MPI_Gather(&mine, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    const Rank& one = all[static_cast<std::size_t>(i)];
    std::printf(
        "strake-probe: rank %d of %d host %s network %llu cores %d interposed %d reading %d "
        "library %s\n",
        i, ranks, one.host.data(), static_cast<unsigned long long>(one.network), one.cores,
        one.interposed, one.reading, library().c_str());
    std::fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // memory that others read stays until they have
  return 0;
}

}  // namespace strake::probe
