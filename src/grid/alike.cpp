// All ranks have to give a grid these values alike. They are compared where they are given: in the
// constructor, in add(), and where an exchange is planned.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  const std::array<bool, 3> on_faces = {at.x, at.y, at.z};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (on_faces[axis]) faces.push_back(fmt::format("face_{}", kAxes[axis]));
  if (faces.empty()) return "cell";
  return faces.size() == 3 ? "node" : fmt::format("{}", fmt::join(faces, " and "));
}

std::string text_of(const Grid::ElementKind& kind) {
  if (kind.name == nullptr) return "no number";
  return kind.components == 1 ? kind.name : fmt::format("{} x {}", kind.components, kind.name);
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
      {of_field("the element type"), text_of(field.kind)},
      {of_field("the place in the cell"), text_of(field.options.at)}};
  for (const Direction d : kDirections) {
    if (!d.is_within(axes)) continue;
    given.push_back(
        {fmt::format("the radius in direction {} of field '{}'", grid::name_of(d), field.name),
         std::to_string(field.radius.at(d))});
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
