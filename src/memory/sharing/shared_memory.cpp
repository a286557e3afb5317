#include "memory/sharing/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "memory/sharing/memory_file.hpp"
#include "strake/error.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace strake::sharing {
namespace {

constexpr std::int64_t kChunk = 64 << 10;

std::byte* map_pages(int descriptor, std::int64_t bytes, SharedMemory::Access access) {
  const int allowed = access == SharedMemory::Access::Read ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data =
      mmap(nullptr, static_cast<std::size_t>(bytes), allowed, MAP_SHARED, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

/// Brings pages into this process. 0, or the error: EINVAL: the kernel, before 5.14, can't.
int populate_pages(std::byte* first, std::int64_t bytes) noexcept {
  int code = 0;
  do {
    code = madvise(first, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE);
  } while (code != 0 && (errno == EINTR || errno == EAGAIN));
  return code == 0 ? 0 : errno;
}

}  // namespace

SharedMemory::SharedMemory(std::byte* data, std::int64_t bytes, FileDescriptor descriptor)
    : data_(data),
      bytes_(bytes),
      descriptor_(std::move(descriptor)),
      populated_(static_cast<std::size_t>((bytes + kChunk - 1) / kChunk)) {}

SharedMemory SharedMemory::make(std::int64_t bytes) {
  FileDescriptor descriptor(make_memory_file("strake", bytes));
  std::byte* data = nullptr;
  if (descriptor.get() >= 0) data = map_pages(descriptor.get(), bytes, Access::ReadWrite);
  if (data == nullptr && errno == EFBIG) {
    rlimit longest{};
    (void)getrlimit(RLIMIT_FSIZE, &longest);
    throw OutOfMemory(fmt::format("{} bytes of shared memory: files may have {} (ulimit -f)", bytes,
                                  longest.rlim_cur));
  }
  if (data == nullptr) {
    throw OutOfMemory(
        fmt::format("{} bytes of shared memory can't be had: {}", bytes, std::strerror(errno)));
  }
  return {data, bytes, std::move(descriptor)};
}

SharedMemory SharedMemory::make_in_pages(std::int64_t bytes, std::int64_t page) {
  const std::int64_t whole = (bytes + page - 1) / page * page;
  if (page <= sysconf(_SC_PAGESIZE)) return make(whole);
  FileDescriptor descriptor(make_memory_file("strake", whole, page));
  std::byte* data = nullptr;
  if (descriptor.get() >= 0) data = map_pages(descriptor.get(), whole, Access::ReadWrite);
  if (data != nullptr) {
    SharedMemory made(data, whole, std::move(descriptor));
    made.pool_page_ = page;
    // A touch of a page that the pool refuses later would end the process.
    if (populate_pages(data, whole) == 0) {
      made.populated_.assign(made.populated_.size(), true);
      return made;
    }
  }
  SharedMemory made = make(whole);
  (void)madvise(made.data_, static_cast<std::size_t>(whole), MADV_HUGEPAGE);
  return made;
}

SharedMemory SharedMemory::map(int descriptor, std::int64_t bytes, Access access) {
  // Only memory has seals. What has none may be a file of a file system that does not answer.
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & memory_seals()) != memory_seals())
    throw InvalidArgument("memory that its owner may resize is not mapped");
  struct stat found {};
  if (fstat(descriptor, &found) != 0 || found.st_size != bytes) {
    throw InvalidArgument(
        fmt::format("shared memory of {} bytes, where {} were announced", found.st_size, bytes));
  }
  std::byte* const data = map_pages(descriptor, bytes, access);
  if (data == nullptr) {
    throw OutOfMemory(
        fmt::format("{} bytes of shared memory can't be mapped: {}", bytes, std::strerror(errno)));
  }
  // A core dump has what its process made: to read all of the others' memory would take it all in.
  (void)madvise(data, static_cast<std::size_t>(bytes), MADV_DONTDUMP);
  return {data, bytes, FileDescriptor()};
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      descriptor_(std::move(other.descriptor_)),
      populated_(std::move(other.populated_)),
      pool_page_(std::exchange(other.pool_page_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(populated_, other.populated_);
  std::swap(pool_page_, other.pool_page_);
  return *this;
}

void SharedMemory::discard(std::int64_t begin, std::int64_t end) noexcept {
  // Chunks that are in part outside keep their pages, as populate() knows of chunks only.
  const std::int64_t first = (begin + kChunk - 1) / kChunk;
  const std::int64_t last = end == bytes_ ? (end + kChunk - 1) / kChunk : end / kChunk;
  if (first >= last) return;
  (void)fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * kChunk,
                  std::min(last * kChunk, bytes_) - first * kChunk);
  std::fill(populated_.begin() + first, populated_.begin() + last, false);
}

bool SharedMemory::populate(std::int64_t begin, std::int64_t end) {
  for (std::int64_t chunk = begin / kChunk; chunk * kChunk < end; ++chunk) {
    if (populated_[static_cast<std::size_t>(chunk)]) continue;
    std::int64_t last = chunk + 1;  // several at once, where they are together
    while (last * kChunk < end && !populated_[static_cast<std::size_t>(last)]) ++last;
    const std::int64_t bytes = std::min(last * kChunk, bytes_) - chunk * kChunk;
    // Before Linux 5.14 the pages come when they are touched.
    const int error = populate_pages(data_ + chunk * kChunk, bytes);
    if (error != 0 && error != EINVAL) return false;
    for (; chunk < last; ++chunk) populated_[static_cast<std::size_t>(chunk)] = true;
    --chunk;
  }
  return true;
}

}  // namespace strake::sharing
