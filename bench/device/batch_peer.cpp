/// \file  Batches between two devices, by the target's (pull) and by the source's (push): the halo
/// of a grid, and blocks of one length against contiguous copies.
#include <cstdio>
#include <string>
#include <vector>

#include "device/batch_cases.hpp"
#include "device/harness.hpp"

namespace bench {
namespace {

using strake::Layout;

constexpr int kSource = 0;
constexpr int kTarget = 1;
constexpr std::int64_t kPutPayload = std::int64_t{8} << 20;

struct TwoDevices {
  Harness& harness;
  strake::Stream source;
  strake::Stream target;
  TitledTable halos;
  TitledTable blocks;
};

void run_halo(TwoDevices& bench, const BlockShape& grid, Regions regions, const GridMemory& a,
              const GridMemory& b, const Checker& checker) {
  const std::string name = "batch_peer_" + std::to_string(grid.edge) + "r" +
                           std::to_string(grid.radius) + "_" + name_of(regions) + "_to_halo";
  if (!bench.harness.options().selects(name)) return;
  const BatchCase halo = halo_to_halo(grid, regions, a, b);
  constexpr int kCalls = 10;
  const std::vector<Variant> variants = {batch_variant("pull", bench.target, halo, kCalls),
                                         batch_variant("push", bench.source, halo, kCalls)};
  for (const Variant& variant : variants) checker.check_answer(halo, variant);
  const auto times =
      measure_in_turns(bench.harness, variants, bench.harness.options().quick ? 2 : 15);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Summary us = summarize(to_microseconds(times[i].in_a_row));
    const double alone_us = summarize(times[i].alone).median * 1e6;
    const double rate = static_cast<double>(halo.payload_bytes()) / us.median * 1e-3;
    bench.harness.report().line(name + "_" + variants[i].name, us, "-us",
                                {{"alone_us", alone_us},
                                 {"payload_bytes", halo.payload_bytes()},
                                 {"gigabytes_per_s", rate},
                                 {"plan", variants[i].plan}});
    bench.halos.add({i == 0 ? name : "", variants[i].name, number(us.median, 1),
                     number(alone_us, 1), number(rate, 1)});
  }
}

/// One copy from the source's memory to the target's.
BatchCase one_copy(const Layout& to, const Memory& target, const Layout& from,
                   const Memory& source) {
  BatchCase batch;
  batch.slots = {{source.place(), from.bounds().end}, {target.place(), to.bounds().end}};
  batch.copies = {{to, 1, from, 0}};
  for (auto& bases : batch.bases) bases = {source.data(), target.data()};
  return batch;
}

Variant peer_copy_variant(const std::string& name, const strake::Stream& stream,
                          const Memory& target, const Memory& source, int calls) {
  return {name,
          stream.native(),
          stream.device(),
          calls,
          true,
          [native = stream.native(), &target, &source](int) {
            check(cudaMemcpyPeerAsync(target.data(), kTarget, source.data(), kSource,
                                      static_cast<std::size_t>(kPutPayload), native));
          },
          ""};
}

void run_blocks(TwoDevices& bench, std::int64_t block, const Memory& source, const Memory& target,
                const Checker& checker) {
  const std::string name = "batch_peer_" + std::to_string(block) + "B";
  if (!bench.harness.options().selects(name)) return;
  const strake::Dim rows{kPutPayload / block, 2 * block};
  const Layout box = Layout::box(0, block, {&rows, 1});
  const Layout dense = Layout::dense(kPutPayload);
  constexpr int kCalls = 10;
  std::vector<Variant> variants;
  const auto add = [&](const std::string& variant, const Layout& to, const Layout& from) {
    const BatchCase copy = one_copy(to, target, from, source);
    for (strake::Stream* const stream : {&bench.target, &bench.source}) {
      variants.push_back(batch_variant(variant + (stream == &bench.target ? "_pull" : "_push"),
                                       *stream, copy, kCalls));
      checker.check_answer(copy, variants.back());
    }
  };
  add("box_to_dense", dense, box);
  add("dense_to_box", box, dense);
  add("box_to_box", box, box);
  add("dense_to_dense", dense, dense);
  const BatchCase contiguous = one_copy(dense, target, dense, source);
  for (const strake::Stream* const stream : {&bench.target, &bench.source}) {
    variants.push_back(peer_copy_variant(stream == &bench.target ? "memcpy_pull" : "memcpy_push",
                                         *stream, target, source, kCalls));
    checker.check_answer(contiguous, variants.back());
  }
  const auto times =
      measure_in_turns(bench.harness, variants, bench.harness.options().quick ? 2 : 15);
  std::vector<std::string> cells = {std::to_string(block)};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Summary rate = summarize(gigabytes_per_s(times[i].in_a_row, kPutPayload));
    bench.harness.report().line(
        name + "_" + variants[i].name, rate, "+GB/s",
        {{"alone_us", summarize(times[i].alone).median * 1e6}, {"plan", variants[i].plan}});
    cells.push_back(number(rate.median, 1));
  }
  bench.blocks.add(std::move(cells));
}

bool two_devices() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "one device: batches between two are not measured\n");
    return false;
  }
  int target_reaches = 0;
  int source_reaches = 0;
  check(cudaDeviceCanAccessPeer(&target_reaches, kTarget, kSource));
  check(cudaDeviceCanAccessPeer(&source_reaches, kSource, kTarget));
  if (target_reaches != 0 && source_reaches != 0) return true;
  std::fprintf(stderr, "no peer access: batches between two devices are not measured\n");
  return false;
}

}  // namespace

std::vector<TitledTable> run_batch_peer(Harness& harness) {
  if (!two_devices()) return {};
  TwoDevices bench{harness,
                   strake::Stream::make(kSource),
                   strake::Stream::make(kTarget),
                   {"Halo of a grid between two devices (us; GB/s of payload)",
                    {"case", "way", "in a row", "alone", "GB/s"}},
                   {"8 MiB in blocks, pitch twice the block, between two devices (GB/s of payload; "
                    "b: box, d: dense)",
                    {"block", "b>d pull", "b>d push", "d>b pull", "d>b push", "b>b pull",
                     "b>b push", "d>d pull", "d>d push", "memcpy pull", "memcpy push"}}};
  {
    const BlockShape grid{harness.options().quick ? 64 : 256, 3, 8};
    const Checker checker(grid.bytes());
    const GridMemory a = make_memory(grid, kSource);
    const GridMemory b = make_memory(grid, kTarget);
    for (const Regions regions : {Regions::All, Regions::XFaces, Regions::YzFaces})
      run_halo(bench, grid, regions, a, b, checker);
  }
  Memory source(strake::MemoryKind::Device, 2 * kPutPayload, kSource);
  const Memory target(strake::MemoryKind::Device, 2 * kPutPayload, kTarget);
  source.fill(47);
  const Checker checker(2 * kPutPayload);
  for (const std::int64_t block : {8, 16, 32, 64, 128, 256, 512, 1024, 4096})
    run_blocks(bench, block, source, target, checker);
  return {bench.halos, bench.blocks};
}

}  // namespace bench
