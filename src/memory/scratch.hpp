/// \file  A vector that a call needs and the next one needs again: its memory stays with the
/// thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "memory/per_thread.hpp"

namespace strake {

/// Nothing is allocated once a thread has had one as large. A call inside another's scope gets
/// memory of its own. `For`: two that are in scope at a time, in every such call, have one each.
template <typename T, typename For = void>
class Scratch {
 public:
  explicit Scratch(std::size_t size = 0) : values_(std::move(PerThread<Kept>::get().values)) {
    values_.resize(size);
  }
  ~Scratch() {
    std::vector<T>& kept = PerThread<Kept>::get().values;
    if (kept.capacity() < values_.capacity()) kept = std::move(values_);
    kept.clear();
  }
  Scratch(Scratch&&) noexcept = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void resize(std::size_t size) { values_.resize(size); }
  void push_back(T value) { values_.push_back(std::move(value)); }
  [[nodiscard]] T* data() noexcept { return values_.data(); }
  [[nodiscard]] const T* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  T& operator[](std::size_t i) noexcept { return values_[i]; }
  const T& operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] auto begin() noexcept { return values_.begin(); }
  [[nodiscard]] auto end() noexcept { return values_.end(); }
  [[nodiscard]] auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] auto end() const noexcept { return values_.end(); }

 private:
  struct Kept {
    std::vector<T> values;
  };
  std::vector<T> values_;
};

}  // namespace strake
