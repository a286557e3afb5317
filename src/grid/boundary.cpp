// Cells beyond the open ends of a grid, which no exchange fills.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/backend.hpp"
#include "grid/impl.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// The axis of a face.
std::size_t axis_of(Direction face) {
  const std::array<int, 3> parts = face.components();
  const auto is_side = [](int part) { return part == -1 || part == 1; };
  if (face.order() != 1 || std::ranges::count_if(parts, is_side) != 1)
    throw InvalidArgument(fmt::format(
        "an end of a grid in direction ({}, {}, {}), not along one axis", face.x, face.y, face.z));
  return static_cast<std::size_t>(std::ranges::find_if(parts, is_side) - parts.begin());
}

/// The stream of a place's device among those of a call; null: the call has none.
Stream* stream_of(Place place, std::span<Stream> streams) {
  if (streams.empty() || place.in_host_memory()) return nullptr;
  const auto found = std::ranges::find(streams, place.device, &Stream::device);
  if (found == streams.end())
    throw InvalidArgument(
        fmt::format("no stream of device {}, which holds cells beyond an end", place.device));
  return &*found;
}

void run(const CopyPlan& plan, Stream* stream, std::byte* to, const std::byte* from) {
  stream == nullptr ? plan.run(to, from) : plan.enqueue(*stream, to, from);
}

}  // namespace

Box Grid::Impl::boundary(const FieldHandle& handle, Direction face, int subgrid) const {
  const Data& field = *fields[static_cast<std::size_t>(wanted(handle, {}).fields.front())];
  const std::size_t axis = axis_of(face);
  const Data::Part& part = field.part(subgrid);
  if (part.stored.empty() || static_cast<int>(axis) >= axes || neighbour(face, subgrid)) return {};
  Box beyond = part.stored;
  if (face.components()[axis] < 0) {
    beyond.upper[axis] = part.owned.lower[axis];
  } else {
    beyond.lower[axis] = part.owned.upper[axis];
  }
  return beyond.empty() ? Box{} : beyond;
}

/// Cells of a part in the order of `beyond`, but in the reverse order along an axis, and so many
/// cells further along it that they lie on this side of the end.
Layout Grid::Impl::mirrored(const Data& field, Direction face, int subgrid,
                            const Box& beyond) const {
  const std::size_t axis = axis_of(face);
  const Data::Part& part = field.part(subgrid);
  const std::int64_t skipped = field.options.at.on_faces()[axis] ? 1 : 0;
  const std::int64_t depth = beyond.extent(static_cast<int>(axis));
  // Ghost cells on the other side are as good as owned ones, after an exchange.
  const std::int64_t there =
      (neighbour(-face, subgrid) ? part.stored : part.owned).extent(static_cast<int>(axis)) -
      (neighbour(-face, subgrid) ? depth : 0);
  if (depth + skipped > there)
    throw InvalidArgument(
        fmt::format("field '{}': {} cells are mirrored at the end {} of subgrid {}, which has {} "
                    "along {}",
                    field.name, depth, grid::name_of(face), subgrid, there, "xyz"[axis]));
  // The cell next to the end comes last below it, and first above.
  Index3 first = beyond.lower;
  first[axis] = face.components()[axis] < 0 ? part.owned.lower[axis] + skipped + depth - 1
                                            : part.owned.upper[axis] - skipped - 1;
  std::array<std::int64_t, 3> strides = {part.bytes, part.stride_y, part.stride_z};
  strides[axis] = -strides[axis];
  const Dim dims[] = {{beyond.extent(2), strides[2]},
                      {beyond.extent(1), strides[1]},
                      {beyond.extent(0), strides[0]}};
  return Layout::box(part.offset_of(first), part.bytes, dims);
}

const CopyPlan& Grid::Impl::boundary_plan(const Ends& wanted, const Box& beyond) {
  const auto known = boundary_plans_.find(wanted);
  if (known != boundary_plans_.end()) return known->second;
  const Data& field = *fields[static_cast<std::size_t>(wanted.field)];
  const Place place = places[static_cast<std::size_t>(wanted.subgrid)];
  const Direction face = Direction::of_number(wanted.face);
  const Data::Part& part = field.part(wanted.subgrid);
  const Dim again[] = {{beyond.size(), 0}};
  const Layout from = wanted.mirrored ? mirrored(field, face, wanted.subgrid, beyond)
                                      : Layout::box(0, field.bytes, again);
  return boundary_plans_
      .emplace(wanted, CopyPlan::compile(part.layout_of(beyond), place, from,
                                         wanted.mirrored ? place : Place{}))
      .first->second;
}

template <typename Set>
void Grid::Impl::set_boundary(const FieldHandle& handle, Direction face, bool mirrors,
                              std::span<Stream> streams, const Set& set) {
  const Data& field = *fields[static_cast<std::size_t>(wanted(handle, {}).fields.front())];
  struct Side {
    int subgrid;
    Stream* stream;
    const CopyPlan* plan;
  };
  if (const std::size_t axis = axis_of(face); options.periodic[axis])
    throw InvalidArgument(
        fmt::format("field '{}' is {} at the end {}, but the grid is periodic along {}", field.name,
                    mirrors ? "mirrored" : "filled", grid::name_of(face), "xyz"[axis]));
  std::vector<Side> sides;  // all, before the first is set
  for (int i = 0; i < subgrids(); ++i) {
    const Box beyond = boundary(handle, face, i);
    if (beyond.empty()) continue;
    const Place place = places[static_cast<std::size_t>(i)];
    if (place.in_host_memory() && StreamAccess::any_captures(streams))
      throw Unsupported(fmt::format(
          "field '{}': cells in host memory are set while streams are being captured", field.name));
    sides.push_back({i, stream_of(place, streams),
                     &boundary_plan({handle.number(), i, face.number(), mirrors}, beyond)});
  }
  for (const Side& side : sides) set(*side.plan, field, side.subgrid, side.stream);
}

void Grid::Impl::mirror(const FieldHandle& handle, Direction face, std::span<Stream> streams) {
  set_boundary(handle, face, true, streams,
               [](const CopyPlan& plan, const Data& field, int subgrid, Stream* stream) {
                 std::byte* const base = field.part(subgrid).buffer(field.current);
                 run(plan, stream, base, base);
               });
}

void Grid::Impl::fill(const FieldHandle& handle, Direction face, std::span<const std::byte> value,
                      std::span<Stream> streams) {
  if (std::ssize(value) != handle.type().bytes)
    throw InvalidArgument(fmt::format("field '{}' has elements of {} bytes, and is filled by {}",
                                      handle.name(), handle.type().bytes, value.size()));
  set_boundary(handle, face, false, streams,
               [&](const CopyPlan& plan, const Data& field, int subgrid, Stream* stream) {
                 run(plan, stream, field.part(subgrid).buffer(field.current), value.data());
               });
}

}  // namespace strake
