/// \file  Copies: a plan is compiled once from two layouts and two places, and run many times,
/// whole or in part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "strake/layout.hpp"
#include "strake/memory.hpp"
#include "strake/queue.hpp"

namespace strake {

/// A layout compiled for one pair of memories: the fewest launches that move its bytes. Packing is
/// dense ← layout, unpacking layout ← dense. Immutable once made: threads may share one plan.
class CopyPlan {
 public:
  /// Local (no communication). Host-only plans need no device. Byte i of `from` in packed order
  /// becomes byte i of `to`. \throws InvalidArgument  the two sizes differ. \throws Unsupported no
  /// back end reaches both memories.
  static CopyPlan compile(const Layout& to, Place to_place, const Layout& from, Place from_place);

  CopyPlan();
  CopyPlan(CopyPlan&&) noexcept;
  CopyPlan& operator=(CopyPlan&&) noexcept;
  ~CopyPlan();

  /// Bytes moved by a whole run. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// The back end, the kernel and the word size, for people ("cpu box 24B avx512", "cuda box 8B
  /// words").
  [[nodiscard]] std::string description() const;
  /// "cpu", "cuda".
  [[nodiscard]] const char* backend() const noexcept;

  /// Moves the packed bytes `part` and returns when `to` is complete and `from` reusable. `to` and
  /// `from` are the base addresses of the layouts. \throws CudaError
  void run(std::byte* to, const std::byte* from, ByteRange part = ByteRange::all()) const;
  /// Enqueues the same on `queue` (of the device that the plan was compiled for) and returns at
  /// once; `to` is complete and `from` reusable once the ticket is done. Host-only plans run at
  /// once and give a ticket that is done.
  Ticket enqueue(Queue& queue, std::byte* to, const std::byte* from,
                 ByteRange part = ByteRange::all()) const;

  class Impl;
  /// Only for the library itself; null for a plan of no bytes.
  [[nodiscard]] const Impl* impl() const noexcept { return impl_.get(); }

 private:
  explicit CopyPlan(std::unique_ptr<const Impl> impl) noexcept;
  std::unique_ptr<const Impl> impl_;
};

/// One copy of a batch.
struct CopyItem {
  const CopyPlan* plan = nullptr;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
};

/// Runs many different copies, on a device in one launch. Returns when all are complete. All plans
/// must have one back end. \throws InvalidArgument  plans of different back ends or devices.
void run_batch(std::span<const CopyItem> items);

}  // namespace strake
