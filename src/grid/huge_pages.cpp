#include "grid/huge_pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <utility>

#include "strake/error.hpp"

namespace strake::grid {

HugePages::HugePages(std::int64_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
  const auto unmap = [](std::byte* begin, const std::byte* end) {
    if (begin != end) munmap(begin, static_cast<std::size_t>(end - begin));
  };
  const std::int64_t enough = bytes_ + kPage;  // a huge page begins in the first of these
  void* const mapped = mmap(nullptr, static_cast<std::size_t>(enough), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw OutOfMemory(fmt::format("no memory for an array of {} bytes", bytes));
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % kPage);
  data_ = begin + (kPage - past) % kPage;
  unmap(begin, data_);
  unmap(data_ + bytes_, begin + enough);
  (void)madvise(data_, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
}

HugePages::HugePages(HugePages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HugePages& HugePages::operator=(HugePages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HugePages::~HugePages() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

}  // namespace strake::grid
