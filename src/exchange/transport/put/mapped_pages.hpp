/// \file  Shared memory of the host, where a device reaches it.
#pragma once

#include <cstddef>

#include "exchange/transport/pairs/connections.hpp"

namespace strake::exchange::planned {

/// Some whole pages. Whoever maps them at the same time in this process maps all of them alike.
class MappedPages {
 public:
  MappedPages() noexcept = default;
  /// \throws CudaError
  MappedPages(int device, const Connections::Pages& pages);
  ~MappedPages();
  MappedPages(MappedPages&& other) noexcept;
  MappedPages& operator=(MappedPages&& other) noexcept;
  [[nodiscard]] bool is_there() const noexcept { return here_ != nullptr; }
  /// The device's address of something in these pages.
  [[nodiscard]] std::byte* there(const void* here) const noexcept {
    return there_ + (static_cast<const std::byte*>(here) - here_);
  }

 private:
  int device_ = -1;
  std::byte* here_ = nullptr;
  std::byte* there_ = nullptr;
};

}  // namespace strake::exchange::planned
