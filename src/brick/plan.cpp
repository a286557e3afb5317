#include "brick/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "grid/homes.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "placement/ordering.hpp"
#include "strake/error.hpp"

namespace strake {

using brick::Coordinates;
using brick::Region;

AnyBrickGrid::Plan::Plan(MPI_Comm over, std::span<const std::int64_t> wanted,
                         std::span<const int> brick, std::int64_t bytes, const BrickOptions& given)
    : element_bytes(bytes), options(given) {
  mpi::require_intracommunicator(over, "a grid of bricks");
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(over, &comm), "MPI_Comm_dup");
  try {
    real.MPI_Comm_rank(comm, &rank);
    real.MPI_Comm_size(comm, &ranks);
    require_alike(wanted, brick);
    mpi::agree(comm, fault_of(wanted, brick));
    divide();
    place();
    name_bricks();
    if (options.form == BrickForm::Mapped)
      plan_signals();
    else
      adjacency = adjacency_of([this](std::int32_t number) { return number * stride; });
    plan_exchange();
  } catch (...) {
    real.MPI_Comm_free(&comm);
    throw;
  }
}

AnyBrickGrid::Plan::~Plan() {
  exchange = Exchange();
  signals = Exchange();
  group.reset();
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over == 0) mpi::real_mpi().MPI_Comm_free(&comm);
}

void AnyBrickGrid::Plan::require_alike(std::span<const std::int64_t> wanted,
                                       std::span<const int> brick) const {
  std::vector<mpi::Given> all = {{"the number of axes", std::to_string(wanted.size())},
                                 {"the number of axes of a brick", std::to_string(brick.size())}};
  const auto give = [&](const char* what, std::size_t axis, std::int64_t value) {
    all.push_back({fmt::format("{} along axis {}", what, axis), std::to_string(value)});
  };
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) give("the extent", axis, wanted[axis]);
  for (std::size_t axis = 0; axis < brick.size(); ++axis) give("a brick", axis, brick[axis]);
  for (std::size_t axis = 0; axis < options.counts.size(); ++axis) {
    give("periodic", axis, options.periodic[axis] ? 1 : 0);
    give("BrickOptions::counts", axis, options.counts[axis]);
  }
  all.push_back({"the size of an element", std::to_string(element_bytes)});
  all.push_back({"BrickOptions::ghost", std::to_string(options.ghost)});
  all.push_back({"BrickOptions::fields", std::to_string(options.fields)});
  all.push_back({"BrickOptions::apart", std::to_string(options.apart ? 1 : 0)});
  all.push_back({"BrickOptions::form", std::to_string(static_cast<int>(options.form))});
  mpi::require_alike(comm, all);
}

/// Takes what is given; a fault in it, or an empty text.
std::string AnyBrickGrid::Plan::fault_of(std::span<const std::int64_t> wanted,
                                         std::span<const int> shape_wanted) {
  if (element_bytes < 1) return fmt::format("bricks of elements of {} bytes", element_bytes);
  if (options.fields < 1) return fmt::format("bricks of {} fields", options.fields);
  try {
    bricks = brick::bricks_to_divide(wanted, shape_wanted, options.ghost);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  dims = bricks.dims;
  extent.fill(1);
  shape.fill(1);
  brick_bytes = element_bytes;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    extent[axis] = wanted[axis];
    shape[axis] = bricks.lengths[axis];
    brick_bytes *= shape[axis];
    bricks.counts[axis] = options.counts[axis];
    bricks.periodic[axis] = options.periodic[axis];
    ghost[axis] = bricks.ghosts[axis] * shape[axis];
  }
  return {};
}

int AnyBrickGrid::Plan::directions() const noexcept {
  int all = 1;
  for (int axis = 0; axis < dims; ++axis) all *= 3;
  return all;
}

void AnyBrickGrid::Plan::divide() {
  // All ranks have the same values, so all throw.
  division.emplace(bricks, ranks);
}

/// Gives each rank its part: parts that exchange much go to one node.
void AnyBrickGrid::Plan::place() {
  part_of.resize(static_cast<std::size_t>(ranks));
  std::iota(part_of.begin(), part_of.end(), 0);
  std::vector<int> first(static_cast<std::size_t>(ranks) + 1);
  std::iota(first.begin(), first.end(), 0);
  const Place place;
  const placement::Homes homes = grid::homes_of(comm, std::span(&place, 1), first);
  const bool has_several =
      !homes.island_of.empty() ||
      std::ranges::any_of(homes.node_of, [](int number) { return number != 0; });
  if (has_several) {
    std::string fault;
    ErrorCode kind = ErrorCode::Other;
    if (rank == 0) {
      try {
        part_of = placement::ordering_of(division->graph(), homes).vertex_of;
      } catch (const std::exception& error) {
        fault = error.what();
        kind = kind_of_current_error();
      }
    }
    mpi::agree(comm, fault, kind);
    mpi::check(mpi::real_mpi().MPI_Bcast(part_of.data(), ranks, MPI_INT, 0, comm), "MPI_Bcast");
  }
  rank_of.resize(part_of.size());
  for (std::size_t one = 0; one < part_of.size(); ++one)
    rank_of[static_cast<std::size_t>(part_of[one])] = static_cast<int>(one);
}

/// Numbers the bricks, and finds what this rank owns.
void AnyBrickGrid::Plan::name_bricks() {
  const int part = part_of[static_cast<std::size_t>(rank)];
  std::string fault;
  ErrorCode kind = ErrorCode::Other;
  try {
    decomposition.emplace(dims, division->size_of(part), bricks.ghosts,
                          division->neighbour_sizes(part));
    positions = decomposition->positions();
    numbers.resize(positions.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    ghosts.assign(numbers.begin() + decomposition->owned(), numbers.end());
  } catch (const std::exception& error) {
    fault = error.what();
    kind = kind_of_current_error();
  }
  mpi::agree(comm, fault, kind);
  const Coordinates lower = division->lower_of(part);
  const Coordinates size = division->size_of(part);
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    owned.lower[axis] = lower[axis] * shape[axis];
    owned.upper[axis] = (lower[axis] + size[axis]) * shape[axis];
  }
  stride = options.apart ? brick_bytes : brick_bytes * options.fields;
}

std::vector<std::int64_t> AnyBrickGrid::Plan::adjacency_of(
    const std::function<std::int64_t(std::int32_t number)>& offset_of_ghost) const {
  const auto codes = static_cast<std::size_t>(directions());
  std::vector<std::int64_t> made(positions.size() * codes);
  for (std::size_t number = 0; number < positions.size(); ++number) {
    for (std::size_t code = 0; code < codes; ++code) {
      Coordinates there = positions[number];
      for (std::size_t axis = 0; axis < axes(); ++axis)
        there[axis] += brick::sign_of(static_cast<Region>(code), static_cast<int>(axis));
      const std::int32_t neighbour = decomposition->is_stored(there)
                                         ? decomposition->brick_at(there)
                                         : static_cast<std::int32_t>(number);
      made[number * codes + code] =
          neighbour < decomposition->owned() ? neighbour * stride : offset_of_ghost(neighbour);
    }
  }
  return made;
}

void AnyBrickGrid::Plan::plan_exchange() {
  const std::int64_t of_field = positions.size() * static_cast<std::size_t>(stride);
  const bool by_region = options.form == BrickForm::Basic;
  const int arrays = options.apart ? options.fields : 1;
  ExchangePart part;
  part.array({}, of_field * arrays);
  const int own = part_of[static_cast<std::size_t>(rank)];
  for (Region direction = 0; direction < directions(); ++direction) {
    const auto there = division->neighbour(own, direction);
    if (!there || direction == directions() / 2) continue;
    const int peer = rank_of[static_cast<std::size_t>(*there)];
    if (is_mapped(peer)) continue;
    for (int array = 0; array < arrays; ++array) {
      const auto layout = [&](const brick::BrickRange& range) {
        return Layout::dense(range.count * stride, array * of_field + range.first * stride);
      };
      for (const brick::BrickRange& range : decomposition->sends(direction, by_region)) {
        part.send(peer, direction, 0, layout(range), fmt::format("direction {}", direction));
        ++messages;
      }
      const Region back = directions() - 1 - direction;
      for (const brick::BrickRange& range : decomposition->receives(direction, by_region))
        part.receive(peer, back, 0, layout(range), fmt::format("direction {}", direction));
    }
  }
  exchange = Exchange(comm, part);
}

void AnyBrickGrid::Plan::require_field(int field) const {
  if (field < 0 || field >= options.fields)
    throw InvalidArgument(fmt::format("field {} of bricks of {}", field, options.fields));
}

void AnyBrickGrid::Plan::require_own(bool with_ghosts) const {
  if (with_ghosts && std::ssize(ghosts) < decomposition->stored() - decomposition->owned())
    throw InvalidArgument(
        "ghosts of bricks to or from an array: they are other ranks' bricks (BrickForm::Mapped); "
        "copy owned cells, or read ghosts by a view");
}

Layout AnyBrickGrid::Plan::of_bricks(bool with_ghosts) const {
  std::vector<Layout> parts;
  const std::int64_t row = shape[0] * element_bytes;
  for (const brick::StoredBox& stored : decomposition->boxes()) {
    if (!with_ghosts && stored.first >= decomposition->owned()) break;
    std::vector<Dim> of_boxes;
    std::vector<Dim> of_cells;
    std::int64_t apart = stride;
    std::int64_t along = row;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const std::int64_t count = stored.box.upper[axis] - stored.box.lower[axis];
      of_boxes.insert(of_boxes.begin(), {count, apart});
      apart *= count;
      if (axis == 0) continue;
      of_cells.insert(of_cells.begin(), {shape[axis], along});
      along *= shape[axis];
    }
    of_boxes.insert(of_boxes.end(), of_cells.begin(), of_cells.end());
    parts.push_back(Layout::box(stored.first * stride, row, of_boxes));
  }
  return Layout::sequence(parts);
}

Layout AnyBrickGrid::Plan::of_array(bool with_ghosts) const {
  std::vector<Layout> parts;
  for (const brick::StoredBox& stored : decomposition->boxes()) {
    if (!with_ghosts && stored.first >= decomposition->owned()) break;
    std::vector<Dim> of_boxes;
    std::vector<Dim> of_cells;
    std::int64_t along = element_bytes;  // from cell to cell along the axis
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const int lower = stored.box.lower[axis] + (with_ghosts ? bricks.ghosts[axis] : 0);
      const int stored_bricks =
          decomposition->counts()[axis] + (with_ghosts ? 2 * bricks.ghosts[axis] : 0);
      of_boxes.insert(of_boxes.begin(),
                      {stored.box.upper[axis] - stored.box.lower[axis], along * shape[axis]});
      if (axis > 0) of_cells.insert(of_cells.begin(), {shape[axis], along});
      offset += lower * shape[axis] * along;
      along *= stored_bricks * shape[axis];
    }
    of_boxes.insert(of_boxes.end(), of_cells.begin(), of_cells.end());
    parts.push_back(Layout::box(offset, shape[0] * element_bytes, of_boxes));
  }
  return Layout::sequence(parts);
}

}  // namespace strake
