/// \file  The two ends of a message whose bytes do not travel from where they lie: packed before
/// they leave, unpacked after they came. One at a time per object; objects are independent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/plans.hpp"
#include "machine/method.hpp"
#include "memory/pool.hpp"

namespace strake::exchange {

using machine::Method;

/// What the user named: `elements` at `address`.
struct Typed {
  mpi::ElementsPtr elements;
  std::byte* address = nullptr;
  Place place;
  bool mixed = false;  ///< its blocks lie in several kinds of memory
};

/// A message's bytes on their way into memory that MPI can send from.
class Outgoing {
 public:
  /// Takes the memory it needs. Falls back to the next method, once, when memory runs out.
  /// \throws OutOfMemory
  Outgoing(const Typed& from, Method method);
  /// Packs (host memory), or starts to (device memory). Again after the message has left.
  /// \throws CudaError
  void pack();
  /// Whether all bytes are there. Polls; never blocks. \throws CudaError
  [[nodiscard]] bool ready();
  void wait();
  /// What MPI sends. Ready to be named by a Wire.
  [[nodiscard]] const void* data() noexcept;
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return from_.elements->size_bytes(); }
  /// Where MPI sends from.
  [[nodiscard]] MemoryKind memory() const noexcept { return buffer_.place().kind; }
  /// The method in use, after a fall-back perhaps.
  [[nodiscard]] Method method() const noexcept { return method_; }
  /// What MPI sends from is never used again: nobody will know when MPI is done with it.
  void leak() noexcept { buffer_.leak(); }

 private:
  Typed from_;
  Method method_;
  PoolBlock buffer_;  // MPI sends from here
  PoolBlock packed_;  // staged: packed bytes in device memory
  bool copy_queue_ = false;
  Ticket ticket_;
};

/// Memory that MPI can receive into, and the way from there to where the user wants the bytes.
class Incoming {
 public:
  /// \throws OutOfMemory
  Incoming(const Typed& to, Method method);
  [[nodiscard]] std::byte* data() const noexcept { return buffer_.data(); }
  /// [bytes] A longer message is truncated.
  [[nodiscard]] std::int64_t capacity_bytes() const noexcept { return to_.elements->size_bytes(); }
  [[nodiscard]] MemoryKind memory() const noexcept { return buffer_.place().kind; }
  [[nodiscard]] Method method() const noexcept { return method_; }
  /// Unpacks the first `bytes` (host memory), or starts to. \throws CudaError, OutOfMemory
  void unpack(std::int64_t bytes);
  [[nodiscard]] bool done();
  void wait();
  /// The same of what MPI receives into.
  void leak() noexcept { buffer_.leak(); }

 private:
  Typed to_;
  Method method_;
  PoolBlock buffer_;
  PoolBlock packed_;
  const CopyPlan* plan_ = nullptr;  // the shape's, where one is needed
  Ticket ticket_;
  bool copy_queue_ = false;
};

}  // namespace strake::exchange
