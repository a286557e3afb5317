/// \file  Page-aligned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace bench {

/// Uninitialised bytes that start on a page, so that a cache line of the buffer is a cache line of
/// the machine.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes)
      : data_(static_cast<std::byte*>(
            ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{4096}))) {}
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{4096}); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace bench
