// Which bytes go to which neighbour, by form.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "brick/plan.hpp"

namespace strake {

using brick::BrickRange;
using brick::Coordinates;
using brick::Region;

ByteRange AnyBrickGrid::Plan::bytes_of(const BrickRange& range) const noexcept {
  const std::int32_t last = range.first + range.count - 1;
  return {offsets[static_cast<std::size_t>(range.first)],
          offsets[static_cast<std::size_t>(last)] + stride};
}

void AnyBrickGrid::Plan::plan_exchange() {
  if (options.form == BrickForm::Shift) {
    for (std::size_t axis = 0; axis < axes(); ++axis)
      if (bricks.ghosts[axis] > 0) exchanges.emplace_back(comm, shift_along(axis));
  } else {
    ExchangePart part;
    part.array({}, bytes);
    for_each_neighbour([&](Region direction, int peer) {
      if (!is_mapped(peer)) plan_transfers(part, direction, peer);
    });
    exchanges.emplace_back(comm, part);
  }
  for (const Exchange& one : exchanges) bytes_sent += one.bytes_sent();
}

/// Adds what goes to the neighbour in one direction, and what comes from there.
void AnyBrickGrid::Plan::plan_transfers(ExchangePart& part, Region direction, int peer) {
  const Region back = directions() - 1 - direction;
  const bool by_region = options.form == BrickForm::Basic;
  const auto sends = decomposition->sends(direction, by_region);
  const auto receives = decomposition->receives(direction, by_region);
  if (sends.empty()) return;
  const std::string what = fmt::format("direction {}", direction);
  // One view for each field where one range would not do.
  const bool by_view = maps_views() && is_far(peer);
  for (int field = 0; field < (options.apart ? options.fields : 1); ++field) {
    const std::int64_t begin = field * field_bytes;
    const auto dense = [&](ByteRange range) {
      return Layout::dense(range.size(), begin + range.begin);
    };
    if (by_view) {
      std::vector<ByteRange> pages;
      std::int64_t length = 0;
      for (const BrickRange& range : sends) {
        const ByteRange exact = bytes_of(range);
        pages.push_back({begin + exact.begin, begin + in_pages(exact.end)});
        length += range.first == sends.back().first ? exact.size() : pages.back().size();
      }
      const BrickRange all{receives.front().first,
                           receives.back().first + receives.back().count - receives.front().first};
      views.push_back(std::move(pages));
      const int array = part.array({}, length);
      part.send(peer, direction, array, Layout::dense(length), what);
      part.receive(peer, back, 0, dense(bytes_of(all)), what);
      ++messages;
      continue;
    }
    for (const BrickRange& range : sends) {
      part.send(peer, direction, 0, dense(bytes_of(range)), what);
      ++messages;
    }
    for (const BrickRange& range : receives)
      part.receive(peer, back, 0, dense(bytes_of(range)), what);
  }
}

/// The step of Shift along an axis: to both sides, with the ghosts along the axes before.
ExchangePart AnyBrickGrid::Plan::shift_along(std::size_t axis) {
  ExchangePart part;
  part.array({}, bytes);
  const int own = part_of[static_cast<std::size_t>(rank)];
  const auto next = [&](std::size_t along, int side) {
    Region step = 1;
    for (std::size_t i = 0; i < along; ++i) step *= 3;
    return division->neighbour(own, directions() / 2 + side * step);
  };
  brick::BrickBox box;
  for (std::size_t i = 0; i < axes(); ++i) {
    box.upper[i] = decomposition->counts()[i];
    // Ghosts beyond an end of the grid are the program's.
    if (i < axis && next(i, -1)) box.lower[i] -= bricks.ghosts[i];
    if (i < axis && next(i, 1)) box.upper[i] += bricks.ghosts[i];
  }
  const auto bricks_from = [&](int lower) {
    brick::BrickBox slab = box;
    slab.lower[axis] = lower;
    slab.upper[axis] = lower + bricks.ghosts[axis];
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> lengths;
    for (int field = 0; field < (options.apart ? options.fields : 1); ++field)
      brick::for_each_position(slab, dims, [&](const Coordinates& position) {
        const auto number = static_cast<std::size_t>(decomposition->brick_at(position));
        const std::int64_t begin = field * field_bytes + offsets[number];
        if (!begins.empty() && begins.back() + lengths.back() == begin) {
          lengths.back() += stride;
        } else {
          begins.push_back(begin);
          lengths.push_back(stride);
        }
      });
    return Layout::blocks(begins, lengths);
  };
  const int count = decomposition->counts()[axis];
  const int depth = bricks.ghosts[axis];
  for (const int side : {-1, 1}) {
    const auto there = next(axis, side);
    if (!there) continue;
    const int peer = rank_of[static_cast<std::size_t>(*there)];
    const std::string what = fmt::format("axis {}", axis);
    part.send(peer, side + 1, 0, bricks_from(side < 0 ? 0 : count - depth), what);
    part.receive(peer, 1 - side, 0, bricks_from(side < 0 ? -depth : count), what);
    ++messages;
  }
  return part;
}

}  // namespace strake
