// Fields that a grid gets: those it allocates, and those whose arrays the user has.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "grid/check.hpp"
#include "grid/impl.hpp"
#include "memory/place_text.hpp"
#include "mpi/agree.hpp"
#include "mpi/job.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake {

using mpi::agree;

/// Neighbours own what is in this one's ghost cells. The same on all ranks.
void Grid::Impl::require_room(const Data& field) const {
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(fmt::format("field '{}': {}", field.name, what));
  };
  for (const Direction d : kDirections) {
    if (!d.is_within(axes)) continue;
    const std::array<int, 3> parts = d.components();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int radius = field.radius.depths(d)[axis];
      if (radius < 0)
        refuse(fmt::format("a radius of {} in direction {}", radius, grid::name_of(d)));
      const int count = placed.parts.used(axis);
      if (parts[axis] == 0 || (count == 1 && !options.periodic[axis])) continue;
      // The last one is the shortest.
      const std::int64_t shortest = placed.parts.range(axis, count - 1).size();
      if (radius <= shortest) continue;
      placement::Position there{};
      there[axis] = count - 1;
      refuse(fmt::format("a radius of {} in direction {}, but rank {} has {} cells along {}",
                         radius, grid::name_of(d), subgrid_of(placed.parts.part_at(there)).rank,
                         shortest, "xyz"[axis]));
    }
  }
}

namespace {

constexpr std::int64_t kLongestStride = std::int64_t{1} << 40;  // [bytes]

/// Throws if there is no such type. Its name becomes one that stays.
void settle_type(const std::string& field, ElementType& type) {
  if (type.bytes < 1)
    throw InvalidArgument(fmt::format("field '{}': elements of {} bytes", field, type.bytes));
  if (type.name == nullptr) return;
  const auto number = grid::find_number(type.name);
  if (!number)
    throw InvalidArgument(fmt::format("field '{}': numbers of type \"{}\"", field, type.name));
  if (type.components < 1 || number->bytes * type.components != type.bytes)
    throw InvalidArgument(fmt::format("field '{}': elements of {} bytes, which are {} x {}", field,
                                      type.bytes, type.components, type.name));
  type.name = number->name;
}

}  // namespace

/// The field, of which no part has memory yet. Collective.
std::unique_ptr<Grid::Impl::Data> Grid::Impl::described_field(const std::string& name,
                                                              const ElementType& type,
                                                              const FieldOptions& given) const {
  auto made = std::make_unique<Data>();
  Data& field = *made;
  field.name = name;
  field.bytes = type.bytes;
  field.type = type;
  field.options = given;
  field.radius = given.radius.value_or(options.radius);
  require_alike(field);
  std::string fault;
  try {
    for (const auto& other : fields)
      if (other->name == name)
        throw InvalidArgument(fmt::format("field '{}' is there already", name));
    settle_type(name, field.type);
    require_room(field);
  } catch (const InvalidArgument& error) {
    fault = error.what();
  }
  agree(comm, fault);
  return made;
}

Grid::Impl::Data* Grid::Impl::add(const std::string& name, const ElementType& type,
                                  const FieldOptions& given) {
  std::unique_ptr<Data> made = described_field(name, type, given);
  Data& field = *made;
  std::int64_t bytes_needed = 0;
  for (int i = 0; i < subgrids(); ++i) {
    const Data::Part& part = field.parts.emplace_back(
        field.bytes, owned_at(given.at, i), grid::depths_of(field.radius, axes),
        places[static_cast<std::size_t>(i)], check != nullptr);
    bytes_needed += part.size_bytes() * (given.next ? 2 : 1);
  }
  std::string fault;
  try {
    for (std::size_t i = 0; i < field.parts.size(); ++i)
      field.parts[i].allocate(places[i], fields.size(), given.next,
                              ranks == 1 || mpi::local_ranks() == 1);
    if (check) check->fence(field);
  } catch (const std::exception& error) {
    fault = fmt::format("field '{}': rank {} has no memory for {} bytes: {}", name, rank,
                        bytes_needed, error.what());
  }
  agree(comm, fault, ErrorCode::OutOfMemory);
  fields.push_back(std::move(made));
  return &field;
}

void Grid::Impl::adopt_part(Data& field, int subgrid, const Adopted<std::byte>& arrays) const {
  const Place place = places[static_cast<std::size_t>(subgrid)];
  const Box cells = owned_at(field.options.at, subgrid);
  const grid::Depths depths = grid::depths_of(field.radius, axes);
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(
        fmt::format("field '{}', subgrid {} of rank {}: {}", field.name, subgrid, rank, what));
  };
  const std::int64_t unit = field.type.name == nullptr ? 1 : field.bytes / field.type.components;
  for (const std::int64_t stride : {arrays.stride_y, arrays.stride_z})
    if (stride < 0 || stride > kLongestStride || stride % unit != 0)
      refuse(fmt::format("a stride of {} bytes", stride));
  const Data::Part& part =
      field.parts.emplace_back(field.bytes, cells, depths, arrays.stride_y, arrays.stride_z);
  if (part.stored.empty()) return;
  const std::int64_t row = part.stored.extent(0) * field.bytes;
  if (part.stride_y < row)
    refuse(fmt::format("rows of {} bytes that are {} apart", row, part.stride_y));
  const std::int64_t plane = part.stride_y * (part.stored.extent(1) - 1) + row;
  if (part.stride_z < plane)
    refuse(fmt::format("planes of {} bytes that are {} apart", plane, part.stride_z));
  if (arrays.first == nullptr)
    refuse(fmt::format("no array for the cells {}", grid::bounds_of(part.stored)));
  if ((arrays.next != nullptr) != field.options.next)
    refuse("a next array is given, or missing, unlike that of another subgrid");
  if (arrays.next == arrays.first) refuse("an array that is its own next one");
  for (const std::byte* const array : {arrays.first, arrays.next}) {
    if (array == nullptr) continue;
    if (reinterpret_cast<std::uintptr_t>(array) % static_cast<std::uintptr_t>(unit) != 0)
      refuse(fmt::format("an array at {}, which is no multiple of {} bytes",
                         static_cast<const void*>(array), unit));
    const Place there = classify(array);
    if (place.in_host_memory() ? !there.in_host_memory() : there != place)
      refuse(fmt::format("an array in {}, for a subgrid in {}", text_of(there), text_of(place)));
  }
  field.parts.back().use(arrays.first, arrays.next);
}

Grid::Impl::Data* Grid::Impl::adopt(const std::string& name, const ElementType& type,
                                    std::span<const Adopted<std::byte>> arrays,
                                    const FieldOptions& given) {
  FieldOptions with_next = given;
  with_next.next = std::ranges::any_of(arrays, [](const auto& one) { return one.next != nullptr; });
  std::unique_ptr<Data> made = described_field(name, type, with_next);
  std::string fault;
  try {
    if (arrays.size() != places.size())
      throw InvalidArgument(fmt::format("field '{}': {} arrays for the {} subgrids of rank {}",
                                        name, arrays.size(), places.size(), rank));
    for (int i = 0; i < subgrids(); ++i) adopt_part(*made, i, arrays[static_cast<std::size_t>(i)]);
  } catch (const InvalidArgument& error) {
    fault = error.what();
  }
  agree(comm, fault);
  fields.push_back(std::move(made));
  return fields.back().get();
}

Box Grid::Impl::stored(const FieldOptions& given, int subgrid) const {
  require_subgrid(subgrid);
  const Box cells = owned_at(given.at, subgrid);
  if (cells.empty()) return cells;
  const grid::Depths depths = grid::depths_of(given.radius.value_or(options.radius), axes);
  return strake::grown(cells, depths.below, depths.above);
}

}  // namespace strake
