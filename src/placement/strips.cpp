#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "placement/adjacency.hpp"
#include "placement/graph.hpp"
#include "strake/error.hpp"

namespace strake::placement {
namespace {

/// The digits of a number, the last one counts fastest, in an order in which one digit at a time
/// changes, and by one.
std::vector<int> snake(std::int64_t number, const std::vector<int>& counts) {
  std::vector<int> digits(counts.size());
  for (std::size_t i = counts.size(); i-- > 0;) {
    const int digit = static_cast<int>(number % counts[i]);
    number /= counts[i];
    digits[i] = number % 2 == 0 ? digit : counts[i] - 1 - digit;
  }
  return digits;
}

/// A grid's axes, and how long a position is along each.
struct Axes {
  std::vector<int> dims;
  std::vector<double> lengths;
};

/// The faces of a box over what it holds: on average over grids that end and periodic ones, where
/// boxes at the ends have fewer, and none along an axis that the box fills.
double surface_of(const std::vector<double>& box, const Axes& axes) {
  double surface = 0;
  for (std::size_t i = 0; i < box.size(); ++i)
    if (box[i] < axes.dims[i]) surface += (1 / box[i] - 0.5 / axes.dims[i]) / axes.lengths[i];
  return surface;
}

/// The box of the least surface that holds a group exactly, and which the grid is a multiple of.
/// Its surface is infinite if there is none.
class BestBox {
 public:
  BestBox(const Axes& axes, int group) : axes_(axes), next_(axes.dims.size(), 1) {
    constexpr std::ptrdiff_t kMostAxes = 6;
    if (std::ranges::count_if(axes.dims, [](int dim) { return dim > 1; }) <= kMostAxes)
      try_all(0, group);
  }
  [[nodiscard]] const std::vector<double>& box() const noexcept { return box_; }
  [[nodiscard]] double surface() const noexcept { return surface_; }

 private:
  void try_all(std::size_t axis, int left) {
    if (axis == axes_.dims.size()) {
      const double surface = surface_of(next_, axes_);
      if (left != 1 || surface >= surface_) return;
      box_ = next_;
      surface_ = surface;
      return;
    }
    for (int width = std::min(left, axes_.dims[axis]); width > 0; --width) {
      if (left % width != 0 || axes_.dims[axis] % width != 0) continue;
      next_[axis] = width;
      try_all(axis + 1, left / width);
    }
  }

  const Axes& axes_;
  std::vector<double> next_;
  std::vector<double> box_;
  double surface_ = std::numeric_limits<double>::infinity();
};

/// The strips' order of positions.
class Strips {
 public:
  /// \param mean     the mean number of positions of a group
  /// \param largest  their greatest number
  Strips(const Axes& axes, double mean, int largest) {
    std::vector<std::size_t> order(axes.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t axis) { return axes.dims[axis]; });
    for (const std::size_t axis : order) {
      axes_.dims.push_back(axes.dims[axis]);
      axes_.lengths.push_back(axes.lengths[axis]);
      strides_.push_back(std::accumulate(axes.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                         axes.dims.end(), 1, std::multiplies()));
    }
    const std::vector<double> cubes = widths_of_cubes(mean);
    const BestBox best(axes_, largest);
    // Groups that are boxes fit each other; others are cut at the ends of strips.
    constexpr double kMostSurface = 1.15;
    const bool are_boxes = best.surface() <= kMostSurface * surface_of(cubes, axes_);
    counts_.assign(order.size(), 1);
    for (std::size_t i = 1; i < order.size(); ++i)
      counts_[i] =
          static_cast<int>(std::lround(axes_.dims[i] / (are_boxes ? best.box() : cubes)[i]));
  }

  /// All positions, strip after strip, each from the end at which the one before it ends.
  [[nodiscard]] std::vector<int> order() const {
    const std::int64_t strips =
        std::accumulate(counts_.begin(), counts_.end(), std::int64_t{1}, std::multiplies());
    std::vector<int> order;
    for (std::int64_t strip = 0; strip < strips; ++strip) append(strip, order);
    return order;
  }

 private:
  /// A cube's edge along the shortest axis; what is left of the group fits the next ones. Strips
  /// are equally wide.
  [[nodiscard]] std::vector<double> widths_of_cubes(double group) const {
    std::vector<double> widths(axes_.dims.size());
    for (std::size_t i = widths.size(); i-- > 0;) {
      double volume = group;
      for (std::size_t axis = 0; axis <= i; ++axis) volume *= axes_.lengths[axis];
      const double edge = std::pow(volume, 1 / static_cast<double>(i + 1)) / axes_.lengths[i];
      const double dim = axes_.dims[i];
      widths[i] = i == 0 ? group : dim / std::round(dim / std::clamp(std::round(edge), 1.0, dim));
      group = std::max(1.0, group / widths[i]);
    }
    return widths;
  }

  void append(std::int64_t strip, std::vector<int>& order) const {
    const std::vector<int> at = snake(strip, counts_);
    std::vector<int> begin(at.size());
    std::vector<int> widths(at.size());
    std::int64_t size = 1;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t dim = axes_.dims[i];
      begin[i] = static_cast<int>(dim * at[i] / counts_[i]);
      widths[i] = static_cast<int>(dim * (at[i] + 1) / counts_[i]) - begin[i];
      size *= widths[i];
    }
    for (std::int64_t cell = 0; cell < size; ++cell) {
      const std::vector<int> within = snake(strip % 2 == 0 ? cell : size - 1 - cell, widths);
      int position = 0;
      for (std::size_t i = 0; i < at.size(); ++i) position += (begin[i] + within[i]) * strides_[i];
      order.push_back(position);
    }
  }

  // By axis, the longest first, of equal ones the first; strips lie along that one.
  Axes axes_;
  std::vector<int> strides_;
  std::vector<int> counts_;  ///< of strips beside each other
};

}  // namespace

std::vector<int> stencil_strips(const std::vector<int>& dims, const std::vector<int>& sizes,
                                const std::vector<double>& lengths) {
  std::int64_t positions = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0)
      throw InvalidArgument(fmt::format("{} positions along axis {}", dims[axis], axis));
    positions *= dims[axis];
    if (positions > std::numeric_limits<int>::max())
      throw InvalidArgument(fmt::format("{} positions up to axis {}", positions, axis));
  }
  if (!lengths.empty() && lengths.size() != dims.size())
    throw InvalidArgument(fmt::format("{} lengths of {} axes", lengths.size(), dims.size()));
  for (std::size_t axis = 0; axis < lengths.size(); ++axis)
    if (!(lengths[axis] > 0) || std::isinf(lengths[axis]))
      throw InvalidArgument(fmt::format("a length of {} along axis {}", lengths[axis], axis));
  require_sizes(positions, sizes);
  if (positions == 0) return {};
  const auto used = std::ranges::count_if(sizes, [](int size) { return size > 0; });
  const double mean = static_cast<double>(positions) / static_cast<double>(used);
  const Axes axes{dims, lengths.empty() ? std::vector<double>(dims.size(), 1) : lengths};
  const std::vector<int> order = Strips(axes, mean, std::ranges::max(sizes)).order();
  std::vector<int> group_of(order.size());
  std::size_t next = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g)
    for (int i = 0; i < sizes[g]; ++i)
      group_of[static_cast<std::size_t>(order[next++])] = static_cast<int>(g);
  return group_of;
}

}  // namespace strake::placement
