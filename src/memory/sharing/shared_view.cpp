#include "memory/sharing/shared_view.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "strake/error.hpp"

namespace strake::sharing {

std::int64_t page_bytes() noexcept { return sysconf(_SC_PAGESIZE); }

bool may_be_page(std::int64_t bytes) noexcept {
  return bytes >= page_bytes() && bytes <= kLargestPage &&
         std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

namespace {

/// Addresses that nothing is mapped to, from a page's begin on; null, and errno: there are none.
std::byte* reserve(std::int64_t bytes, std::int64_t page) noexcept {
  const std::int64_t more = page > page_bytes() ? page : 0;
  void* const found = mmap(nullptr, static_cast<std::size_t>(bytes + more), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* const all = static_cast<std::byte*>(found);
  if (more == 0) return all;
  const auto before = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(all) &
                                                static_cast<std::uintptr_t>(page - 1));
  if (before > 0) (void)munmap(all, static_cast<std::size_t>(before));
  if (before < more) (void)munmap(all + before + bytes, static_cast<std::size_t>(more - before));
  return all + before;
}

}  // namespace

SharedView::SharedView(int descriptor, std::span<const Range> ranges, std::int64_t page) {
  page = std::max(page, page_bytes());
  std::int64_t all = 0;
  for (const Range& range : ranges) {
    if (range.begin < 0 || range.bytes < 0 || range.begin % page != 0 || range.bytes % page != 0)
      throw InvalidArgument(fmt::format("a view of {} bytes from byte {} on, with pages of {}",
                                        range.bytes, range.begin, page));
    all += range.bytes;
  }
  if (all == 0) return;
  const auto failed = [&] {
    return OutOfMemory(fmt::format("a view of {} bytes in {} ranges: {}", all, ranges.size(),
                                   std::strerror(errno)));
  };
  // The kernel chooses the address; the ranges then replace what was reserved there.
  data_ = reserve(all, page);
  if (data_ == nullptr) throw failed();
  bytes_ = all;
  std::byte* at = data_;
  for (const Range& range : ranges) {
    if (range.bytes == 0) continue;
    if (mmap(at, static_cast<std::size_t>(range.bytes), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, descriptor, range.begin) == MAP_FAILED) {
      const OutOfMemory error = failed();
      (void)munmap(data_, static_cast<std::size_t>(bytes_));
      throw error;
    }
    at += range.bytes;
  }
  if (page > page_bytes()) (void)madvise(data_, static_cast<std::size_t>(all), MADV_HUGEPAGE);
}

SharedView::SharedView(SharedView&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedView& SharedView::operator=(SharedView&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedView::~SharedView() {
  if (data_ != nullptr) (void)munmap(data_, static_cast<std::size_t>(bytes_));
}

Mappings mappings() noexcept {
  Mappings found;
  try {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++found.now;
    std::ifstream("/proc/sys/vm/max_map_count") >> found.most;
  } catch (const std::exception&) {
    // Not known: nothing is refused.
  }
  return found;
}

bool are_few(std::int64_t needed, const Mappings& mappings) noexcept {
  return mappings.most <= 0 || mappings.now + needed <= mappings.most - mappings.most / 10;
}

void require_mappings(std::int64_t needed, const Mappings& mappings) {
  if (!are_few(needed, mappings))
    throw Unsupported(
        fmt::format("views that take {} mappings: this process has {} of at most {} "
                    "(vm.max_map_count), of which a tenth is left to others",
                    needed, mappings.now, mappings.most));
}

}  // namespace strake::sharing
