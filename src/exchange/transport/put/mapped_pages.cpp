#include "exchange/transport/put/mapped_pages.hpp"

#include <utility>

#include "device/backend.hpp"

namespace strake::exchange::planned {

MappedPages::MappedPages(int device, const Connections::Pages& pages)
    : device_(device),
      here_(pages.begin),
      there_(pages.begin == nullptr
                 ? nullptr
                 : required_device_backend().map_host(device, pages.begin, pages.bytes)) {}

MappedPages::~MappedPages() {
  if (here_ != nullptr) device_backend()->unmap_host(device_, here_);
}

MappedPages::MappedPages(MappedPages&& other) noexcept
    : device_(other.device_), here_(std::exchange(other.here_, nullptr)), there_(other.there_) {}

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(here_, other.here_);
  std::swap(there_, other.there_);
  return *this;
}

}  // namespace strake::exchange::planned
