// A periodic 3D halo exchange with 26 neighbours, as MPI programs write it: datatypes, Isend,
// Irecv, Waitall. It knows nothing of Strake. Every cell is checked against the value that it must
// have.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "grid_memory.hpp"
#include "halo.hpp"

namespace {

struct Options {
  Block block{64, 3, 2};
  int iterations = 30;
  bool device = false;
  bool json = false;
};

constexpr const char* kUsage =
    "usage: halo3d [--n CELLS] [--radius CELLS] [--quantities COUNT] [--iterations COUNT] "
    "[--device] [--json]\n";

bool parse_positive(const char* text, int& value) {
  char* end = nullptr;
  const long number = text == nullptr ? 0 : std::strtol(text, &end, 10);
  if (number < 1 || number > 1 << 14 || *end != '\0') return false;
  value = static_cast<int>(number);
  return true;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--device") {
      options.device = true;
    } else if (name == "--json") {
      options.json = true;
    } else {
      int* value = name == "--n"            ? &options.block.n
                   : name == "--radius"     ? &options.block.radius
                   : name == "--quantities" ? &options.block.quantities
                   : name == "--iterations" ? &options.iterations
                                            : nullptr;
      if (value == nullptr || !parse_positive(i + 1 < argc ? argv[++i] : nullptr, *value))
        return false;
    }
  }
  return options.block.radius <= options.block.n;
}

/// The block in host or device memory, and a copy of it on the host to fill and check.
class Grid {
 public:
  Grid(std::size_t cells, bool device) : host_(cells), device_(device) {
    if (device) cells_ = static_cast<double*>(allocate_on_device(bytes()));
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  ~Grid() {
    if (device_) free_on_device(cells_);
  }
  /// The address that MPI calls get.
  [[nodiscard]] double* cells() { return device_ ? cells_ : host_.data(); }
  [[nodiscard]] std::vector<double>& host() { return host_; }
  [[nodiscard]] std::size_t bytes() const { return host_.size() * sizeof(double); }
  void upload() {
    if (device_) copy_to_device(cells_, host_.data(), bytes());
  }
  void download() {
    if (device_) copy_from_device(host_.data(), cells_, bytes());
  }

 private:
  std::vector<double> host_;
  double* cells_ = nullptr;
  bool device_;
};

/// A chain of xorshift steps over 64-bit words, the last one padded with zeros: any bit changes the
/// result.
std::uint64_t hash_bytes(std::uint64_t hash, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + done, std::min(sizeof word, bytes - done));
    hash ^= word;
    hash ^= hash << 13U;
    hash ^= hash >> 7U;
    hash ^= hash << 17U;
  }
  return hash;
}

/// Median over the runs of the slowest rank's time, valid on every rank. [us]
template <typename Run>
double median_us(int runs, Run run) {
  std::vector<double> seconds(static_cast<std::size_t>(runs));
  for (double& sample : seconds) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    run();
    sample = MPI_Wtime() - begin;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), runs, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  return seconds[static_cast<std::size_t>(runs / 2)] * 1e6;
}

struct Result {
  double first_commit_us = 0;
  double commit_us = 0;
  double pack_us = 0;
  double exchange_us = 0;
  int packed_bytes = 0;
  long long wrong = 0;
  std::uint64_t checksum = 0;
};

Result measure(const Options& options, Halo& halo) {
  Result result;
  result.first_commit_us = median_us(1, [&] { halo.make_types(); });
  Grid grid(options.block.cells(), options.device);
  Grid packed(static_cast<std::size_t>(halo.packed_bytes()) / sizeof(double) + 1, options.device);

  // Checked before and after the timed runs, since the first exchange and later ones may take
  // different paths.
  const auto checked_exchange = [&](int generation) {
    halo.fill(grid.host(), generation);
    grid.upload();
    halo.exchange(grid.cells());
    grid.download();
    result.wrong += halo.count_wrong(grid.host(), generation);
    result.checksum = hash_bytes(result.checksum, grid.host().data(), grid.bytes());
  };
  checked_exchange(1);
  result.exchange_us = median_us(options.iterations, [&] { halo.exchange(grid.cells()); });
  checked_exchange(2);

  const auto pack = [&] {
    result.packed_bytes = halo.pack(grid.cells(), packed.cells(), static_cast<int>(packed.bytes()));
  };
  pack();
  result.pack_us = median_us(options.iterations, pack);
  packed.download();
  result.checksum = hash_bytes(result.checksum, packed.host().data(),
                               static_cast<std::size_t>(result.packed_bytes));

  std::vector<double> commits;
  for (int i = 0; i < options.iterations; ++i) {
    halo.free_types();
    commits.push_back(median_us(1, [&] { halo.make_types(); }));
  }
  std::nth_element(commits.begin(), commits.begin() + options.iterations / 2, commits.end());
  result.commit_us = commits[static_cast<std::size_t>(options.iterations / 2)];

  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  result.checksum = hash_bytes(result.checksum, &rank, sizeof rank);
  MPI_Allreduce(MPI_IN_PLACE, &result.checksum, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &result.wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return result;
}

void print(const Options& options, const Halo& halo, const Result& result) {
  const Block& block = options.block;
  const std::array<int, 3>& dims = halo.dims();
  const char* memory = options.device ? "device" : "host";
  if (options.json) {
    std::printf(
        "{\"program\": \"halo3d\", \"memory\": \"%s\", \"ranks\": %d, \"n\": %d, \"radius\": %d, "
        "\"quantities\": %d, \"packed_bytes\": %d, \"first_commit_us\": %.1f, \"commit_us\": %.1f, "
        "\"pack_us\": %.1f, \"exchange_us\": %.1f, \"wrong_cells\": %lld, \"checksum\": "
        "\"%016" PRIX64 "\"}\n",
        memory, dims[0] * dims[1] * dims[2], block.n, block.radius, block.quantities,
        result.packed_bytes, result.first_commit_us, result.commit_us, result.pack_us,
        result.exchange_us, result.wrong, result.checksum);
    return;
  }
  std::printf(
      "halo3d: %d x %d x %d ranks, %d quantities of %d^3 cells and %d ghost layers each, %s "
      "memory\n",
      dims[0], dims[1], dims[2], block.quantities, block.n, block.radius, memory);
  std::printf("  commit    %10.1f us  52 types, created and committed (the first time %.1f us)\n",
              result.commit_us, result.first_commit_us);
  std::printf("  pack      %10.1f us  %.2f MB from 26 regions\n", result.pack_us,
              result.packed_bytes / 1e6);
  std::printf("  exchange  %10.1f us  the same with 26 neighbours\n", result.exchange_us);
  std::printf("  checksum  %016" PRIX64 ", %lld wrong cells\n", result.checksum, result.wrong);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Options options;
  int status = 0;
  if (!parse(argc, argv, options)) {
    if (rank == 0) std::fputs(kUsage, stderr);
    status = 2;
  } else if (options.device) {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int local_rank = 0;
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_free(&node);
    if (const char* reason = open_device(local_rank)) {
      if (rank == 0) std::fprintf(stderr, "halo3d: --device: %s\n", reason);
      status = 2;
    }
  }
  if (status == 0) {
    Halo halo(options.block, MPI_COMM_WORLD);
    const Result result = measure(options, halo);
    if (rank == 0) print(options, halo, result);
    if (result.wrong != 0) status = 1;
  }
  MPI_Finalize();
  return status;
}
