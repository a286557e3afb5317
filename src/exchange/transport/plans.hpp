/// \file  The plans and choices made so far for packing and unpacking some elements of a datatype.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exchange/transport/launch_batcher.hpp"
#include "machine/message.hpp"
#include "mpi/elements.hpp"
#include "strake/copy.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {

using machine::MessageDirection;

/// Plans are added under a lock and never removed: threads share one object.
class Plans final : public mpi::Companion {
 public:
  /// `layout` outlives this object.
  explicit Plans(const Layout& layout) noexcept : layout_(layout) {}

  /// Send: layout at `typed` → dense at `packed`; Receive: the other way. Compiled at first use,
  /// then ~2 ns for host memory.
  /// \throws Unsupported, OutOfMemory, CudaError
  const CopyPlan& plan(MessageDirection direction, Place typed, Place packed);

  /// As plan(), on a device or between its memory and pinned memory, for a launch of several.
  /// \throws as compile_device_copy()
  DeviceCopy device_copy(MessageDirection direction, Place typed, Place packed);

  /// Send: layout at `typed` → the same layout in pageable host memory; Receive: the other way.
  /// \throws Unsupported, OutOfMemory, CudaError
  const CopyPlan& mirrored(MessageDirection direction, Place typed);

  /// The choice made for messages of these elements at `place`; 0: none so far. A choice depends on
  /// the kind of memory, not on whose it is.
  [[nodiscard]] std::atomic<std::uint32_t>& choice(MessageDirection direction, Place place,
                                                   bool nonblocking) noexcept {
    return choices_[static_cast<std::size_t>(place.kind)][static_cast<std::size_t>(direction)]
                   [nonblocking ? 1 : 0];
  }

  /// Time that packing saves, sampled once for the summary: the MPI library's less Strake's. [ns]
  static constexpr std::int64_t kNotSampled = INT64_MIN;
  std::atomic<std::int64_t> saved_ns{kNotSampled};

 private:
  enum class Form : std::uint8_t { Packed, Together, Mirrored };
  struct Compiled {
    MessageDirection direction;
    Place typed;
    Place packed;
    Form form;
    std::unique_ptr<const CopyPlan> plan;
    DeviceCopy copy;  ///< instead of `plan`, if Together
  };
  const Compiled* find(MessageDirection direction, Place typed, Place packed, Form form) const;

  const Layout& layout_;
  std::atomic<const CopyPlan*> host_[2] = {nullptr, nullptr};
  static constexpr std::size_t kMemoryKinds = 4;
  std::atomic<std::uint32_t> choices_[kMemoryKinds][2][2] = {};
  std::mutex mutex_;
  std::vector<Compiled> compiled_;
};

[[nodiscard]] inline Plans& plans_of(mpi::Elements& elements) {
  return elements.companion<Plans>();
}

}  // namespace strake::exchange
