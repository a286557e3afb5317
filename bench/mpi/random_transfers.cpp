#include "mpi/random_transfers.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"

namespace bench {
namespace {

constexpr int kTag = 9;
constexpr int kTransfers = 200;
constexpr int kQuickTransfers = 12;
constexpr int kAlignedTransfers = 40;
constexpr int kQuickAlignedTransfers = 4;
constexpr unsigned kSeed = 20;

/// One rank's end of a transfer.
struct End {
  std::byte* memory;
  bool strided;
  MPI_Datatype type;
  int bytes;

  void send(int to, decltype(&MPI_Send) by = MPI_Send) const {
    by(memory, strided ? 1 : bytes, strided ? type : MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  }
  void receive(int from, decltype(&MPI_Recv) by = MPI_Recv) const {
    by(memory, strided ? 1 : bytes, strided ? type : MPI_BYTE, from, kTag, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  }
};

constexpr double kLargestExtent = 28;  // log2
constexpr double kLargestSize = 24;

/// Not a standard distribution, whose values differ between libraries.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  Ends ends() { return static_cast<Ends>(engine_() % 3); }

 private:
  std::mt19937_64 engine_;
};

std::byte pattern(std::int64_t index, int rank) {
  return static_cast<std::byte>((index * 2654435761LL >> 7) + rank * 101);
}

/// Both ends' selected bytes are numbered alike, so each can tell what it must receive.
bool check_transfer(const RandomTransfer& transfer, const End& end, const TransferMemory& memory,
                    std::int64_t extent, int rank) {
  std::vector<std::byte> host(static_cast<std::size_t>(extent));
  const auto place = [&](std::int64_t index) {
    return end.strided ? index / transfer.block * transfer.pitch + index % transfer.block : index;
  };
  const auto fill = [&] {
    std::fill(host.begin(), host.end(), std::byte{0x5a});
    for (std::int64_t i = 0; i < transfer.bytes(); ++i) {
      host[static_cast<std::size_t>(place(i))] = pattern(i, rank);
    }
    memory.put(end.memory, host.data(), extent);
  };
  bool right = true;
  for (const int sender : {0, 1}) {
    fill();
    if (rank == sender) {
      end.send(1 - rank);
      continue;
    }
    end.receive(sender);
    for (std::int64_t i = 0; i < transfer.bytes(); ++i) {
      host[static_cast<std::size_t>(place(i))] = pattern(i, sender);
    }
    std::vector<std::byte> found(static_cast<std::size_t>(extent));
    memory.get(found.data(), end.memory, extent);
    right = found == host;
  }
  return all_ranks(right);
}

}  // namespace

std::string RandomTransfer::name(int number) const {
  constexpr const char* kEnds[] = {"both", "sender", "receiver"};
  return std::to_string(number) + "/" + std::to_string(bytes()) + "B_" + std::to_string(block) +
         "B_" + std::to_string(pitch) + "B_" + kEnds[static_cast<int>(ends)];
}

std::vector<RandomTransfer> random_transfers(int count, unsigned seed) {
  Random random(seed);
  std::vector<RandomTransfer> transfers;
  for (int i = 0; i < count; ++i) {
    const double size = random.between(6, kLargestSize);
    const double block = random.between(0, std::min(12.0, size));
    const double pitch = std::min(block + random.between(0, 5), kLargestExtent - size + block);
    RandomTransfer transfer;
    transfer.block = std::lround(std::exp2(block));
    transfer.pitch = std::max(transfer.block + 1, std::lround(std::exp2(pitch)));
    transfer.blocks = std::max(1L, std::lround(std::exp2(size)) / transfer.block);
    transfer.ends = random.ends();
    transfers.push_back(transfer);
  }
  return transfers;
}

std::vector<RandomTransfer> aligned_transfers(int count, unsigned seed) {
  Random random(seed);
  std::vector<RandomTransfer> transfers;
  for (int i = 0; i < count; ++i) {
    const double pitch = std::floor(random.between(11, 17));
    const double block = random.between(0, std::min(12.0, pitch - 1));
    RandomTransfer transfer;
    transfer.block = std::lround(std::exp2(block));
    transfer.pitch = std::lround(std::exp2(pitch));
    const double most = std::min(kLargestExtent - pitch, kLargestSize - block);
    transfer.blocks = std::lround(std::exp2(random.between(1, most)));
    transfer.ends = random.ends();
    transfers.push_back(transfer);
  }
  return transfers;
}

bool run_transfers(const TransferMemory& memory, const Options& options, const Report& report,
                   const std::vector<Field>& fields, int rank) {
  auto transfers = random_transfers(options.quick ? kQuickTransfers : kTransfers, kSeed);
  const auto aligned =
      aligned_transfers(options.quick ? kQuickAlignedTransfers : kAlignedTransfers, kSeed);
  transfers.insert(transfers.end(), aligned.begin(), aligned.end());
  if (options.list) {
    for (std::size_t i = 0; rank == 0 && i < transfers.size(); ++i) {
      std::puts(transfers[i].name(static_cast<int>(i)).c_str());
    }
    return true;
  }
  std::int64_t largest = 0;
  for (const RandomTransfer& transfer : transfers) {
    largest = std::max(largest, transfer.blocks * transfer.pitch);
  }
  std::byte* const data = memory.allocate(largest);
  bool right = true;
  for (int i = 0; i < static_cast<int>(transfers.size()); ++i) {
    const RandomTransfer& transfer = transfers[static_cast<std::size_t>(i)];
    const std::string name = transfer.name(i);
    if (!options.selects(name)) continue;
    const Datatype type =
        hvector(static_cast<int>(transfer.blocks), static_cast<int>(transfer.block),
                static_cast<MPI_Aint>(transfer.pitch), MPI_BYTE);
    type.commit();
    const bool strided =
        transfer.ends == Ends::Both || (transfer.ends == Ends::Sender) == (rank == 0);
    const End end{data, strided, type.get(), static_cast<int>(transfer.bytes())};
    const std::int64_t extent = transfer.blocks * transfer.pitch;
    if (!check_transfer(transfer, end, memory, extent, rank)) {
      if (rank == 0) std::fprintf(stderr, "%s: received bytes are wrong\n", name.c_str());
      right = false;
      continue;
    }
    const auto found = half_round_trips(
        options.budget, rank, memory.beneath, [&](int to, auto by) { end.send(to, by); },
        [&](int from, auto by) { end.receive(from, by); });
    std::vector<Field> more = fields;
    if (memory.beneath) more.emplace_back("beneath", found[1].median);
    if (rank == 0) report.line(name, found[0], "-us", more);
  }
  return right;
}

}  // namespace bench
