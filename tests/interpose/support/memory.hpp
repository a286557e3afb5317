/// \file  Test buffers in host memory, or in device memory when the program was started with
/// --device: of cudaMalloc, unless TEST_MEMORY names another kind (memory_kinds.hpp), or is "any",
/// for one kind after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace test_memory {

/// Whether buffers made from now on lie in device memory.
inline bool& on_device() {
  static bool device = false;
  return device;
}
/// From now on they do; ranks share the devices round robin. False where the program was linked
/// without CUDA or no device is present.
bool use_device(int rank);
/// The current device.
int device();
/// The number of devices.
int devices();
/// \{ Device memory; none where the program was linked without CUDA, or it is host memory's turn.
void* allocate(std::size_t bytes);
void release(void* address);
/// Frees the first piece of memory of cuMemMap and maps another there; other memory stays.
void renew(void* address);
void copy(void* to, const void* from, std::size_t bytes);
/// \}
/// Bytes in use on the current device, by all processes; 0: not known.
std::size_t device_bytes_in_use();
/// All that the process has on the device is gone, as by cudaDeviceReset.
void reset_device();
/// \{ Functions of the stand-in for a device; with others they do nothing.
/// How often Strake asked it what lies at an address, or gave it some work.
long driver_uses();
/// Device memory in place of host memory, until the program ends.
void allocate_at(void* address, std::size_t bytes);
/// \}
/// \{ Work in the device's default stream; in host memory it is done at once.
/// Sets bytes, some milliseconds later.
void set_late(void* address, unsigned char value, std::size_t bytes);
/// Holds up what the stream gets from now on, until let_go().
void hold_up();
void let_go();
/// Waits for that work.
void finish_work();
/// \}

/// `count` elements of T, all equal to `value` at first. Its address stays the same for its life.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count, T value = T{}) : host_(count, value) {
    if (!on_device()) return;
    device_ = allocate(count * sizeof(T) + 1);  // + 1: an empty one has an address
    set(host_);
  }
  ~Buffer() {
    if (device_ != nullptr) release(device_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept
      : host_(std::move(other.host_)), device_(std::exchange(other.device_, nullptr)) {}

  /// The address that MPI gets.
  T* data() { return device_ != nullptr ? static_cast<T*>(device_) : host_.data(); }
  std::size_t count() const { return host_.size(); }

  /// The present contents.
  const std::vector<T>& get() {
    if (device_ != nullptr) copy(host_.data(), device_, host_.size() * sizeof(T));
    return host_;
  }
  void set(const std::vector<T>& values) {
    if (&values != &host_) std::copy(values.begin(), values.end(), host_.begin());
    if (device_ != nullptr) copy(device_, host_.data(), host_.size() * sizeof(T));
  }
  void fill(T value) {
    std::fill(host_.begin(), host_.end(), value);
    set(host_);
  }
  /// Lets `change` have the present contents, and sets what it makes of them.
  template <class Change>
  void change(const Change& change) {
    get();
    change(host_);
    set(host_);
  }
  /// Other memory at the same address, if that can be had, with the same contents.
  void renew() {
    if (device_ == nullptr) return;
    const std::vector<T> contents = get();
    test_memory::renew(device_);
    set(contents);
  }

 private:
  std::vector<T> host_;
  void* device_ = nullptr;
};

}  // namespace test_memory
