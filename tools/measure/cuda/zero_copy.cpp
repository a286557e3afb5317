/// \file  Mapped host memory, read and written by kernels, and custom kernels that copy to and from
/// it.
#include "measure/cuda/cases.hpp"
#include "measure/cuda/links.hpp"
#include "measure/cuda/traffic.hpp"

namespace strake::measure::cuda {
namespace {

constexpr std::int64_t kSizes[] = {64, KiB, 16 * KiB, 256 * KiB, 4 * MiB, 64 * MiB, 512 * MiB};
constexpr std::int64_t kQuickSize = 64 * MiB;

}  // namespace

void add_zero_copy(Cases& cases) {
  const Where host{Kind::Pinned};
  const Where device{Kind::Device};
  const double link = host_link(0);
  const double memory = memory_rate(0);
  for (const std::int64_t bytes : kSizes) {
    const auto put = [&](const char* name, std::int64_t moved, double limit, Make make) {
      Case& added = add(cases, name, moved, std::move(make));
      added.quick = bytes == kQuickSize;
      added.limit = limit;
    };
    put("gpu/zero-copy/read-host", bytes, link, [=] { return make_read(0, host, bytes); });
    put("gpu/zero-copy/write-host", bytes, link, [=] { return make_write(0, host, bytes); });
    put("gpu/zero-copy/host/both-ways", 2 * bytes, 2 * link,
        [=] { return make_read_and_write(0, host, bytes); });
    put("gpu/kernel/host-to-device", bytes, link,
        [=] { return make_kernel_copy(0, device, host, bytes); });
    put("gpu/kernel/device-to-host", bytes, link,
        [=] { return make_kernel_copy(0, host, device, bytes); });
    put("gpu/kernel/read-local", bytes, memory, [=] { return make_read(0, device, bytes); });
    put("gpu/kernel/write-local", bytes, memory, [=] { return make_write(0, device, bytes); });
    put("gpu/kernel/local", bytes, memory / 2,
        [=] { return make_kernel_copy(0, device, device, bytes); });
  }
}

}  // namespace strake::measure::cuda
