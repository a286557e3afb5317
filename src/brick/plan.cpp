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
                         std::span<const int> brick, std::int64_t size, const BrickOptions& given)
    : element_bytes(size), options(given) {
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
    group = exchange::peers::Group::of(comm);
    choose_form();
    lay_out();
    if (maps()) plan_signals();
    plan_exchange();
  } catch (...) {
    real.MPI_Comm_free(&comm);
    throw;
  }
}

AnyBrickGrid::Plan::~Plan() {
  exchanges.clear();
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
  all.push_back({"BrickOptions::page", std::to_string(options.page)});
  all.push_back({"BrickOptions::form", std::to_string(static_cast<int>(options.form))});
  mpi::require_alike(comm, all);
}

/// Takes what is given; a fault in it, or an empty text.
std::string AnyBrickGrid::Plan::fault_of(std::span<const std::int64_t> wanted,
                                         std::span<const int> shape_wanted) {
  if (element_bytes < 1) return fmt::format("bricks of elements of {} bytes", element_bytes);
  if (options.fields < 1) return fmt::format("bricks of {} fields", options.fields);
  if (options.page != 0 && !sharing::may_be_page(options.page))
    return fmt::format("bricks in pages of {} bytes: it has to be a power of two, from {} to {}",
                       options.page, sharing::page_bytes(), sharing::kLargestPage);
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
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
    if (__builtin_mul_overflow(brick_bytes, shape[axis], &brick_bytes) || brick_bytes > kMostBytes)
      return fmt::format("bricks of more than 2^40 bytes");
    bricks.counts[axis] = options.counts[axis];
    bricks.periodic[axis] = options.periodic[axis];
    ghost[axis] = bricks.ghosts[axis] * shape[axis];
  }
  return {};
}

int AnyBrickGrid::Plan::directions() const noexcept { return brick::directions_of(dims); }

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
    brick::on_all(comm, [&] {
      if (rank == 0) part_of = placement::ordering_of(division->graph(), homes).vertex_of;
    });
    mpi::check(mpi::real_mpi().MPI_Bcast(part_of.data(), ranks, MPI_INT, 0, comm), "MPI_Bcast");
  }
  rank_of.resize(part_of.size());
  for (std::size_t one = 0; one < part_of.size(); ++one)
    rank_of[static_cast<std::size_t>(part_of[one])] = static_cast<int>(one);
}

/// Numbers the bricks, and finds what this rank owns.
void AnyBrickGrid::Plan::name_bricks() {
  const int part = part_of[static_cast<std::size_t>(rank)];
  brick::on_all(comm, [&] {
    decomposition.emplace(dims, division->size_of(part), bricks.ghosts,
                          division->neighbour_sizes(part));
    require_bytes();
    positions = decomposition->positions();
    numbers.resize(positions.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    ghosts.assign(numbers.begin() + decomposition->owned(), numbers.end());
    stride = options.apart ? brick_bytes : brick_bytes * options.fields;
  });
  const Coordinates lower = division->lower_of(part);
  const Coordinates size = division->size_of(part);
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    owned.lower[axis] = lower[axis] * shape[axis];
    owned.upper[axis] = (lower[axis] + size[axis]) * shape[axis];
  }
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
      made[number * codes + code] = neighbour < decomposition->owned()
                                        ? offsets[static_cast<std::size_t>(neighbour)]
                                        : offset_of_ghost(neighbour);
    }
  }
  return made;
}

/// Refuses grids that no memory has room for, before anything is computed from their size.
void AnyBrickGrid::Plan::require_bytes() const {
  constexpr double kMost = 1e17;
  const double all =
      (static_cast<double>(brick_bytes) * decomposition->stored() +
       static_cast<double>(page()) * static_cast<double>(decomposition->boxes().size())) *
      options.fields;
  if (all > kMost)
    throw InvalidArgument(
        fmt::format("{} bricks of {} fields of {} bytes each, in pages of {}: {:.3g} bytes",
                    decomposition->stored(), options.fields, brick_bytes, page(), all));
}

/// Finds where each brick lies. With MemMap boxes of the surface and of ghosts begin at pages.
void AnyBrickGrid::Plan::lay_out() {
  const auto whole = [this](std::int64_t size) { return maps_views() ? in_pages(size) : size; };
  offsets.resize(positions.size());
  std::int64_t at = 0;
  for (const brick::StoredBox& stored : decomposition->boxes()) {
    const auto first = static_cast<std::size_t>(stored.first);
    if (stored.first >= decomposition->interior()) at = whole(at);
    for (std::int64_t i = 0; i < stored.box.size(dims); ++i, at += stride)
      offsets[first + static_cast<std::size_t>(i)] = at;
  }
  at = whole(at);
  field_bytes = options.apart ? at : brick_bytes;
  bytes = options.apart ? at * options.fields : at;
  if (!maps())
    adjacency = adjacency_of(
        [this](std::int32_t number) { return offsets[static_cast<std::size_t>(number)]; });
}

void AnyBrickGrid::Plan::require_field(int field) const {
  if (field < 0 || field >= options.fields)
    throw InvalidArgument(fmt::format("field {} of bricks of {}", field, options.fields));
}

void AnyBrickGrid::Plan::require_brick(int number) const {
  if (number < 0 || number >= decomposition->stored())
    throw InvalidArgument(fmt::format("brick {} of {}", number, decomposition->stored()));
}

void AnyBrickGrid::Plan::require_own(bool with_ghosts) const {
  if (with_ghosts && std::ssize(ghosts) < decomposition->stored() - decomposition->owned())
    throw InvalidArgument(
        "ghosts of bricks to or from an array: they are other ranks' bricks (BrickForm::Mapped); "
        "copy owned cells, or read ghosts by a view");
}

}  // namespace strake
