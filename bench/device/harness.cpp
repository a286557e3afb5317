#include "device/harness.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device/kernels.hpp"
#include "support/sampling.hpp"

namespace bench {
namespace {

// 16 times the largest L2 of today's devices.
constexpr std::int64_t kCeilingBytes = 1024 * kMiB;

Summary rates(const std::vector<double>& seconds, double bytes) {
  return summarize(gigabytes_per_s(seconds, bytes));
}

}  // namespace

void require(bool condition, const char* what, std::source_location where) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: %s\n", where.file_name(), where.line(), what);
  std::exit(1);
}

void Memory::fill(unsigned seed) {
  // One pattern of a prime length, repeated by doubling: no two blocks of the benchmarks agree by
  // chance alone.
  const std::int64_t chunk = std::min<std::int64_t>(size(), 16 * kMiB + 4099);
  std::vector<std::uint64_t> pattern(static_cast<std::size_t>(chunk / 8 + 1));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::uint64_t& word : pattern) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    word = state;
  }
  for (std::int64_t at = 0; at < size(); at += chunk) {
    check(cudaMemcpy(data() + at, pattern.data(),
                     static_cast<std::size_t>(std::min(chunk, size() - at)), cudaMemcpyDefault));
  }
}

Harness::Harness(const Options& options, const Report& report)
    : options_(options), report_(report) {
  check(cudaFree(nullptr));
  backend_ = strake::device_backend();
  require(backend_ != nullptr && strake::device_copier() != nullptr,
          "the device back end was not loaded");
  queue_ = backend_->make_queue(0);
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped));
  release_ = static_cast<int*>(memory);
  measure_ceilings();
}

Harness::~Harness() { check(cudaFreeHost(release_)); }

double Harness::device_sample(int calls, cudaStream_t stream, bool held,
                              const std::function<void(int)>& enqueue) const {
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  *static_cast<volatile int*>(release_) = 0;
  if (held) check(launch_hold(release_, stream));
  check(cudaEventRecord(begin, stream));
  for (int i = 0; i < calls; ++i) enqueue(i);
  check(cudaEventRecord(end, stream));
  *static_cast<volatile int*>(release_) = 1;
  check(cudaEventSynchronize(end));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end));
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return milliseconds * 1e-3 / calls;
}

std::vector<double> Harness::device_seconds(int calls, int samples,
                                            const std::function<void(int)>& enqueue) const {
  return sample_by_turns({Plan{calls, samples}}, {samples, 1},
                         [&](std::size_t /*which*/, const Plan& part, std::vector<double>& to) {
                           to.push_back(device_sample(part.calls, cudaStreamLegacy, true, enqueue));
                         })[0];
}

void Harness::measure_ceilings() {
  Memory from(strake::MemoryKind::Device, kCeilingBytes);
  const Memory to(strake::MemoryKind::Device, kCeilingBytes);
  from.fill(1);
  const auto copy = [&](int) {
    check(cudaMemcpyAsync(to.data(), from.data(), kCeilingBytes, cudaMemcpyDefault,
                          cudaStreamLegacy));
  };
  const std::vector<double> copies = device_seconds(4, 15, copy);
  copy_rate_ = 2.0 * kCeilingBytes / summarize(copies).median;
  report_.line("copy_contiguous", rates(copies, 2.0 * kCeilingBytes), "+GB/s");

  auto* const sink = reinterpret_cast<unsigned*>(to.data());
  const auto reads = device_seconds(
      4, 15, [&](int) { check(launch_read(from.data(), kCeilingBytes, sink, cudaStreamLegacy)); });
  const double read_rate = kCeilingBytes / summarize(reads).median;
  report_.line("read_contiguous", rates(reads, kCeilingBytes), "+GB/s");

  // Up to the granularity every byte is fetched, so a touch costs its whole pitch; past it a touch
  // costs less (though not only what is fetched: the memory's rows are opened for few bytes then).
  granularity_ = 32;
  for (const std::int64_t pitch : {32, 64, 128, 256, 512}) {
    const std::int64_t touches = kCeilingBytes / pitch;
    const auto touched = device_seconds(4, 15, [&](int) {
      check(launch_touch(from.data(), pitch, touches, sink, cudaStreamLegacy));
    });
    const double bytes = summarize(touched).median / static_cast<double>(touches) * read_rate;
    constexpr double kNearlyAll = 0.85;
    if (bytes >= kNearlyAll * static_cast<double>(pitch)) granularity_ = pitch;
    report_.line("touch_pitch_" + std::to_string(pitch), summarize(touched), "-s",
                 {{"bytes_per_touch", bytes}});
  }
  report_.line("fetch_granularity", summarize({static_cast<double>(granularity_)}), "bytes");
}

Packing::Packing(Harness& harness, bool pack, const strake::Layout& layout, const Memory& strided,
                 const Memory& dense, strake::CopyVariant variant)
    : queue_(harness.queue()), pack_(pack), strided_(strided.data()), dense_(dense.data()) {
  const strake::Layout packed = strake::Layout::dense(layout.size_bytes());
  plan_ = pack ? harness.copier().compile(packed, dense.place(), layout, strided.place(), variant)
               : harness.copier().compile(layout, strided.place(), packed, dense.place(), variant);
}

void check_answer(Harness& harness, const strake::Layout& layout, const Memory& strided,
                  const Memory& dense, strake::CopyVariant variant) {
  const Packing pack(harness, true, layout, strided, dense, variant);
  strake::Queue& queue = harness.queue();
  check(cudaMemset(dense.data(), 0xa5, static_cast<std::size_t>(layout.size_bytes())));
  queue.wait(pack.enqueue());
  const auto all = strided.read(0, layout.bounds().end);
  const auto result = dense.read(0, layout.size_bytes());
  std::int64_t p = 0;
  bool right = true;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    right = right && std::memcmp(all.data() + offset, result.data() + p,
                                 static_cast<std::size_t>(length)) == 0;
    p += length;
  });
  require(right, "packing gave wrong bytes");

  const Memory copy(strake::MemoryKind::Device, layout.bounds().end);
  check(cudaMemset(copy.data(), 0x5a, static_cast<std::size_t>(copy.size())));
  queue.wait(Packing(harness, false, layout, copy, dense, variant).enqueue());
  std::vector<std::byte> expected(all.size(), std::byte{0x5a});
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    std::memcpy(expected.data() + offset, all.data() + offset, static_cast<std::size_t>(length));
  });
  require(copy.read(0, copy.size()) == expected, "unpacking gave wrong bytes");
}

}  // namespace bench
