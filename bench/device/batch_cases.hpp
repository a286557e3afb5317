/// \file  Cases of batches: the halo regions of grids and other copies between slots, and their
/// check on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/harness.hpp"
#include "device/variants.hpp"
#include "strake/copy.hpp"
#include "strake/stream.hpp"
#include "support/block_shape.hpp"

namespace bench {

/// Which of the 26 regions.
enum class Regions { All, XFaces, YzFaces };
[[nodiscard]] const char* name_of(Regions regions);

/// One allocation for each field.
using GridMemory = std::vector<std::unique_ptr<Memory>>;
[[nodiscard]] GridMemory make_memory(const BlockShape& grid, int device);

/// Copies between slots, and two sets of addresses. Calls use them by turns: so little is still in
/// the cache from the call before.
struct BatchCase {
  std::vector<strake::CopyBatch::Slot> slots;
  std::vector<strake::CopyBatch::Copy> copies;
  std::array<std::vector<std::byte*>, 2> bases;
  /// Bytes that must be read from and written to memory: lines of 64 bytes and sectors of 32.
  std::int64_t crossing_bytes = 0;
  [[nodiscard]] std::int64_t payload_bytes() const;
};

/// Bytes of the regions at the border of the interior, of all fields.
[[nodiscard]] std::int64_t halo_bytes(const BlockShape& grid, Regions regions);
/// Copies of these regions of grid `a` (or `b`) to a dense run in `dense_a` (or `dense_b`).
[[nodiscard]] BatchCase halo_to_dense(const BlockShape& grid, Regions regions, const GridMemory& a,
                                      const GridMemory& b, const Memory& dense_a,
                                      const Memory& dense_b);
/// Copies of these regions of grid `a` to the opposite ghost regions of grid `b`; the second set of
/// addresses swaps the grids if both are on one device.
[[nodiscard]] BatchCase halo_to_halo(const BlockShape& grid, Regions regions, const GridMemory& a,
                                     const GridMemory& b);

/// The copies as one batch of the stream's device. The stream must outlive it.
[[nodiscard]] Variant batch_variant(const std::string& name, strake::Stream& stream,
                                    const BatchCase& batch, int calls);

/// Compares what a variant does with what a case says: bytes copied, and no others written.
class Checker {
 public:
  /// For slots of up to so many bytes.
  explicit Checker(std::int64_t slot_bytes);
  /// Ends the process if a byte is wrong.
  void check_answer(const BatchCase& batch, const Variant& variant) const;

 private:
  Memory to_;
  Memory from_;
};

/// The part for two devices; its tables, for the end.
[[nodiscard]] std::vector<TitledTable> run_batch_peer(Harness& harness);

}  // namespace bench
