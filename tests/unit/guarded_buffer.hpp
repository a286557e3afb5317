/// \file  Memory between pages that may not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <vector>

namespace strake {

/// Memory whose first and last byte are each next to a page that may not be touched (one of them
/// exactly).
class GuardedBuffer {
 public:
  GuardedBuffer(std::int64_t bytes, bool flush_end) : bytes_(bytes) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    pages_ = (bytes + page - 1) / page * page;
    mapped_ = static_cast<std::byte*>(mmap(nullptr, static_cast<std::size_t>(pages_ + 2 * page),
                                           PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mapped_ == MAP_FAILED ||
        mprotect(mapped_ + page, static_cast<std::size_t>(pages_), PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    mapped_bytes_ = pages_ + 2 * page;
    data_ = mapped_ + page + (flush_end ? pages_ - bytes : 0);
  }
  ~GuardedBuffer() { munmap(mapped_, static_cast<std::size_t>(mapped_bytes_)); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }
  void fill(std::mt19937_64& random) const {
    for (std::int64_t i = 0; i < bytes_; i += 8) {
      const std::uint64_t eight = random();
      std::memcpy(data_ + i, &eight,
                  static_cast<std::size_t>(std::min<std::int64_t>(8, bytes_ - i)));
    }
  }
  std::vector<std::byte> contents() const { return {data_, data_ + bytes_}; }

 private:
  std::int64_t bytes_, pages_ = 0, mapped_bytes_ = 0;
  std::byte* mapped_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace strake
