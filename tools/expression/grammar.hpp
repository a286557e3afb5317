/// \file  The names of the grammar, and the grammar as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strake::expression {

/// MPI's names in lower case without MPI_. Fortran's are those of a compiler's defaults.
struct Basic {
  std::string_view name;
  std::int64_t bytes;
  std::int64_t alignment;
};
[[nodiscard]] std::span<const Basic> basics() noexcept;

/// MPI's types for MINLOC: a value and an int, as C's compiler lays them out.
struct Pair {
  std::string_view name;
  std::string_view value;
};
[[nodiscard]] std::span<const Pair> pairs() noexcept;

struct Constructor {
  std::string_view name;
  std::string_view arguments;  ///< "COUNT, TYPE"
  std::string_view note;

  /// "contiguous(COUNT, TYPE)".
  [[nodiscard]] std::string signature() const;
};
[[nodiscard]] std::span<const Constructor> constructors() noexcept;
/// Null where there is none of that name.
[[nodiscard]] const Constructor* constructor_named(std::string_view name) noexcept;

/// All rules, as lines of at most 100 columns.
[[nodiscard]] std::string grammar();

}  // namespace strake::expression
