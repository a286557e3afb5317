/// \file  Host memory in the place of a buffer that the MPI library does not reach: the same
/// elements at the same distances, so that the library's call takes it with the program's own
/// count, datatype and displacements. (Packed bytes would not do: an operation of the program's
/// sees its datatype, and Open MPI cuts a message by the size of its datatype, alike on all ranks.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/transport/packing.hpp"
#include "memory/pool.hpp"
#include "strake/layout.hpp"

namespace strake::interpose {

/// Addresses of host memory, of which only the pages that are written take memory.
class ReservedSpan {
 public:
  /// \throws OutOfMemory
  explicit ReservedSpan(std::int64_t bytes);
  ~ReservedSpan();
  ReservedSpan(const ReservedSpan&) = delete;
  ReservedSpan& operator=(const ReservedSpan&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// One thread at a time.
class Mirror {
 public:
  /// Takes the memory for the mirror of `typed`, which lies in a device's memory, all or in part.
  /// It has all bytes of `reach`, from the buffer's address on, whether elements lie there or not.
  /// \throws OutOfMemory, CudaError
  Mirror(exchange::Typed typed, ByteRange reach);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  /// The MPI library gets it in place of the buffer's address. It may lie outside of the mirror,
  /// as the buffer's address may lie outside of the elements.
  [[nodiscard]] void* address() const noexcept { return base_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return typed_.elements->size_bytes(); }
  /// Before each use of a buffer that is written: copy_back() follows what the device's default
  /// stream holds now, and nothing that comes later. \throws CudaError
  void mark();
  /// \{ Copies the elements' bytes `part`, in packed order, to the mirror, or back. The copy has
  /// ended when they return. \throws OutOfMemory, Unsupported, CudaError
  void copy_in(ByteRange part);
  void copy_back();
  /// \}

 private:
  void copy(machine::MessageDirection direction, ByteRange part);
  void copy_mixed(machine::MessageDirection direction, ByteRange part);

  exchange::Typed typed_;
  PoolBlock block_;
  std::optional<ReservedSpan> span_;  ///< in place of the block where the elements lie far apart
  bool pinned_ = false;
  std::byte* base_ = nullptr;
  std::uint64_t mark_ = 0;
};

}  // namespace strake::interpose
