/// \file  A file descriptor that has an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace strake::sharing {

/// Closed with this object; negative: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace strake::sharing
