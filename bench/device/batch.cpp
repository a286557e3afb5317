/// \file  Batches of copies: the halo of a grid in one launch, against what must cross to and from
/// memory, the runtime's own batches and empty kernels; the host's time of a launch.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "device/batch_cases.hpp"
#include "device/harness.hpp"
#include "device/memcpy_3d.hpp"
#include "support/sampling.hpp"

namespace bench {
namespace {

using strake::Layout;

constexpr std::int64_t kCopyBytes = std::int64_t{256} << 20;

/// Harness, stream, buffers and tables of the cases on one device.
struct OneDevice {
  Harness& harness;
  strake::Stream stream;
  Memory copy_to;
  Memory copy_from;
  TitledTable halos;
  TitledTable host;
};

struct Effort {
  int calls;     ///< in a row
  int calls_3d;  ///< in a row, of the runtime's batches, which may take milliseconds
  int rounds;
};

double median(const std::vector<double>& samples) { return summarize(samples).median; }

void run_halo(OneDevice& bench, const std::string& name, const BatchCase& halo,
              const Checker& checker, const Effort& effort) {
  if (!bench.harness.options().selects(name)) return;
  cudaStream_t const stream = bench.stream.native();
  std::vector<Variant> variants = {batch_variant("batch", bench.stream, halo, effort.calls)};
  if (auto variant = memcpy_3d_variant(stream, halo, effort.calls_3d)) variants.push_back(*variant);
  const std::size_t measured = variants.size();
  for (const Variant& variant : variants) checker.check_answer(halo, variant);
  constexpr int kCopies = 5;
  variants.push_back(empty_variant(stream, effort.calls));
  variants.push_back(copy_variant(stream, bench.copy_to, bench.copy_from, kCopies));
  const std::vector<Times> times = measure_in_turns(bench.harness, variants, effort.rounds);

  const Times& empty = times[measured];
  const double copy_rate = 2.0 * kCopyBytes / median(times[measured + 1].in_a_row);
  const auto payload = static_cast<double>(halo.payload_bytes());
  const auto crossing = static_cast<double>(halo.crossing_bytes);
  for (std::size_t i = 0; i < measured; ++i) {
    const double seconds = median(times[i].in_a_row);
    const double of_bound = seconds / (crossing / copy_rate);
    const double of_payload_bound = seconds / (2 * payload / copy_rate);
    const double alone_us = median(times[i].alone) * 1e6;
    bench.harness.report().line(name + (i == 0 ? "" : "_memcpy_3d"),
                                summarize(to_microseconds(times[i].in_a_row)), "-us",
                                {{"alone_us", alone_us},
                                 {"empty_kernel_us", median(empty.in_a_row) * 1e6},
                                 {"empty_alone_us", median(empty.alone) * 1e6},
                                 {"copies", static_cast<std::int64_t>(halo.copies.size())},
                                 {"payload_bytes", halo.payload_bytes()},
                                 {"crossing_bytes", halo.crossing_bytes},
                                 {"copy_gigabytes_per_s", copy_rate * 1e-9},
                                 {"x_bound", of_bound},
                                 {"x_payload_bound", of_payload_bound},
                                 {"plan", variants[i].plan}});
    bench.halos.add({i == 0 ? name : "", variants[i].name, number(seconds * 1e6, 1),
                     number(alone_us, 1), number(payload * 1e-6, 2), number(crossing * 1e-6, 2),
                     number(copy_rate * 1e-9, 0), number(of_bound, 2),
                     number(of_payload_bound, 2)});
  }
  bench.halos.add({"", "empty kernel", number(median(empty.in_a_row) * 1e6, 1),
                   number(median(empty.alone) * 1e6, 1)});
}

void run_grid(OneDevice& bench, const BlockShape& grid, const std::vector<Regions>& parts,
              const Effort& effort) {
  const std::string prefix =
      "batch_" + std::to_string(grid.edge) + "r" + std::to_string(grid.radius) + "_";
  const std::int64_t dense_bytes = halo_bytes(grid, Regions::All);
  const Checker checker(std::max(grid.bytes(), dense_bytes));
  const GridMemory a = make_memory(grid, 0);
  const GridMemory b = make_memory(grid, 0);
  const Memory dense_a(strake::MemoryKind::Device, dense_bytes);
  const Memory dense_b(strake::MemoryKind::Device, dense_bytes);
  for (const Regions regions : parts) {
    run_halo(bench, prefix + name_of(regions) + "_to_dense",
             halo_to_dense(grid, regions, a, b, dense_a, dense_b), checker, effort);
    run_halo(bench, prefix + name_of(regions) + "_to_halo", halo_to_halo(grid, regions, a, b),
             checker, effort);
  }
}

/// Small copies between two memories, each in so many parts, each of them a slot.
BatchCase small_copies(int count, int parts, const Memory& from, const Memory& to) {
  constexpr std::int64_t kAligned = 256;
  constexpr std::int64_t kBlock = 8;
  constexpr strake::Dim kRows{4, 2 * kBlock};
  constexpr std::int64_t kFromBytes = kRows.count * kRows.stride_bytes;
  constexpr std::int64_t kToBytes = kRows.count * kBlock;
  BatchCase batch;
  for (const Memory* const memory : {&from, &to}) {
    const std::int64_t part = memory->size() / parts / kAligned * kAligned;
    for (int slot = 0; slot < parts; ++slot) {
      batch.slots.push_back({memory->place(), part});
      for (auto& bases : batch.bases) bases.push_back(memory->data() + slot * part);
    }
  }
  for (int i = 0; i < count; ++i) {
    batch.copies.push_back({Layout::dense(kToBytes, i / parts * kToBytes), parts + i % parts,
                            Layout::box(i / parts * kFromBytes, kBlock, {&kRows, 1}), i % parts});
  }
  return batch;
}

void run_host_time(OneDevice& bench, int count, int slots) {
  const std::string name =
      "batch_host_time_" + std::to_string(count) + "_slots_" + std::to_string(slots);
  if (!bench.harness.options().selects(name)) return;
  constexpr std::int64_t kMemory = std::int64_t{8} << 20;
  Memory from(strake::MemoryKind::Device, kMemory);
  const Memory to(strake::MemoryKind::Device, kMemory);
  from.fill(41);
  const BatchCase batch = small_copies(count, slots / 2, from, to);
  const Variant ours = batch_variant(name, bench.stream, batch, 1);
  const Variant empty = empty_variant(bench.stream.native(), 1);
  Checker(kMemory).check_answer(batch, ours);

  // Few enough for the queue of a stream: the host never waits for the device within them.
  constexpr int kBurst = 64;
  const int rounds = bench.harness.options().quick ? 5 : 201;
  const auto seconds =
      sample_by_turns(std::vector<Plan>(2, Plan{kBurst, rounds}), {rounds, 1},
                      [&](std::size_t which, const Plan& part, std::vector<double>& found) {
                        const Variant& variant = which == 0 ? ours : empty;
                        take_samples(
                            part, [&] { variant.enqueue(0); }, found);
                        check(cudaStreamSynchronize(variant.stream));
                      });
  const double ours_us = median(seconds[0]) * 1e6;
  const double empty_us = median(seconds[1]) * 1e6;
  bench.harness.report().line(name, summarize(to_microseconds(seconds[0])), "-us",
                              {{"empty_kernel_us", empty_us},
                               {"of_empty_kernel", ours_us / empty_us},
                               {"plan", ours.plan}});
  bench.host.add({std::to_string(count), std::to_string(slots), number(ours_us, 2),
                  number(empty_us, 2), number(ours_us / empty_us, 2)});
}

/// Whether cases of this part are asked for: their names begin with "batch".
bool selected(const Options& options) {
  const auto& filters = options.filters;
  return filters.empty() ||
         std::any_of(filters.begin(), filters.end(), [](const std::string& filter) {
           return filter.find("batch") != std::string::npos;
         });
}

}  // namespace

void run_batch(Harness& harness) {
  if (!selected(harness.options())) return;
  const bool quick = harness.options().quick;
  std::vector<TitledTable> tables;
  {
    OneDevice bench{
        harness,
        strake::Stream::make(0),
        {strake::MemoryKind::Device, kCopyBytes},
        {strake::MemoryKind::Device, kCopyBytes},
        {"Halo of a grid on one device (us; MB; GB/s, read + written; x: times the "
         "bound)",
         {"case", "way", "in a row", "alone", "payload", "crossing", "copy", "x bound",
          "x payload"}},
        {"Host time of an enqueue (us)", {"copies", "slots", "batch", "empty kernel", "x"}}};
    bench.copy_from.fill(43);
    run_grid(bench, {quick ? 64 : 256, 3, 8}, {Regions::All, Regions::XFaces, Regions::YzFaces},
             {20, 2, quick ? 2 : 11});
    run_grid(bench, {32, 1, 1}, {Regions::All}, {100, 5, quick ? 5 : 101});
    constexpr int kFewSlots = 16;
    for (const int count : {1, 208, 100000}) run_host_time(bench, count, kFewSlots);
    for (const int slots : {18, 258, strake::CopyBatch::kMaxSlots})
      run_host_time(bench, strake::CopyBatch::kMaxSlots, slots);
    tables = {bench.halos, bench.host};
  }
  for (const TitledTable& table : run_batch_peer(harness)) tables.push_back(table);
  // Not among the lines of the report.
  for (const TitledTable& table : tables) table.print(stderr);
}

}  // namespace bench
