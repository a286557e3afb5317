/// \file  Memory that other processes can map, without a name in any file system: it goes when the
/// last process that has it ends, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/sharing/descriptor.hpp"

namespace strake::sharing {

class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  /// Zeroes, of which none is taken from the machine before it is populated or touched.
  /// \throws OutOfMemory  no descriptor, or no address range, is left
  [[nodiscard]] static SharedMemory make(std::int64_t bytes);
  /// In pages of `page` bytes, a power of two: all taken at once from the system's pool of such
  /// pages (hugetlb), where it has enough of them, and Linux is 5.14 or later. Else ordinary pages,
  /// which the kernel is asked to join into huge ones (shmem_enabled). It is as long as whole
  /// pages. \throws OutOfMemory
  [[nodiscard]] static SharedMemory make_in_pages(std::int64_t bytes, std::int64_t page);
  enum class Access : std::uint8_t { Read, ReadWrite };
  /// Maps what another process made. The descriptor stays the caller's.
  /// \throws InvalidArgument it has another size, or may shrink, which would be fatal here;
  /// OutOfMemory
  [[nodiscard]] static SharedMemory map(int descriptor, std::int64_t bytes,
                                        Access access = Access::ReadWrite);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// The pages that came from the system's pool of huge ones; 0: ordinary ones. [bytes]
  [[nodiscard]] std::int64_t pool_page() const noexcept { return pool_page_; }
  /// To be given to other processes; negative where it was mapped.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// Brings the pages of [begin, end) into this process, so that no touch of them waits, or kills
  /// the process for want of memory. False: there is no memory for them. Cost: a bit for each 64
  /// KiB that are there already.
  [[nodiscard]] bool populate(std::int64_t begin, std::int64_t end);
  /// Gives all pages back to the machine, also those that other processes have mapped: these read
  /// zeroes from then on. For memory that was made here.
  void discard() noexcept { discard(0, bytes_); }
  /// Gives the whole pages in [begin, end) back.
  void discard(std::int64_t begin, std::int64_t end) noexcept;

 private:
  SharedMemory(std::byte* data, std::int64_t bytes, FileDescriptor descriptor);

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  FileDescriptor descriptor_;
  std::vector<bool> populated_;  ///< by chunks
  std::int64_t pool_page_ = 0;
};

}  // namespace strake::sharing
