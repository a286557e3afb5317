/// \file  Fortran's character arguments: an address and a length, filled up with blanks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace strake::interpose::fortran {

/// Without the blanks at either end (as the MPI standard strips names).
[[nodiscard]] std::string text(const void* fortran, std::size_t length);

/// A C argument vector from character elements of `length`, `step` elements apart, up to the first
/// blank one.
class Arguments {
 public:
  Arguments(const void* fortran, std::size_t length, std::size_t step);
  /// Ends with a null pointer. Valid while this object is, and is not copied.
  [[nodiscard]] char** data() noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

}  // namespace strake::interpose::fortran
