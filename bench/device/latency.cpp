/// \file  Small packs from call to return against an empty kernel that writes a flag; what
/// classifying a pointer costs.
#include <sys/mman.h>

#include <string>

#include "device/harness.hpp"
#include "device_mpi/device.hpp"
#include "strake/memory.hpp"
#include "support/sampling.hpp"

namespace bench {
namespace {

using strake::Layout;

int samples_of(const Harness& harness) { return harness.options().quick ? 20 : 3000; }

constexpr int kWarmUps = 20;

/// Microseconds of each call on its own.
template <typename Body>
Summary each_call(int samples, Body&& body) {
  return summarize(to_microseconds(time_by_turns({samples, kWarmUps}, body)[0]));
}

void small_pack(Harness& harness, const std::string& name, std::int64_t block, std::int64_t count,
                strake::MemoryKind dense_kind, bool pack, Parts& parts) {
  const strake::Dim dim{count, 2 * block};
  const Layout layout = Layout::box(0, block, {&dim, 1});
  Memory strided(strake::MemoryKind::Device, count * 2 * block);
  Memory dense(dense_kind, layout.size_bytes());
  strided.fill(1);
  dense.fill(2);
  check_answer(harness, layout, strided, dense, strake::CopyVariant::Auto);
  const Packing packing(harness, pack, layout, strided, dense);
  std::vector<double> enqueue_only;
  const auto seconds = time_by_turns(
      {samples_of(harness), kWarmUps}, [&] { parts.nothing(); },
      [&] {
        const Stopwatch watch;
        const strake::Ticket ticket = packing.enqueue();
        enqueue_only.push_back(watch.seconds());
        harness.queue().wait(ticket);
      });
  enqueue_only.erase(enqueue_only.begin(), enqueue_only.begin() + kWarmUps);
  const Summary summary = summarize(to_microseconds(seconds[1]));
  const double empty_us = summarize(seconds[0]).median * 1e6;
  harness.report().line(name, summary, "-us",
                        {{"empty_kernel_us", empty_us},
                         {"of_empty_kernel", summary.median / empty_us},
                         {"enqueue_us", summarize(enqueue_only).median * 1e6},
                         {"plan", packing.description()}});
}

void queue_copy(Harness& harness, std::int64_t bytes) {
  const Memory host(strake::MemoryKind::Pinned, bytes);
  const Memory device(strake::MemoryKind::Device, bytes);
  strake::Queue& queue = harness.queue();
  const std::string size = std::to_string(bytes) + "B";
  const auto down = each_call(samples_of(harness) / 4,
                              [&] { queue.wait(queue.copy(host.data(), device.data(), bytes)); });
  harness.report().line("copy_d2h_" + size, down, "-us");
  const auto up = each_call(samples_of(harness) / 4,
                            [&] { queue.wait(queue.copy(device.data(), host.data(), bytes)); });
  harness.report().line("copy_h2d_" + size, up, "-us");
}

void classify_cost(Harness& harness, const std::string& name, const void* address,
                   strake::MemoryKind expected) {
  require(strake::classify(address).kind == expected, "an address was classified wrongly");
  std::vector<double> seconds;
  take_samples(
      {1000, 50}, [&] { (void)strake::classify(address); }, seconds);
  harness.report().line("classify_" + name, summarize(scaled(seconds, 1e9)), "-ns");
}

}  // namespace

void run_latency(Harness& harness) {
  if (!harness.options().selects("latency")) return;
  using strake::MemoryKind;
  Parts parts;
  small_pack(harness, "latency_pack_1KiB_8B_blocks", 8, 128, MemoryKind::Device, true, parts);
  small_pack(harness, "latency_unpack_1KiB_8B_blocks", 8, 128, MemoryKind::Device, false, parts);
  small_pack(harness, "latency_pack_1KiB_to_host", 8, 128, MemoryKind::Pinned, true, parts);
  small_pack(harness, "latency_unpack_1KiB_from_host", 8, 128, MemoryKind::Pinned, false, parts);
  small_pack(harness, "latency_pack_8B", 8, 1, MemoryKind::Device, true, parts);
  small_pack(harness, "latency_pack_16KiB", 64, 256, MemoryKind::Device, true, parts);
  small_pack(harness, "latency_pack_64KiB", 64, 1024, MemoryKind::Device, true, parts);
  small_pack(harness, "latency_pack_1MiB", 512, 2048, MemoryKind::Device, true, parts);
  small_pack(harness, "latency_pack_1MiB_to_host", 512, 2048, MemoryKind::Pinned, true, parts);
  for (const std::int64_t bytes : {1024, 65536, 1048576}) queue_copy(harness, bytes);

  const Memory device(MemoryKind::Device, 4096);
  const Memory pinned(MemoryKind::Pinned, 4096);
  void* const mapped =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::vector<std::byte> heap(64);
  const int on_stack = 0;
  classify_cost(harness, "device", device.data() + 100, MemoryKind::Device);
  classify_cost(harness, "pinned", pinned.data() + 100, MemoryKind::Pinned);
  classify_cost(harness, "mapped", mapped, MemoryKind::Host);
  classify_cost(harness, "heap", heap.data(), MemoryKind::Host);
  classify_cost(harness, "stack", &on_stack, MemoryKind::Host);
  munmap(mapped, 4096);
}

}  // namespace bench
