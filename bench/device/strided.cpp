/// \file  Blocks of one length at pitch max(2 * block, 64): against the bound, and against kernels
/// written for the case.
#include <algorithm>
#include <bit>
#include <string>

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

/// Bytes per block of the bound: every block of a case touches lines in the same way.
double bound_bytes(int block, std::int64_t pitch, bool pack, std::int64_t granularity) {
  const strake::Dim dim{64, pitch};
  const Layout sample = Layout::box(0, block, {&dim, 1});
  const std::int64_t bytes =
      pack ? pack_bytes(sample, granularity) : unpack_bytes(sample, granularity);
  return static_cast<double>(bytes) / 64;
}

void run_case(Harness& harness, int block, bool pack) {
  const std::string name = case_name(pack ? "pack" : "unpack", block);
  if (!harness.options().selects(name)) return;
  const std::int64_t payload = harness.options().quick ? kQuickPayload : kPayload;
  // 24 does not divide it: whole tiles of the hand-written kernels are, and a remainder is left
  // out.
  const std::int64_t blocks = payload / block / 8192 * 8192;
  const std::int64_t pitch = std::max(2 * block, 64);
  const strake::Dim dim{blocks, pitch};
  const Layout layout = Layout::box(0, block, {&dim, 1});
  const Layout packed = Layout::dense(layout.size_bytes());

  Memory strided(strake::MemoryKind::Device, blocks * pitch);
  Memory dense(strake::MemoryKind::Device, layout.size_bytes());
  strided.fill(3);
  dense.fill(5);
  const strake::Dim few{4096, pitch};
  check_answer(harness, Layout::box(0, block, {&few, 1}), strided, dense,
               strake::CopyVariant::Kernel);

  const auto plan = pack ? harness.copier().compile(packed, dense.place(), layout, strided.place())
                         : harness.copier().compile(layout, strided.place(), packed, dense.place());
  const int samples = harness.options().quick ? 3 : 11;
  constexpr int kCalls = 4;
  const auto ours = harness.device_seconds(kCalls, samples, [&](int) {
    plan->enqueue_untracked(harness.queue(), pack ? dense.data() : strided.data(),
                            pack ? strided.data() : dense.data(), strake::ByteRange::all());
  });

  double best = 0;
  std::string best_way;
  for (const HandWritten& way : hand_written(block, pack)) {
    const auto theirs = harness.device_seconds(kCalls, samples, [&](int) {
      check(way.launch(dense.data(), strided.data(), blocks, cudaStreamLegacy));
    });
    const double rate = static_cast<double>(layout.size_bytes()) / summarize(theirs).median * 1e-9;
    if (rate > best) {
      best = rate;
      best_way = std::to_string(way.words_per_thread) + "x" + std::to_string(way.threads);
    }
  }

  // The parts of an unpack, each alone: the blocks written, the packed bytes read.
  double parts_us = 0;
  if (!pack && block >= 16 && std::has_single_bit(static_cast<unsigned>(block))) {
    const int block_log2 = std::countr_zero(static_cast<unsigned>(block)) - 4;
    const auto writes = harness.device_seconds(kCalls, samples, [&](int) {
      check(launch_fill_blocks(strided.data(), block_log2, pitch, blocks, cudaStreamLegacy));
    });
    Memory sink(strake::MemoryKind::Device, sizeof(unsigned));
    const auto reads = harness.device_seconds(kCalls, samples, [&](int) {
      check(launch_read(dense.data(), layout.size_bytes(), reinterpret_cast<unsigned*>(sink.data()),
                        cudaStreamLegacy));
    });
    parts_us = (summarize(writes).median + summarize(reads).median) * 1e6;
  }

  const auto bytes = static_cast<double>(layout.size_bytes());
  const Summary summary = summarize(gigabytes_per_s(ours, bytes));
  const double bound =
      harness.copy_rate() * 1e-9 * block / bound_bytes(block, pitch, pack, harness.granularity());
  harness.report().line(name, summary, "+GB/s",
                        {{"bound", bound},
                         {"of_bound", summary.median / bound},
                         {"hand_written", best},
                         {"hand_written_shape", best_way},
                         {"of_hand_written", summary.median / best},
                         {"us", bytes / summary.median * 1e-3},
                         {"parts_us", parts_us},
                         {"plan", plan->description()}});
}

}  // namespace

void run_strided(Harness& harness) {
  for (const int block : {4, 8, 16, 24, 32, 64, 128, 512, 4096}) {
    run_case(harness, block, true);
    run_case(harness, block, false);
  }
}

}  // namespace bench
