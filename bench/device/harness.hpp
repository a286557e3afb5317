/// \file  Device memory, device time, and the two ceilings that every device benchmark is compared
/// with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "copy/device_copier.hpp"
#include "support/device.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/statistics.hpp"
#include "support/traffic.hpp"

namespace bench {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Ends the process with a message if `condition` is false: a wrong answer is never timed.
void require(bool condition, const char* what,
             std::source_location where = std::source_location::current());

/// Device or pinned memory, and what the library knows of it.
class Memory : public DeviceMemory {
 public:
  Memory(strake::MemoryKind kind, std::int64_t bytes, int device = 0)
      : DeviceMemory(kind == strake::MemoryKind::Device ? Where::Device : Where::Pinned, bytes,
                     device),
        place_{kind, device} {}
  [[nodiscard]] strake::Place place() const { return place_; }
  /// Bytes that differ from place to place and from seed to seed.
  void fill(unsigned seed);

 private:
  strake::Place place_;
};

/// Shared means of the benchmarks: the back end, a queue, the report, and the device's ceilings.
class Harness {
 public:
  Harness(const Options& options, const Report& report);
  ~Harness();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] strake::DeviceBackend& backend() const { return *backend_; }
  [[nodiscard]] strake::DeviceCopier& copier() const { return *strake::device_copier(); }
  [[nodiscard]] strake::Queue& queue() const { return *queue_; }

  /// Device seconds of one call of `enqueue(i)`: `calls` of them between two events, all queued
  /// before the first may start, so that only the device's own time counts. The work may be on any
  /// blocking stream.
  [[nodiscard]] std::vector<double> device_seconds(int calls, int samples,
                                                   const std::function<void(int)>& enqueue) const;
  /// One sample of that, on a stream of the current device. Not `held`: the first call may start at
  /// once, so that the host's time counts where it is the longer one.
  [[nodiscard]] double device_sample(int calls, cudaStream_t stream, bool held,
                                     const std::function<void(int)>& enqueue) const;

  /// Bytes read plus bytes written per second of a large contiguous copy.
  [[nodiscard]] double copy_rate() const { return copy_rate_; }
  /// Bytes that a touch of one word brings in, to the next power of two.
  [[nodiscard]] std::int64_t granularity() const { return granularity_; }

 private:
  void measure_ceilings();

  const Options& options_;
  const Report& report_;
  strake::DeviceBackend* backend_ = nullptr;
  std::unique_ptr<strake::Queue> queue_;
  int* release_ = nullptr;
  double copy_rate_ = 0;
  std::int64_t granularity_ = 0;
};

/// Bytes that must cross to or from device memory, whose lines are `granularity` long, in a pack or
/// an unpack.
inline double crossing_bytes(const strake::Layout& layout, std::int64_t granularity, bool pack) {
  const Traffic traffic = traffic_of_layout(layout, granularity);
  return static_cast<double>(pack ? traffic.pack_bytes() : traffic.unpack_bytes());
}

/// Checks that packing (then unpacking elsewhere) gives the bytes that the layout's blocks name.
void check_answer(Harness& harness, const strake::Layout& layout, const Memory& strided,
                  const Memory& dense, strake::CopyVariant variant);

/// A plan that packs a layout of `strided` into `dense`, or unpacks it. The memories must outlive
/// it.
class Packing {
 public:
  Packing(Harness& harness, bool pack, const strake::Layout& layout, const Memory& strided,
          const Memory& dense, strake::CopyVariant variant = strake::CopyVariant::Auto);
  [[nodiscard]] std::string description() const { return plan_->description(); }
  /// \{ For memory that lies so many bytes behind the begin of either.
  void enqueue_untracked(std::int64_t strided_at = 0, std::int64_t dense_at = 0) const {
    const auto [to, from] = ends(strided_at, dense_at);
    plan_->enqueue_untracked(queue_, to, from, strake::ByteRange::all());
  }
  strake::Ticket enqueue(std::int64_t strided_at = 0, std::int64_t dense_at = 0) const {
    const auto [to, from] = ends(strided_at, dense_at);
    return plan_->enqueue(queue_, to, from, strake::ByteRange::all());
  }
  /// \}

 private:
  [[nodiscard]] std::pair<std::byte*, std::byte*> ends(std::int64_t strided_at,
                                                       std::int64_t dense_at) const {
    std::byte* const a = strided_ + strided_at;
    std::byte* const b = dense_ + dense_at;
    return pack_ ? std::pair(b, a) : std::pair(a, b);
  }
  strake::Queue& queue_;
  bool pack_;
  std::byte* strided_;
  std::byte* dense_;
  std::unique_ptr<strake::DevicePlan> plan_;
};

/// The benchmarks.
void run_strided(Harness& harness);
void run_shapes(Harness& harness);
void run_latency(Harness& harness);
void run_paths(Harness& harness);
void run_batch(Harness& harness);

}  // namespace bench
