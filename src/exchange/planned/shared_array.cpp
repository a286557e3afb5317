#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "memory/sharing/arenas.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"

namespace strake {

SharedArray::SharedArray(std::int64_t bytes) : bytes_(bytes) {
  constexpr std::size_t kPage = 4096;
  if (bytes < 0) throw InvalidArgument(fmt::format("an array of {} bytes", bytes));
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(sharing::Arenas::get().allocate(bytes));
  if (data_ != nullptr) return;
  const auto whole = (static_cast<std::size_t>(bytes) + kPage - 1) / kPage * kPage;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));
  if (data_ == nullptr) throw OutOfMemory(fmt::format("no memory for an array of {} bytes", bytes));
  std::memset(data_, 0, whole);
}

SharedArray::SharedArray(SharedArray&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedArray& SharedArray::operator=(SharedArray&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedArray::~SharedArray() {
  if (data_ != nullptr && !sharing::Arenas::get().release(data_)) std::free(data_);
}

}  // namespace strake
