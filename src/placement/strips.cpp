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

/// A grid's axes, the longest first, of equal ones the first; strips lie along that one.
class Strips {
 public:
  /// \param group  the mean number of positions of a group
  Strips(const std::vector<int>& dims, double group) : dims_(dims), strides_(dims.size(), 1) {
    for (std::size_t i = dims.size(); i-- > 1;) strides_[i - 1] = strides_[i] * dims[i];
    axes_.resize(dims.size());
    std::iota(axes_.begin(), axes_.end(), std::size_t{0});
    std::ranges::stable_sort(axes_, std::greater(), [&](std::size_t axis) { return dims[axis]; });
    counts_.assign(dims.size(), 1);
    // A cube's edge along the shortest axis; what is left of the group fits the next ones.
    for (std::size_t i = dims.size(); i-- > 1;) {
      const double extent = dims[axes_[i]];
      const double edge = std::pow(group, 1 / static_cast<double>(i + 1));
      const double width = std::clamp(std::round(edge), 1.0, extent);
      counts_[i] = static_cast<int>(std::lround(extent / width));
      group = std::max(1.0, group * counts_[i] / extent);
    }
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
  void append(std::int64_t strip, std::vector<int>& order) const {
    const std::vector<int> at = snake(strip, counts_);
    std::vector<int> begin(at.size());
    std::vector<int> widths(at.size());
    std::int64_t size = 1;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t dim = dims_[axes_[i]];
      begin[i] = static_cast<int>(dim * at[i] / counts_[i]);
      widths[i] = static_cast<int>(dim * (at[i] + 1) / counts_[i]) - begin[i];
      size *= widths[i];
    }
    for (std::int64_t cell = 0; cell < size; ++cell) {
      const std::vector<int> within = snake(strip % 2 == 0 ? cell : size - 1 - cell, widths);
      int position = 0;
      for (std::size_t i = 0; i < at.size(); ++i)
        position += (begin[i] + within[i]) * strides_[axes_[i]];
      order.push_back(position);
    }
  }

  const std::vector<int>& dims_;
  std::vector<int> strides_;       ///< by axis
  std::vector<std::size_t> axes_;  ///< the longest first
  std::vector<int> counts_;        ///< of strips, in the order of axes_
};

}  // namespace

std::vector<int> stencil_strips(const std::vector<int>& dims, const std::vector<int>& sizes) {
  std::int64_t positions = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0)
      throw InvalidArgument(fmt::format("{} positions along axis {}", dims[axis], axis));
    positions *= dims[axis];
    if (positions > std::numeric_limits<int>::max())
      throw InvalidArgument(fmt::format("{} positions up to axis {}", positions, axis));
  }
  require_sizes(positions, sizes);
  if (positions == 0) return {};
  const auto used = std::ranges::count_if(sizes, [](int size) { return size > 0; });
  const double group = static_cast<double>(positions) / static_cast<double>(used);
  const std::vector<int> order = Strips(dims, group).order();
  std::vector<int> group_of(order.size());
  std::size_t next = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g)
    for (int i = 0; i < sizes[g]; ++i)
      group_of[static_cast<std::size_t>(order[next++])] = static_cast<int>(g);
  return group_of;
}

}  // namespace strake::placement
