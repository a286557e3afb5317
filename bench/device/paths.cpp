/// \file  The parts of one-shot and staged messages: kernels and copy engines between device and
/// pinned host memory.
#include <algorithm>
#include <string>

#include "device/harness.hpp"

namespace bench {
namespace {

using strake::CopyVariant;
using strake::Layout;
using strake::MemoryKind;

const char* name_of(CopyVariant variant) {
  return variant == CopyVariant::Engine ? "engine" : "kernel";
}

void run_rows(Harness& harness, std::int64_t block, std::int64_t payload, MemoryKind dense_kind,
              bool pack, CopyVariant variant) {
  const std::string name = std::string("paths_") + (pack ? "pack" : "unpack") + "_" +
                           (dense_kind == MemoryKind::Pinned ? "host_" : "device_") +
                           std::to_string(block) + "B_of_" + std::to_string(payload >> 10) +
                           "KiB_" + name_of(variant);
  if (!harness.options().selects(name)) return;
  const std::int64_t count = std::max<std::int64_t>(payload / block, 1);
  const strake::Dim dim{count, 2 * block};
  const Layout layout = Layout::box(0, block, {&dim, 1});
  Memory strided(MemoryKind::Device, count * 2 * block);
  Memory dense(dense_kind, layout.size_bytes());
  strided.fill(21);
  dense.fill(23);
  check_answer(harness, layout, strided, dense, variant);
  const Packing packing(harness, pack, layout, strided, dense, variant);
  const int samples = harness.options().quick ? 3 : 15;
  const auto seconds = harness.device_seconds(4, samples, [&](int) { (void)packing.enqueue(); });
  const auto rates = gigabytes_per_s(seconds, static_cast<double>(layout.size_bytes()));
  harness.report().line(name, summarize(rates), "+GB/s", {{"plan", packing.description()}});
}

void run_copy(Harness& harness, std::int64_t bytes, bool to_host) {
  const std::string name = std::string("paths_copy_") + (to_host ? "d2h_" : "h2d_") +
                           std::to_string(bytes >> 10) + "KiB";
  if (!harness.options().selects(name)) return;
  const Memory device(MemoryKind::Device, bytes);
  const Memory host(MemoryKind::Pinned, bytes);
  const auto seconds = harness.device_seconds(4, harness.options().quick ? 3 : 15, [&](int) {
    (void)harness.queue().copy(to_host ? host.data() : device.data(),
                               to_host ? device.data() : host.data(), bytes);
  });
  const auto rates = gigabytes_per_s(seconds, static_cast<double>(bytes));
  harness.report().line(name, summarize(rates), "+GB/s");
}

}  // namespace

void run_paths(Harness& harness) {
  constexpr std::int64_t kKiB = 1024;
  for (const std::int64_t bytes : {64 * kKiB, 1024 * kKiB, 16384 * kKiB}) {
    run_copy(harness, bytes, true);
    run_copy(harness, bytes, false);
  }
  for (const bool pack : {true, false}) {
    for (const std::int64_t payload : {64 * kKiB, 1024 * kKiB, 16384 * kKiB}) {
      for (const std::int64_t block :
           {std::int64_t{8}, std::int64_t{64}, std::int64_t{512}, 4 * kKiB, 32 * kKiB}) {
        run_rows(harness, block, payload, MemoryKind::Pinned, pack, CopyVariant::Kernel);
        // Engines take each row as a copy of its own: below this they need milliseconds.
        if (block >= 512) {
          run_rows(harness, block, payload, MemoryKind::Pinned, pack, CopyVariant::Engine);
          run_rows(harness, block, payload, MemoryKind::Device, pack, CopyVariant::Engine);
          run_rows(harness, block, payload, MemoryKind::Device, pack, CopyVariant::Kernel);
        }
      }
    }
  }
}

}  // namespace bench
