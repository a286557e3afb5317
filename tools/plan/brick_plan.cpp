#include "plan/brick_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <span>

#include "brick/decomposition.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

using brick::Region;

constexpr double kMostPartBytes = 0x1p60;  // sums over all neighbours fit into 64 bits

/// Throws unless a laptop can number the bricks of a part, and 64 bits hold its bytes.
void require_part(const BrickPlan& plan) {
  constexpr double kMostPartBricks = 1 << 27;  // about a second, and 0.5 GiB
  double bricks = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(plan.grid.dims); ++axis)
    bricks *= plan.largest[axis] + 2.0 * plan.grid.ghosts[axis];
  const auto by_axis = [&](const brick::Coordinates& numbers) {
    return fmt::join(std::span(numbers).first(static_cast<std::size_t>(plan.grid.dims)), " x ");
  };
  const auto refuse = [&](const char* what) {
    throw InvalidArgument(
        fmt::format("a part of {} bricks of {} bytes, with {} ghost bricks on each side: more than "
                    "{}; take larger bricks or more ranks",
                    by_axis(plan.largest), plan.brick_bytes, by_axis(plan.grid.ghosts), what));
  };
  if (bricks > kMostPartBricks) refuse("2^27 bricks");
  if (bricks * static_cast<double>(plan.brick_bytes) > kMostPartBytes) refuse("2^60 bytes");
}

std::int64_t padding_of(std::int64_t bytes, std::int64_t page) {
  return (page - bytes % page) % page;
}

/// Adds what the part sends in a direction.
void add_sends(const brick::Decomposition& bricks, Region direction, BrickPlan& plan) {
  const auto regions = bricks.sends(direction, true);
  plan.basic_messages += static_cast<int>(regions.size());
  plan.layout_messages += static_cast<int>(bricks.sends(direction).size());
  for (const brick::BrickRange& region : regions) {
    const std::int64_t bytes = region.count * plan.brick_bytes;
    plan.sent_bytes += bytes;
    if (&region == &regions.back()) continue;  // nothing follows it
    for (std::size_t i = 0; i < kPageBytes.size(); ++i)
      plan.padding_bytes[i] += padding_of(bytes, kPageBytes[i]);
  }
}

}  // namespace

std::int64_t brick_bytes_of(const std::vector<int>& shape, int fields) {
  if (fields < 1) throw InvalidArgument(fmt::format("bricks of {} fields", fields));
  const auto bytes = std::accumulate(shape.begin(), shape.end(), 8.0 * fields,
                                     [](double made, int side) { return made * side; });
  if (bytes > kMostPartBytes)
    throw InvalidArgument(fmt::format("bricks of {} cells of {} fields: more than 2^60 bytes",
                                      fmt::join(shape, " x "), fields));
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{8} * fields,
                         [](std::int64_t made, int side) { return made * side; });
}

BrickPlan plan_bricks(const BrickQuestion& asked) {
  BrickPlan plan;
  plan.grid = brick::bricks_to_divide(asked.grid, asked.shape, asked.ghost);
  plan.grid.periodic.fill(true);
  plan.brick_bytes = brick_bytes_of(asked.shape, asked.fields);
  const brick::Division division(plan.grid, asked.ranks);
  // Part 0 is as long as any along each axis.
  constexpr int kLargest = 0;
  plan.parts = division.counts();
  plan.largest = division.size_of(kLargest);
  require_part(plan);
  const brick::Decomposition bricks(plan.grid.dims, plan.largest, plan.grid.ghosts,
                                    division.neighbour_sizes(kLargest));
  plan.inside = bricks.interior();
  plan.surface = bricks.owned() - bricks.interior();
  plan.ghosts = bricks.stored() - bricks.owned();
  for (const Region direction : brick::regions_of(plan.grid.dims)) {
    if (bricks.sends(direction).empty()) continue;
    ++plan.neighbours;
    if (division.neighbour(kLargest, direction) == kLargest) ++plan.own_neighbours;
    add_sends(bricks, direction, plan);
  }
  return plan;
}

}  // namespace strake::plan
