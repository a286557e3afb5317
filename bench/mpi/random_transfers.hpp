/// \file  Random strided messages: the cases over which a choice of method is judged.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace bench {

/// Which ends of the message are strided; the others take the same bytes side by side.
enum class Ends : std::uint8_t { Both, Sender, Receiver };

struct RandomTransfer {
  std::int64_t block = 0;
  std::int64_t pitch = 0;
  std::int64_t blocks = 0;
  Ends ends = Ends::Both;

  [[nodiscard]] std::int64_t bytes() const { return block * blocks; }
  /// "12/4194304B_24B_512B_both": number, size, block, pitch, ends.
  [[nodiscard]] std::string name(int number) const;
};

/// Transfers that the seed alone determines: sizes of 64 B to 16 MiB, blocks of 1 B to 4 KiB,
/// pitches of 1 to 32 blocks, all spread evenly over their logarithms; extents of 256 MiB at most.
std::vector<RandomTransfer> random_transfers(int count, unsigned seed);
/// The columns of grids whose rows are a power of two: pitches of 2 to 64 KiB, blocks of 1 B to
/// 4 KiB and half a pitch, 2 blocks and more; sizes and extents as above at most.
std::vector<RandomTransfer> aligned_transfers(int count, unsigned seed);

/// Checks and times the half round trip of each of them between two ranks, in memory that
/// `allocate` gives (and frees itself) and `put` and `get` reach from the host. True if every byte
/// was right.
struct TransferMemory {
  std::function<std::byte*(std::int64_t)> allocate;
  std::function<void(std::byte*, const std::byte*, std::int64_t)> put;
  std::function<void(std::byte*, const std::byte*, std::int64_t)> get;
  /// The library takes it: what its own functions take, beneath an interposer, is measured too.
  bool beneath = false;
};
bool run_transfers(const TransferMemory& memory, const Options& options, const Report& report,
                   const std::vector<Field>& fields, int rank);

}  // namespace bench
