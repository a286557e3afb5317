#include "datatype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "strake/error.hpp"

namespace strake::expression {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw InvalidArgument(fmt::format("{} x {} is past 2^63", a, b));
  return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw InvalidArgument(fmt::format("{} + {} is past 2^63", a, b));
  return sum;
}

std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference))
    throw InvalidArgument(fmt::format("{} - {} is past 2^63", a, b));
  return difference;
}

void require_count(std::int64_t value, const char* what) {
  if (value < 0) throw InvalidArgument(fmt::format("{} must not be negative: {}", what, value));
}

void require_same_length(std::size_t a, const char* a_name, std::size_t b, const char* b_name) {
  if (a != b)
    throw InvalidArgument(fmt::format("{} has {} values, but {} has {}", a_name, a, b_name, b));
}

/// Bounds that grow by one placed copy after another.
struct Bounds {
  std::optional<std::int64_t> lb;
  std::int64_t ub = 0;

  /// `count` of `type`, `step` bytes apart, the first at `at`.
  void add(const Datatype& type, std::int64_t at, std::int64_t count, std::int64_t step) {
    if (count == 0 || type.is_void) return;
    const std::int64_t last = plus(at, times(count - 1, step));
    const std::int64_t low = plus(std::min(at, last), type.lb);
    ub = lb ? std::max(ub, plus(std::max(at, last), type.ub)) : plus(std::max(at, last), type.ub);
    lb = std::min(lb.value_or(low), low);
  }
};

Datatype finish(Layout layout, const Bounds& bounds, std::int64_t alignment) {
  const std::int64_t lb = bounds.lb.value_or(0);
  static_cast<void>(minus(bounds.ub, lb));  // the extent
  return {std::move(layout), lb, bounds.ub, alignment, !bounds.lb};
}

/// Blocks of one type at displacements in bytes.
Datatype placed(Numbers blocklengths, Numbers displacements, const Datatype& type) {
  Bounds bounds;
  const std::int64_t size = type.layout.size_bytes();
  // A type without gaps makes one block of bytes of each blocklength.
  const bool solid = type.layout.is_dense() && type.extent() == size;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  std::vector<Layout> parts;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    require_count(blocklengths[i], "a blocklength");
    bounds.add(type, displacements[i], blocklengths[i], type.extent());
    if (solid) {
      offsets.push_back(plus(displacements[i], type.layout.offset()));
      lengths.push_back(times(blocklengths[i], size));
    } else {
      parts.push_back(
          type.layout.repeated(blocklengths[i], type.extent()).shifted(displacements[i]));
    }
  }
  return finish(solid ? Layout::blocks(offsets, lengths) : Layout::sequence(parts), bounds,
                type.alignment);
}

std::vector<std::int64_t> scaled(Numbers displacements, std::int64_t factor) {
  std::vector<std::int64_t> out;
  for (const std::int64_t displacement : displacements) out.push_back(times(displacement, factor));
  return out;
}

}  // namespace

Datatype basic(std::int64_t bytes, std::int64_t alignment) {
  return {Layout::dense(bytes), 0, bytes, alignment};
}

Datatype contiguous(std::int64_t count, const Datatype& type) {
  return hvector(count, 1, type.extent(), type);
}

Datatype vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                const Datatype& type) {
  return hvector(count, blocklength, times(stride, type.extent()), type);
}

Datatype hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes,
                 const Datatype& type) {
  require_count(count, "the count");
  require_count(blocklength, "the blocklength");
  Bounds block;
  block.add(type, 0, blocklength, type.extent());
  const Datatype one =
      finish(type.layout.repeated(blocklength, type.extent()), block, type.alignment);
  Bounds bounds;
  bounds.add(one, 0, count, stride_bytes);
  return finish(one.layout.repeated(count, stride_bytes), bounds, type.alignment);
}

Datatype indexed(Numbers blocklengths, Numbers displacements, const Datatype& type) {
  return hindexed(blocklengths, scaled(displacements, type.extent()), type);
}

Datatype hindexed(Numbers blocklengths, Numbers displacements_bytes, const Datatype& type) {
  require_same_length(blocklengths.size(), "the list of blocklengths", displacements_bytes.size(),
                      "that of displacements");
  return placed(blocklengths, displacements_bytes, type);
}

Datatype indexed_block(std::int64_t blocklength, Numbers displacements, const Datatype& type) {
  return hindexed_block(blocklength, scaled(displacements, type.extent()), type);
}

Datatype hindexed_block(std::int64_t blocklength, Numbers displacements_bytes,
                        const Datatype& type) {
  const std::vector<std::int64_t> blocklengths(displacements_bytes.size(), blocklength);
  return placed(blocklengths, displacements_bytes, type);
}

Datatype structure(Numbers blocklengths, Numbers displacements_bytes,
                   std::span<const Datatype> types) {
  require_same_length(blocklengths.size(), "the list of blocklengths", displacements_bytes.size(),
                      "that of displacements");
  require_same_length(blocklengths.size(), "the list of blocklengths", types.size(),
                      "that of types");
  Bounds bounds;
  std::vector<Layout> parts;
  std::int64_t alignment = 1;
  for (std::size_t i = 0; i < types.size(); ++i) {
    require_count(blocklengths[i], "a blocklength");
    if (blocklengths[i] == 0) continue;
    const Datatype& type = types[i];
    bounds.add(type, displacements_bytes[i], blocklengths[i], type.extent());
    parts.push_back(
        type.layout.repeated(blocklengths[i], type.extent()).shifted(displacements_bytes[i]));
    if (type.layout.size_bytes() > 0) alignment = std::max(alignment, type.alignment);
  }
  Datatype out = finish(Layout::sequence(parts), bounds, alignment);
  // MPI's epsilon: an array of the struct keeps every member aligned.
  const std::int64_t past = out.extent() % alignment;
  if (past > 0) out.ub = plus(out.ub, alignment - past);
  static_cast<void>(minus(out.ub, out.lb));
  return out;
}

Datatype subarray(Numbers sizes, Numbers subsizes, Numbers starts, const Datatype& type,
                  Order order) {
  require_same_length(sizes.size(), "the list of sizes", subsizes.size(), "that of subsizes");
  require_same_length(sizes.size(), "the list of sizes", starts.size(), "that of starts");
  if (sizes.empty()) throw InvalidArgument("a subarray has at least one dimension");
  Layout layout = type.layout;
  std::int64_t step = type.extent();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t d = order == Order::C ? sizes.size() - 1 - i : i;  // fastest dimension first
    if (sizes[d] < 1 || subsizes[d] < 1 || subsizes[d] > sizes[d] || starts[d] < 0 ||
        starts[d] > sizes[d] - subsizes[d]) {
      throw InvalidArgument(
          fmt::format("dimension {}: subsize {} from start {} does not lie within size {}", d,
                      subsizes[d], starts[d], sizes[d]));
    }
    layout = layout.repeated(subsizes[d], step);
    start = plus(start, times(starts[d], step));
    step = times(step, sizes[d]);
  }
  return {layout.shifted(start), 0, step, type.alignment};
}

Datatype darray(std::int64_t size, std::int64_t rank, Numbers gsizes,
                std::span<const Distribution> distribs,
                std::span<const std::optional<std::int64_t>> dargs, Numbers psizes,
                const Datatype& type, Order order) {
  require_same_length(gsizes.size(), "the list of gsizes", distribs.size(), "that of distribs");
  require_same_length(gsizes.size(), "the list of gsizes", dargs.size(), "that of dargs");
  require_same_length(gsizes.size(), "the list of gsizes", psizes.size(), "that of psizes");
  if (gsizes.empty()) throw InvalidArgument("a darray has at least one dimension");
  std::vector<DistributedDim> dims;
  std::int64_t processes = 1;
  std::int64_t ub = type.extent();
  for (std::size_t d = 0; d < gsizes.size(); ++d) {
    const DistributedDim dim{gsizes[d], distribs[d], dargs[d], psizes[d]};
    if (dim.size < 1 || dim.processes < 1) {
      throw InvalidArgument(fmt::format("dimension {}: gsize {} and psize {} must be positive", d,
                                        dim.size, dim.processes));
    }
    if (dim.block && *dim.block < 1)
      throw InvalidArgument(fmt::format("dimension {}: darg {} must be positive", d, *dim.block));
    if (dim.distribution == Distribution::None && dim.processes != 1) {
      throw InvalidArgument(
          fmt::format("dimension {}: none goes with psize 1, not {}", d, dim.processes));
    }
    if (dim.distribution == Distribution::Block && dim.block &&
        (dim.size - 1) / *dim.block >= dim.processes) {
      throw InvalidArgument(fmt::format("dimension {}: {} blocks of {} do not hold gsize {}", d,
                                        dim.processes, *dim.block, dim.size));
    }
    processes = times(processes, dim.processes);
    ub = times(ub, dim.size);
    dims.push_back(dim);
  }
  if (processes != size) {
    throw InvalidArgument(
        fmt::format("the product of psizes is {}, but the size is {}", processes, size));
  }
  if (rank < 0 || rank >= size)
    throw InvalidArgument(fmt::format("rank {} does not lie within size {}", rank, size));
  return {strake::darray(type.layout, type.extent(), dims, order, rank), 0, ub, type.alignment};
}

Datatype resized(std::int64_t lb, std::int64_t extent, const Datatype& type) {
  return {type.layout, lb, plus(lb, extent), type.alignment};
}

Layout layout_of(const Datatype& type, std::int64_t count) {
  require_count(count, "the count");
  return type.layout.repeated(count, type.extent());
}

}  // namespace strake::expression
