// All ranks have to give a grid these values alike. They are compared where they are given: in the
// constructor, in add(), and where an exchange is planned.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "grid/impl.hpp"
#include "mpi/agree.hpp"

namespace strake {
namespace {

constexpr const char* kAxes = "xyz";

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string text_of(const At& at) {
  std::vector<std::string> faces;
  const std::array<bool, 3> on_faces = at.on_faces();
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (on_faces[axis]) faces.push_back(fmt::format("face_{}", kAxes[axis]));
  if (faces.empty()) return "cell";
  return faces.size() == 3 ? "node" : fmt::format("{}", fmt::join(faces, " and "));
}

/// "2", or "2 x 1" where the depth differs by axis.
std::string text_of(const Radius& radius, Direction d) {
  std::vector<int> along;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (d.components()[axis] != 0) along.push_back(radius.depths(d)[axis]);
  const bool same = std::ranges::adjacent_find(along, std::not_equal_to<>()) == along.end();
  return same ? std::to_string(radius.at(d)) : fmt::format("{}", fmt::join(along, " x "));
}

std::string text_of(const ElementType& type) {
  if (type.name == nullptr) return "no number";
  return type.components == 1 ? type.name : fmt::format("{} x {}", type.components, type.name);
}

}  // namespace

void Grid::Impl::require_alike(std::span<const std::int64_t> wanted) const {
  std::vector<mpi::Given> given = {{"the number of axes", std::to_string(wanted.size())}};
  for (std::size_t axis = 0; axis < std::min<std::size_t>(wanted.size(), 3); ++axis)
    given.push_back(
        {fmt::format("the extent along {}", kAxes[axis]), std::to_string(wanted[axis])});
  // Once one count is given, a count of 0 means 1.
  const int least = std::ranges::any_of(options.counts, [](int count) { return count != 0; });
  for (std::size_t axis = 0; axis < 3; ++axis) {
    given.push_back(
        {fmt::format("periodic along {}", kAxes[axis]), text_of(options.periodic[axis])});
    given.push_back({fmt::format("the count of subgrids along {}", kAxes[axis]),
                     std::to_string(std::max(options.counts[axis], least))});
  }
  given.push_back({"GridOptions::placement", std::to_string(static_cast<int>(options.placement))});
  given.push_back(
      {"GridOptions::subgrid_of", fmt::format("{}", fmt::join(options.subgrid_of, " "))});
  mpi::require_alike(comm, given);
}

// A second buffer is each rank's own affair.
void Grid::Impl::require_alike(const Data& field) const {
  const auto of_field = [&](const char* what) {
    return fmt::format("{} of field '{}'", what, field.name);
  };
  std::vector<mpi::Given> given = {
      {fmt::format("the name of field {}", fields.size()), fmt::format("'{}'", field.name)},
      {of_field("the element size"), fmt::format("{} bytes", field.bytes)},
      {of_field("the element type"), text_of(field.type)},
      {of_field("the place in the cell"), text_of(field.options.at)}};
  for (const Direction d : kDirections) {
    if (!d.is_within(axes)) continue;
    given.push_back(
        {fmt::format("the radius in direction {} of field '{}'", grid::name_of(d), field.name),
         text_of(field.radius, d)});
  }
  mpi::require_alike(comm, given);
}

void Grid::Impl::require_alike(const Wanted& wanted) const {
  std::vector<std::string> names;
  for (const int number : wanted.fields)
    names.push_back(fmt::format("'{}'", fields[static_cast<std::size_t>(number)]->name));
  std::vector<mpi::Given> given = {
      {"the list of fields of an exchange", fmt::format("{}", fmt::join(names, ", "))}};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis)
    given.push_back(
        {fmt::format("GhostOptions::axes along {}", kAxes[axis]), text_of(wanted.axes[axis])});
  given.push_back({"GhostOptions::depth", std::to_string(wanted.depth)});
  mpi::require_alike(comm, given);
}

}  // namespace strake
