/// \file  Collectives on the memory of a device, with an MPI library that does not reach it: this
/// rank gives the library's own call a mirror in host memory (interpose/mirror.hpp) for each of its
/// buffers that lies in a device's memory. Other ranks need not know.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "device/backend.hpp"
#include "device/loaded_objects.hpp"
#include "exchange/choice/choice.hpp"
#include "interpose/collective_shapes.hpp"
#include "interpose/counters.hpp"
#include "interpose/mirror.hpp"
#include "interpose/request_work.hpp"

namespace strake::interpose {

/// Whether buffers may lie in memory that the MPI library does not reach. One load in a process
/// that uses no device.
inline bool device_is_out_of_reach() noexcept {
  return !no_object_since() && device_backend() != nullptr && !exchange::mpi_is_gpu_aware();
}

/// One argument of a call, which it points to: a number, an address, a handle, or an array.
class Argument {
 public:
  template <typename T>
  explicit Argument(const T& value) noexcept : value_(&value), bytes_(sizeof value) {
    using Element = std::remove_pointer_t<T>;
    if constexpr (std::is_pointer_v<T> && std::is_integral_v<Element>)
      element_bytes_ = sizeof(Element);
  }
  template <typename T>
  [[nodiscard]] const T& as() const noexcept {
    return *static_cast<const T*>(value_);
  }
  /// Whether the argument is an array of numbers.
  [[nodiscard]] bool is_array() const noexcept { return element_bytes_ != 0; }
  [[nodiscard]] std::int64_t number() const noexcept { return number_at(value_, bytes_); }
  /// Element `i` of an array of numbers.
  [[nodiscard]] std::int64_t number(std::int64_t i) const noexcept {
    const std::byte* const first = as<const std::byte*>();
    return number_at(first + i * static_cast<std::int64_t>(element_bytes_), element_bytes_);
  }

 private:
  static std::int64_t number_at(const void* at, std::size_t bytes) noexcept {
    return bytes == sizeof(int) ? *static_cast<const int*>(at)
                                : *static_cast<const std::int64_t*>(at);
  }
  const void* value_;
  std::size_t bytes_;
  std::size_t element_bytes_ = 0;
};

/// The mirrors of a call's buffers. A persistent one is used again at each start.
class Staged final : public RequestWork {
 public:
  /// A buffer that has a mirror.
  struct Buffer {
    Buffer(exchange::Typed typed, ByteRange reach, ByteRange bytes_read, bool is_written)
        : mirror(std::move(typed), reach), read(bytes_read), written(is_written) {}
    Mirror mirror;
    ByteRange read;  ///< what the call needs of the bytes that it has before, in packed order
    bool written;
  };

  Staged(Function function, MPI_Comm comm) noexcept : function_(function), comm_(comm) {}
  /// Gives the mirrors up for lost if the call has failed: Open MPI's failed calls leave messages
  /// that read and write them later.
  ~Staged() override;
  std::unique_ptr<Buffer> sent;
  std::unique_ptr<Buffer> received;

  [[nodiscard]] Function function() const noexcept { return function_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  /// Counts the call, and copies what it reads. \throws OutOfMemory, Unsupported, CudaError
  void begin() override;
  /// Copies what it has written. \throws as begin()
  void end() override;

 private:
  Function function_;
  MPI_Comm comm_;
  bool begun_ = false;  ///< and not ended
};

/// How often a call's mirrors are used.
enum class Uses : std::uint8_t {
  One,
  Many,  ///< MPICH 4.0 does not write all of what some persistent collectives receive
};

/// The mirrors that a call with these arguments needs; null: it needs none.
/// \throws MpiError  after raising the error: a datatype of elements in a device's memory can't be
/// decoded, or the MPI library refuses the communicator; OutOfMemory, Unsupported, CudaError
[[nodiscard]] std::unique_ptr<Staged> stage(Function function, const CollectiveShape& shape,
                                            std::span<const Argument> arguments, Uses uses);

}  // namespace strake::interpose
