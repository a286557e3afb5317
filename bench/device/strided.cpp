/// \file  Blocks of one length at pitch max(2 * block, 64): against the bound, and against kernels
/// written for the case.
#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "device/harness.hpp"
#include "device/kernels.hpp"

namespace bench {
namespace {

using strake::Layout;

constexpr std::int64_t kPayload = std::int64_t{256} << 20;
// A tile of the hand-written kernels in the longest blocks, twice.
constexpr std::int64_t kQuickPayload = std::int64_t{64} << 20;

std::string case_name(const char* what, int block) {
  return std::string("strided_") + what + "_" + std::to_string(block) + "B";
}

/// Memory of a case, and how it is measured.
struct Blocks {
  Harness& harness;
  std::int64_t block;
  std::int64_t pitch;
  std::int64_t count;
  Memory strided{strake::MemoryKind::Device, count* pitch};
  Memory dense{strake::MemoryKind::Device, count* block};
  [[nodiscard]] Layout layout(std::int64_t blocks) const {
    const strake::Dim dim{blocks, pitch};
    return Layout::box(0, block, {&dim, 1});
  }
  [[nodiscard]] std::vector<double> seconds(const std::function<void(int)>& enqueue) const {
    constexpr int kInARow = 4;
    return harness.device_seconds(kInARow, harness.options().quick ? 3 : 11, enqueue);
  }
};

struct Best {
  double gigabytes_per_s = 0;
  std::string shape;
};

Best best_by_hand(const Blocks& blocks, bool pack) {
  Best best;
  for (const HandWritten& way : hand_written(static_cast<int>(blocks.block), pack)) {
    const auto seconds = blocks.seconds([&](int) {
      check(way.launch(blocks.dense.data(), blocks.strided.data(), blocks.count, cudaStreamLegacy));
    });
    const double rate = static_cast<double>(blocks.dense.size()) / summarize(seconds).median * 1e-9;
    if (rate > best.gigabytes_per_s)
      best = {rate, std::to_string(way.words_per_thread) + "x" + std::to_string(way.threads)};
  }
  return best;
}

/// The parts of an unpack, each alone: the blocks written, the packed bytes read. 0: there is no
/// kernel for such blocks.
double unpack_parts_us(const Blocks& blocks) {
  const auto block = static_cast<unsigned>(blocks.block);
  if (block < 16 || !std::has_single_bit(block)) return 0;
  const auto writes = blocks.seconds([&](int) {
    check(launch_fill_blocks(blocks.strided.data(), std::countr_zero(block) - 4, blocks.pitch,
                             blocks.count, cudaStreamLegacy));
  });
  const Memory sink(strake::MemoryKind::Device, sizeof(unsigned));
  const auto reads = blocks.seconds([&](int) {
    check(launch_read(blocks.dense.data(), blocks.dense.size(),
                      reinterpret_cast<unsigned*>(sink.data()), cudaStreamLegacy));
  });
  return (summarize(writes).median + summarize(reads).median) * 1e6;
}

void run_case(Harness& harness, int block, bool pack) {
  const std::string name = case_name(pack ? "pack" : "unpack", block);
  if (!harness.options().selects(name)) return;
  const std::int64_t payload = harness.options().quick ? kQuickPayload : kPayload;
  // 24 does not divide the payload: whole tiles of the hand-written kernels are measured, and a
  // remainder is left out.
  Blocks blocks{harness, block, std::max(2 * block, 64), payload / block / 8192 * 8192};
  blocks.strided.fill(3);
  blocks.dense.fill(5);
  check_answer(harness, blocks.layout(4096), blocks.strided, blocks.dense,
               strake::CopyVariant::Kernel);
  const Packing packing(harness, pack, blocks.layout(blocks.count), blocks.strided, blocks.dense);
  const auto bytes = static_cast<double>(blocks.dense.size());
  const Summary rate =
      summarize(gigabytes_per_s(blocks.seconds([&](int) { packing.enqueue_untracked(); }), bytes));
  const Best best = best_by_hand(blocks, pack);
  const double parts_us = pack ? 0 : unpack_parts_us(blocks);
  // Every block of a case touches lines in the same way.
  constexpr std::int64_t kSome = 64;
  const double bound = harness.copy_rate() * 1e-9 * static_cast<double>(kSome * block) /
                       crossing_bytes(blocks.layout(kSome), harness.granularity(), pack);
  harness.report().line(name, rate, "+GB/s",
                        {{"bound", bound},
                         {"of_bound", rate.median / bound},
                         {"hand_written", best.gigabytes_per_s},
                         {"hand_written_shape", best.shape},
                         {"of_hand_written", rate.median / best.gigabytes_per_s},
                         {"us", bytes / rate.median * 1e-3},
                         {"parts_us", parts_us},
                         {"plan", packing.description()}});
}

}  // namespace

void run_strided(Harness& harness) {
  for (const int block : {4, 8, 16, 24, 32, 64, 128, 512, 4096}) {
    run_case(harness, block, true);
    run_case(harness, block, false);
  }
}

}  // namespace bench
