// Two ranks hand device buffers to MPI. They may well die: that is the answer which is sought.
// Prints "begins" once there are two ranks with a device each, "right" when all messages came,
// "right NAME" per collective, and "ends"; on stderr why it did not begin.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "cuda_driver.hpp"
#include "program.hpp"

namespace strake::probe {
namespace {

constexpr int kTag = 6;
constexpr std::chrono::milliseconds kForwarding{100};

/// Says what both ranks saw go right. Collective.
bool agreed(bool mine, int rank, const char* line) {
  const int right = mine ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all == 1) {
    std::printf("strake-probe: %s\n", line);
    std::fflush(stdout);
  }
  return all == 1;
}

/// Byte `i` of what `rank` sends: never 0. Neighbours, pages and ranks differ.
std::byte byte_of(int rank, std::size_t i) {
  return static_cast<std::byte>(
      (i * 37 + (i >> 8) * 11 + (i >> 16) * 5 + static_cast<std::size_t>(rank) * 101) | 1U);
}

/// `operation` is given what each rank sends and receives, of `bytes` and twice that, on the
/// device. Whether this rank received `expected`, which is what each sends in order of ranks, or
/// less of it.
template <typename Operation>
bool right(CudaDriver& driver, int rank, std::int64_t bytes, Operation operation) {
  const auto size = static_cast<std::size_t>(2 * bytes);
  const std::uint64_t outgoing = driver.allocate(size);
  const std::uint64_t incoming = driver.allocate(size);
  std::vector<std::byte> host(size);
  driver.to_device(incoming, host.data(), size);
  std::vector<std::byte> expected(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t half = size / 2;
    host[i] = byte_of(rank, i % half);  // the same for each peer
    expected[i] = byte_of(i < half ? 0 : 1, i % half);
  }
  driver.to_device(outgoing, host.data(), size);
  const int code = operation(reinterpret_cast<void*>(outgoing), reinterpret_cast<void*>(incoming),
                             static_cast<int>(bytes));
  driver.to_host(host.data(), incoming, size);
  driver.release(outgoing);
  driver.release(incoming);
  return code == MPI_SUCCESS && host == expected;
}

using Call = int (*)(void* outgoing, void* incoming, int bytes);

// Each leaves rank 0's bytes and rank 1's, one behind the other.

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Sends `outgoing` to `peer`, the other rank or this one, and receives its bytes into its part.
int pass(void* outgoing, void* incoming, int bytes, int peer) {
  return MPI_Sendrecv(outgoing, bytes, MPI_BYTE, peer, kTag,
                      static_cast<std::byte*>(incoming) + std::ptrdiff_t{peer} * bytes, bytes,
                      MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int exchange(void* outgoing, void* incoming, int bytes) {
  const int code = pass(outgoing, incoming, bytes, own_rank());
  return code == MPI_SUCCESS ? pass(outgoing, incoming, bytes, 1 - own_rank()) : code;
}

int broadcast(void* outgoing, void* incoming, int bytes) {
  int code = pass(outgoing, incoming, bytes, own_rank());  // what this rank is the root of
  for (int root = 0; root < 2 && code == MPI_SUCCESS; ++root) {
    void* const data = root == own_rank()
                           ? outgoing
                           : static_cast<std::byte*>(incoming) + std::ptrdiff_t{root} * bytes;
    code = MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  }
  return code;
}

int allgather(void* outgoing, void* incoming, int bytes) {
  return MPI_Allgather(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int alltoall(void* outgoing, void* incoming, int bytes) {
  return MPI_Alltoall(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/// Sums on the device, checked by their own means. Whether they came.
bool allreduce(CudaDriver& driver, int rank, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<double> numbers(size / sizeof(double), rank + 1.0);
  const std::uint64_t outgoing = driver.allocate(size);
  const std::uint64_t incoming = driver.allocate(size);
  driver.to_device(outgoing, numbers.data(), size);
  driver.to_device(incoming, numbers.data(), size);
  MPI_Allreduce(reinterpret_cast<void*>(outgoing), reinterpret_cast<void*>(incoming),
                static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  driver.to_host(numbers.data(), incoming, size);
  driver.release(outgoing);
  driver.release(incoming);
  return std::all_of(numbers.begin(), numbers.end(), [](double sum) { return sum == 3; });
}

/// Short and long messages take different paths in every library.
constexpr std::array<std::int64_t, 4> kSizes = {8, 4 << 10, 64 << 10, 8 << 20};

void try_all(int rank) {
  CudaDriver& driver = *CudaDriver::find();
  driver.use(rank);
  const auto all_sizes = [&](Call call) {
    bool result = true;
    for (const std::int64_t bytes : kSizes) result = right(driver, rank, bytes, call) && result;
    return result;
  };
  if (!agreed(all_sizes(exchange), rank, "right")) return;
  agreed(all_sizes(broadcast), rank, "right broadcast");
  agreed(all_sizes(allgather), rank, "right allgather");
  agreed(all_sizes(alltoall), rank, "right alltoall");
  bool sums = true;
  for (const std::int64_t bytes : kSizes) sums = allreduce(driver, rank, bytes) && sums;
  agreed(sums, rank, "right allreduce");
}

}  // namespace

int try_gpu(int rank, int ranks) {
  const bool device = CudaDriver::find() != nullptr;
  if (ranks != 2) std::fprintf(stderr, "strake-probe: a job of %d ranks, not 2\n", ranks);
  if (!device) std::fprintf(stderr, "strake-probe: rank %d finds no CUDA device\n", rank);
  if (ranks != 2 || !agreed(device, rank, "begins")) return 2;
  // A rank that dies may take along what another has just printed: nobody does before the launcher
  // has surely passed that line on.
  MPI_Barrier(MPI_COMM_WORLD);
  std::this_thread::sleep_for(kForwarding);
  try {
    try_all(rank);
  } catch (const std::exception& error) {  // the driver's
    std::fprintf(stderr, "strake-probe: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  agreed(true, rank, "ends");
  return 0;
}

}  // namespace strake::probe
