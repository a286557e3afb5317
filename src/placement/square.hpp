/// \file  Square matrices: flows between parts, or rates between places.
#pragma once

#include <cstddef>
#include <vector>

namespace strake::placement {

/// A square matrix of numbers, row by row.
class Square {
 public:
  explicit Square(std::size_t size, double value = 0) : size_(size), values_(size * size, value) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] double& operator()(std::size_t row, std::size_t column) noexcept {
    return values_[row * size_ + column];
  }
  [[nodiscard]] double operator()(std::size_t row, std::size_t column) const noexcept {
    return values_[row * size_ + column];
  }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

}  // namespace strake::placement
