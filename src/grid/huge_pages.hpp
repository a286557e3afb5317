/// \file  Memory of this process alone, in huge pages where the kernel has some. The kernel gives
/// memory that processes share small pages (transparent_hugepage/shmem_enabled is `never` unless
/// the machine's administrator says otherwise).
#pragma once

#include <cstddef>
#include <cstdint>

namespace strake::grid {

class HugePages {
 public:
  static constexpr std::int64_t kPage = 2 << 20;
  /// Arrays from this size on gain: loops over 64^3 doubles take as long in small pages, those over
  /// 96^3 and 128^3 5 to 11 % longer. [bytes]
  static constexpr std::int64_t kShortest = 2 * kPage;

  HugePages() noexcept = default;
  /// Whole huge pages of zeroes, each on the NUMA node of the thread that touches it first.
  /// \throws OutOfMemory
  explicit HugePages(std::int64_t bytes);
  HugePages(HugePages&& other) noexcept;
  HugePages& operator=(HugePages&& other) noexcept;
  ~HugePages();
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace strake::grid
