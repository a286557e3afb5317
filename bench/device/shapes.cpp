/// \file  A face of a grid against a contiguous copy of the same bytes; irregular lists against
/// their bound.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "device/harness.hpp"
#include "device/kernels.hpp"
#include "strake/box.hpp"

namespace bench {
namespace {

using strake::Layout;

/// The face of 65,536 blocks of 24 bytes: subarray([262,262,2560], [256,256,24], [3,3,24], byte).
void run_face(Harness& harness, bool pack) {
  const std::string name = pack ? "face_pack" : "face_unpack";
  if (!harness.options().selects(name)) return;
  constexpr strake::Box kArray{{}, {2560, 262, 262}};
  const Layout face = strake::layout_of({{24, 3, 3}, {48, 259, 259}},
                                        strake::CellArray::of(kArray, sizeof(std::byte)));
  const std::int64_t bytes = face.size_bytes();
  // Each call takes another column of lines and another dense part: 38 of them touch 150 MB and
  // more, past any L2.
  constexpr int kColumns = 38;
  constexpr std::int64_t kColumn = 64;
  Memory grid(strake::MemoryKind::Device, kArray.size() + kMiB);
  Memory dense(strake::MemoryKind::Device, kColumns * bytes);
  Memory other(strake::MemoryKind::Device, kColumns * bytes);
  grid.fill(7);
  dense.fill(9);
  check_answer(harness, face, grid, dense, strake::CopyVariant::Kernel);
  const Packing packing(harness, pack, face, grid, dense);
  const auto run = [&](int i) {
    packing.enqueue_untracked(i % kColumns * kColumn, i % kColumns * bytes);
  };
  const auto copy = [&](int i) {
    check(cudaMemcpyAsync(other.data() + i % kColumns * bytes, dense.data() + i % kColumns * bytes,
                          static_cast<std::size_t>(bytes), cudaMemcpyDefault, cudaStreamLegacy));
  };
  const auto us = [&](int calls, const std::function<void(int)>& enqueue) {
    const int samples = harness.options().quick ? 3 : 41;
    return summarize(to_microseconds(harness.device_seconds(calls, samples, enqueue)));
  };
  // With its signal to the host, and the copy with its own.
  const Summary ours_tracked = us(kColumns, [&](int i) {
    (void)packing.enqueue(i % kColumns * kColumn, i % kColumns * bytes);
  });
  const Summary copies_tracked = us(kColumns, [&](int i) {
    (void)harness.queue().copy(other.data() + i % kColumns * bytes,
                               dense.data() + i % kColumns * bytes, bytes);
  });
  const Summary ours = us(kColumns, run);
  const Summary copies = us(kColumns, copy);
  int next = 0;
  const Summary ours_alone = us(1, [&](int) { run(next++); });
  const Summary copies_alone = us(1, [&](int) { copy(next++); });
  // One face again and again: the face stays in the L2 cache, as do the bytes of the contiguous
  // copy.
  const Summary ours_warm = us(kColumns, [&](int) { run(0); });
  const Summary copies_warm = us(kColumns, [&](int) { copy(0); });
  const double floor = crossing_bytes(face, harness.granularity(), pack) / harness.copy_rate();
  harness.report().line(name, ours, "-us",
                        {{"contiguous_copy_us", copies.median},
                         {"of_copy", ours.median / copies.median},
                         {"alone_us", ours_alone.median},
                         {"contiguous_copy_alone_us", copies_alone.median},
                         {"of_copy_alone", ours_alone.median / copies_alone.median},
                         {"warm_us", ours_warm.median},
                         {"of_copy_warm", ours_warm.median / copies_warm.median},
                         {"tracked_us", ours_tracked.median},
                         {"of_copy_tracked", ours_tracked.median / copies_tracked.median},
                         {"floor_us", floor * 1e6},
                         {"plan", packing.description()}});
}

Layout random_blocks(std::int64_t region) {
  constexpr std::int64_t kBlocks = 1'000'000;
  std::mt19937_64 random(11);
  // One block in each of a million random 64-byte slots, at any 4-byte place: some reach into the
  // next line.
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(region / 64 - 1));
  std::iota(offsets.begin(), offsets.end(), 0);
  std::shuffle(offsets.begin(), offsets.end(), random);
  offsets.resize(kBlocks);
  for (std::int64_t& offset : offsets) {
    offset = offset * 64 + static_cast<std::int64_t>(random() % 13) * 4;
  }
  return Layout::blocks(offsets, 12);
}

Layout random_lengths(std::int64_t region, std::int64_t unit) {
  constexpr std::int64_t kBlocks = 500'000;
  std::mt19937_64 random(13);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(region / 256));
  std::iota(offsets.begin(), offsets.end(), 0);
  std::shuffle(offsets.begin(), offsets.end(), random);
  offsets.resize(kBlocks);
  std::vector<std::int64_t> lengths;
  const auto range = static_cast<std::uint64_t>(128 / unit - (8 + unit - 1) / unit + 1);
  for (std::int64_t& offset : offsets) {
    offset = offset * 256 + static_cast<std::int64_t>(random() % 8) * unit;
    lengths.push_back((8 + unit - 1) / unit * unit +
                      static_cast<std::int64_t>(random() % range) * unit);
  }
  return Layout::blocks(offsets, lengths);
}

void run_list(Harness& harness, const std::string& name, const Layout& layout, std::int64_t region,
              bool pack) {
  if (!harness.options().selects(name)) return;
  const std::int64_t bytes = layout.size_bytes();
  constexpr int kBuffers = 4;
  const std::int64_t part = (bytes + 255) / 256 * 256;
  Memory strided(strake::MemoryKind::Device, kBuffers * region);
  Memory dense(strake::MemoryKind::Device, kBuffers * part);
  strided.fill(17);
  dense.fill(19);
  check_answer(harness, layout, strided, dense, strake::CopyVariant::Kernel);
  const Packing packing(harness, pack, layout, strided, dense);
  const int samples = harness.options().quick ? 3 : 15;
  const auto seconds = harness.device_seconds(
      kBuffers, samples, [&](int i) { packing.enqueue_untracked(i * region, i * part); });
  const Summary summary = summarize(gigabytes_per_s(seconds, static_cast<double>(bytes)));
  // The floor of this order of addresses: one byte of each line that a block touches, read or
  // written in the list's order; and the packed bytes at the contiguous rate.
  std::vector<std::int64_t> offsets;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    const std::int64_t line = harness.granularity();
    for (std::int64_t at = offset; at < offset + length; at = (at / line + 1) * line) {
      offsets.push_back(at);
    }
  });
  const auto touches = static_cast<std::int64_t>(offsets.size());
  Memory listed(strake::MemoryKind::Device, touches * 8 + 256);
  check(cudaMemcpy(listed.data(), offsets.data(), offsets.size() * 8, cudaMemcpyHostToDevice));
  const auto* places = reinterpret_cast<const std::int64_t*>(listed.data());
  auto* const sink = reinterpret_cast<unsigned*>(listed.data() + touches * 8);
  const double touch_us =
      1e6 * summarize(harness.device_seconds(kBuffers, samples, [&](int i) {
              std::byte* const data = strided.data() + i * region;
              check(pack ? launch_touch_list(data, places, touches, sink, cudaStreamLegacy)
                         : launch_write_list(data, places, touches, cudaStreamLegacy));
            })).median;
  const double floor_us = touch_us + 1e6 * static_cast<double>(bytes) / harness.copy_rate();
  const double crossing = crossing_bytes(layout, harness.granularity(), pack);
  const double bound = static_cast<double>(bytes) / crossing * harness.copy_rate() * 1e-9;
  harness.report().line(name, summary, "+GB/s",
                        {{"bound", bound},
                         {"of_bound", summary.median / bound},
                         {"us", static_cast<double>(bytes) / summary.median * 1e-3},
                         {"bar_us", static_cast<double>(bytes) / (0.7 * bound) * 1e-3},
                         {"touch_us", touch_us},
                         {"floor_us", floor_us},
                         {"metadata_bytes", layout.metadata_bytes()},
                         {"plan", packing.description()}});
}

}  // namespace

void run_shapes(Harness& harness) {
  run_face(harness, true);
  run_face(harness, false);
  const std::int64_t region = 256 * kMiB;
  const Layout blocks = random_blocks(region);
  run_list(harness, "list_pack_12B", blocks, region, true);
  run_list(harness, "list_unpack_12B", blocks, region, false);
  for (const std::int64_t unit : {8, 4, 1}) {
    const Layout lengths = random_lengths(region, unit);
    const std::string suffix = "_8-128B_unit" + std::to_string(unit);
    run_list(harness, "list_pack" + suffix, lengths, region, true);
    run_list(harness, "list_unpack" + suffix, lengths, region, false);
  }
}

}  // namespace bench
