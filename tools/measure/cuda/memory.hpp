/// \file  Buffers of every kind of memory, and whether they hold what they must.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "measure/cuda/kernels.hpp"
#include "measure/host.hpp"

namespace strake::measure::cuda {

enum class Kind : std::uint8_t { Pageable, Pinned, WriteCombined, Device, Managed };

struct Where {
  Kind kind = Kind::Device;
  int device = 0;  ///< of device memory; for the others, the device that looks at their bytes
  /// NUMA node of pageable and pinned memory.
  int node = kAnyNode;
};

/// Seed of the pattern that is copied, unless a case has a seed of its own.
inline constexpr std::uint64_t kSeed = 8;

/// Memory for as long as it is in scope, present in full.
class Buffer {
 public:
  /// \throws OutOfMemory, CudaError, Unsupported  (no such node, or binding is not permitted)
  Buffer(Where where, std::int64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int device() const noexcept { return where_.device; }

  /// Writes pattern `seed`, all of it, and waits.
  void fill(std::uint64_t seed);
  /// \throws WrongData  the first `bytes` packed bytes are not those of the pattern. `what` names
  /// them in the error
  void expect(std::uint64_t seed, const std::string& what);
  void expect(std::int64_t bytes, Map data_map, std::uint64_t seed, Map pattern_map,
              const std::string& what);

 private:
  Where where_;
  std::int64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  std::unique_ptr<HostMemory> host_;  ///< whose pages are the program's own
  bool registered_ = false;
};

using SharedBuffer = std::shared_ptr<Buffer>;
inline SharedBuffer make_buffer(Where where, std::int64_t bytes) {
  return std::make_shared<Buffer>(where, bytes);
}

}  // namespace strake::measure::cuda
