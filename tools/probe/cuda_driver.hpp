/// \file  The few functions of NVIDIA's driver that device buffers need, loaded at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strake::probe {

/// The driver's devices, of this process. Nothing is created on a device before `use`.
class CudaDriver {
 public:
  /// Null if there is no driver, or no device.
  [[nodiscard]] static CudaDriver* find() noexcept;

  [[nodiscard]] int devices() const noexcept { return devices_; }
  /// Makes device `ordinal` (modulo their number) this thread's, by its primary context, which the
  /// CUDA runtime shares. For one thread of the process.
  /// \throws CudaError
  void use(int ordinal);
  /// \{ On the device in use. \throws CudaError
  [[nodiscard]] std::uint64_t allocate(std::size_t bytes);
  void to_device(std::uint64_t to, const void* from, std::size_t bytes) const;
  void to_host(void* to, std::uint64_t from, std::size_t bytes) const;
  /// \}
  /// Keeps it for a later `allocate`. Memory is never given back to the driver: some MPI libraries
  /// do not notice that, and apply what they know of the old memory to new memory at its address.
  void release(std::uint64_t memory) noexcept;

 private:
  CudaDriver() noexcept;
  void check(int code, const char* function) const;

  struct Block {
    std::uint64_t memory;
    std::size_t bytes;
    int device;
    bool used;
  };

  int devices_ = 0;
  int device_ = 0;  // in use
  std::vector<Block> blocks_;
  int (*get_error_string_)(int, const char**) = nullptr;
  int (*device_get_)(int*, int) = nullptr;
  int (*retain_)(void**, int) = nullptr;
  int (*set_current_)(void*) = nullptr;
  int (*allocate_)(std::uint64_t*, std::size_t) = nullptr;
  int (*to_device_)(std::uint64_t, const void*, std::size_t) = nullptr;
  int (*to_host_)(void*, std::uint64_t, std::size_t) = nullptr;
};

}  // namespace strake::probe
