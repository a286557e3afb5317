/// \file  A datatype as a value: its layout, and what MPI's constructors need of it. Bounds follow
/// the MPI standard, except for two rules of MPICH: only struct pads to the members' alignment, and
/// a struct does not inherit the bounds of a resized member.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "layout/darray.hpp"
#include "strake/layout.hpp"

namespace strake::expression {

struct Datatype {
  Layout layout;
  std::int64_t lb = 0;
  std::int64_t ub = 0;
  std::int64_t alignment = 1;  ///< of the strictest basic type inside
  bool is_void = false;  ///< an empty type map: no bytes, and no bounds set by resized or arrays
  [[nodiscard]] std::int64_t extent() const noexcept { return ub - lb; }
};

using Numbers = std::span<const std::int64_t>;

/// \{ MPI's constructors. Displacements and strides of the h-forms are bytes, of the others
/// extents.
/// \throws InvalidArgument  what MPI would refuse, or a bound past 2^63.
[[nodiscard]] Datatype basic(std::int64_t bytes, std::int64_t alignment);
[[nodiscard]] Datatype contiguous(std::int64_t count, const Datatype& type);
[[nodiscard]] Datatype vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                              const Datatype& type);
[[nodiscard]] Datatype hvector(std::int64_t count, std::int64_t blocklength,
                               std::int64_t stride_bytes, const Datatype& type);
[[nodiscard]] Datatype indexed(Numbers blocklengths, Numbers displacements, const Datatype& type);
[[nodiscard]] Datatype hindexed(Numbers blocklengths, Numbers displacements_bytes,
                                const Datatype& type);
[[nodiscard]] Datatype indexed_block(std::int64_t blocklength, Numbers displacements,
                                     const Datatype& type);
[[nodiscard]] Datatype hindexed_block(std::int64_t blocklength, Numbers displacements_bytes,
                                      const Datatype& type);
[[nodiscard]] Datatype structure(Numbers blocklengths, Numbers displacements_bytes,
                                 std::span<const Datatype> types);
[[nodiscard]] Datatype subarray(Numbers sizes, Numbers subsizes, Numbers starts,
                                const Datatype& type, Order order);
/// \p dargs  without a value is MPI's default.
[[nodiscard]] Datatype darray(std::int64_t size, std::int64_t rank, Numbers gsizes,
                              std::span<const Distribution> distribs,
                              std::span<const std::optional<std::int64_t>> dargs, Numbers psizes,
                              const Datatype& type, Order order);
[[nodiscard]] Datatype resized(std::int64_t lb, std::int64_t extent, const Datatype& type);
/// \}

/// The bytes of `count` elements, one extent apart. \throws InvalidArgument  count < 0.
[[nodiscard]] Layout layout_of(const Datatype& type, std::int64_t count);

}  // namespace strake::expression
