#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "device/backend.hpp"
#include "exchange/transport/put/set_zero.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/shared_view.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"

namespace strake {
namespace {

std::byte* allocate_on_host(std::int64_t bytes, std::int64_t page) {
  constexpr std::size_t kPage = 4096;
  if (void* const shared = sharing::Arenas::get().allocate(bytes, page))
    return static_cast<std::byte*>(shared);
  const auto whole = (static_cast<std::size_t>(bytes) + kPage - 1) / kPage * kPage;
  void* const own = std::aligned_alloc(kPage, whole);
  if (own == nullptr) throw OutOfMemory(fmt::format("no memory for an array of {} bytes", bytes));
  std::memset(own, 0, whole);
  return static_cast<std::byte*>(own);
}

}  // namespace

SharedArray::SharedArray(std::int64_t bytes, Place place, std::int64_t page)
    : bytes_(bytes), place_(place) {
  if (bytes < 0) throw InvalidArgument(fmt::format("an array of {} bytes", bytes));
  if (page != 0 && (!sharing::may_be_page(page) || place.kind == MemoryKind::Device))
    throw InvalidArgument(fmt::format(
        "an array in pages of {} bytes: in host memory a power of two, from {} to {}; else 0", page,
        sharing::page_bytes(), sharing::kLargestPage));
  if (place.kind == MemoryKind::Managed)
    throw Unsupported("an array in managed memory, which no other process reads");
  if (bytes == 0) return;
  if (place.kind != MemoryKind::Device) {
    place_ = {};
    data_ = allocate_on_host(bytes, page);
    return;
  }
  DeviceBackend& backend = required_device_backend();
  data_ = static_cast<std::byte*>(backend.allocate(place, bytes));
  try {
    exchange::planned::set_zero(data_, bytes, place);
  } catch (...) {
    backend.deallocate(place, data_);
    throw;
  }
}

SharedArray::SharedArray(SharedArray&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      place_(other.place_) {}

SharedArray& SharedArray::operator=(SharedArray&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(place_, other.place_);
  return *this;
}

SharedArray::~SharedArray() {
  if (data_ == nullptr) return;
  if (place_.kind == MemoryKind::Device) {
    device_backend()->deallocate(place_, data_);
  } else if (!sharing::Arenas::get().release(data_)) {
    std::free(data_);
  }
}

}  // namespace strake
