#include "plan/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strake/error.hpp"

namespace strake::plan {

Index3 grown(const Index3& grid, int nodes) {
  std::vector<int> factors;
  for (int factor = 2; factor <= nodes / factor; ++factor)
    for (; nodes % factor == 0; nodes /= factor) factors.push_back(factor);
  if (nodes > 1) factors.push_back(nodes);
  std::ranges::reverse(factors);
  Index3 made = grid;
  for (const int factor : factors) {
    std::size_t shortest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (made[axis] < made[shortest]) shortest = axis;
    constexpr std::int64_t kMost = std::int64_t{1} << 62;
    if (made[shortest] > kMost / factor)
      throw InvalidArgument(fmt::format("a grid of {} times {} cells along {}", made[shortest],
                                        factor, "xyz"[shortest]));
    made[shortest] *= factor;
  }
  return made;
}

std::vector<Row> sweep(const Question& asked, const std::vector<int>& nodes, bool is_weak,
                       const machine::Profile* profile) {
  std::vector<Row> rows;
  for (const int count : nodes) {
    Question question = asked;
    question.nodes = count;
    for (const Placement placement : {Placement::Default, Placement::NodeAware}) {
      question.placement = placement;
      try {
        if (is_weak) question.grid = grown(asked.grid, count);
        rows.push_back({question, answer(question, profile)});
      } catch (const InvalidArgument& error) {
        throw InvalidArgument(fmt::format("with {} nodes: {}", count, error.what()));
      }
    }
  }
  return rows;
}

}  // namespace strake::plan
