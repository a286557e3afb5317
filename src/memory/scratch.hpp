/// \file  A vector that a call needs and the next one needs again: its memory stays with the
/// thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "memory/per_thread.hpp"

namespace strake {

/// Nothing is allocated once a thread has had one as large. A call inside another's scope gets
/// memory of its own.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t size) : values_(std::move(PerThread<std::vector<T>>::get())) {
    values_.resize(size);
  }
  ~Scratch() {
    std::vector<T>& kept = PerThread<std::vector<T>>::get();
    if (kept.capacity() < values_.capacity()) kept = std::move(values_);
    kept.clear();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] T* data() noexcept { return values_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  T& operator[](std::size_t i) noexcept { return values_[i]; }

 private:
  std::vector<T> values_;
};

}  // namespace strake
