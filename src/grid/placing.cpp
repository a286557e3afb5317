// Which subgrid of a grid each rank gets, and what that is expected to be worth.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "exchange/choice/choice.hpp"
#include "grid/homes.hpp"
#include "grid/impl.hpp"
#include "machine/profile_state.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "placement/forecast.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

using placement::PlacedGrid;

/// A placed grid as numbers that travel.
using PackedGrid = std::vector<std::int64_t>;
PackedGrid packed(const PlacedGrid& placed) {
  PackedGrid made = {static_cast<std::int64_t>(placed.used), placed.nodes ? 1 : 0};
  for (const placement::Position& counts :
       {placed.parts.counts(), placed.nodes.value_or(placement::Position{}),
        placed.of_node.value_or(placement::Position{})})
    made.insert(made.end(), counts.begin(), counts.end());
  made.insert(made.end(),
              {placed.shares.self, placed.shares.node, placed.shares.network, 0, placed.islands});
  made.insert(made.end(), placed.part_of.begin(), placed.part_of.end());
  return made;
}
constexpr std::size_t kNanoseconds = 14;  ///< that placing took
constexpr std::size_t kIslands = 15;
constexpr std::size_t kPackedFields = 16;

PlacedGrid unpacked(const Index3& extent, const PackedGrid& numbers) {
  const auto position = [&](std::size_t at) {
    return placement::Position{static_cast<int>(numbers[at]), static_cast<int>(numbers[at + 1]),
                               static_cast<int>(numbers[at + 2])};
  };
  PlacedGrid made;
  made.used = static_cast<Placement>(numbers[0]);
  made.parts = placement::Partition(extent, position(2));
  if (numbers[1] != 0) {
    made.nodes = position(5);
    made.of_node = position(8);
  }
  made.shares = {numbers[11], numbers[12], numbers[13]};
  made.islands = numbers[kIslands];
  for (std::size_t i = kPackedFields; i < numbers.size(); ++i)
    made.part_of.push_back(static_cast<int>(numbers[i]));
  return made;
}

int deepest(const Radius& radius) {
  int depth = 0;
  for (const Direction d : kDirections) depth = std::max(depth, radius.at(d));
  return std::max(depth, 1);
}

const char* name_of(Placement placement) {
  switch (placement) {
    case Placement::Best:
      return "best";
    case Placement::Model:
      return "model";
    case Placement::NodeAware:
      return "node-aware";
    case Placement::Flat:
      return "flat";
    case Placement::Morton:
      return "Morton";
    case Placement::Given:
      return "given";
  }
  return "";
}

}  // namespace

placement::GridToPlace Grid::Impl::to_place() const {
  return {extent, options.counts, deepest(options.radius), options.periodic, options.subgrid_of};
}

/// The time that the model predicts for an exchange of cells of so many bytes; nothing where this
/// machine was not measured. [s]
std::optional<double> Grid::Impl::predicted(const PlacedGrid& grid, std::int64_t cell_bytes) const {
  const machine::Located& located = machine::located_here();
  if (!located.profile) return std::nullopt;
  std::vector<machine::PathEnd> end_of(grid.part_of.size());
  std::vector<int> used(homes.node_of.size(), 0);  // places of each node so far
  for (std::size_t place = 0; place < grid.part_of.size(); ++place) {
    machine::PathEnd& end = end_of[static_cast<std::size_t>(grid.part_of[place])];
    end.rank = static_cast<int>(place);
    end.node = homes.node_of[place];
    const int number = used[static_cast<std::size_t>(end.node)]++;
    if (places.front().in_host_memory()) continue;
    end.memory = MemoryKind::Device;
    end.gpu = number;
  }
  const auto transfers = placement::transfers_of(
      grid.parts, {deepest(options.radius), cell_bytes, options.periodic}, end_of);
  if (transfers.empty()) return std::nullopt;
  return machine::ExchangeModel(*located.profile, exchange::mpi_library())
      .predict(transfers)
      .seconds;
}

PlacedGrid Grid::Impl::chosen() const {
  constexpr std::int64_t kOneField = 8;
  PlacedGrid best = placement::place_grid(to_place(), options.placement, homes);
  if (options.placement != Placement::Model || best.used == Placement::Flat) return best;
  PlacedGrid flat = placement::place_grid(to_place(), Placement::Flat, homes);
  const auto expected = predicted(best, kOneField);
  const auto otherwise = predicted(flat, kOneField);
  return expected && otherwise && *otherwise < *expected ? flat : best;
}

void Grid::Impl::place() {
  homes = grid::homes_of(comm, places, first_place);
  std::string fault;
  ErrorCode kind = ErrorCode::Other;
  PackedGrid numbers(kPackedFields + homes.node_of.size());
  if (rank == 0) {
    try {
      const auto begin = std::chrono::steady_clock::now();
      numbers = packed(chosen());
      numbers[kNanoseconds] =
          (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
    } catch (const std::exception& error) {
      fault = error.what();
      kind = kind_of_current_error();
    }
  }
  mpi::agree(comm, fault, kind);
  mpi::check(mpi::real_mpi().MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()),
                                       MPI_INT64_T, 0, comm),
             "MPI_Bcast");
  placed = unpacked(extent, numbers);
  place_of = placed.place_of();
  seconds_of_placing_ = 1e-9 * static_cast<double>(numbers[kNanoseconds]);
}

std::string Grid::Impl::placement_text() const {
  const std::int64_t all = std::max<std::int64_t>(placed.shares.all(), 1);
  const auto percent = [&](std::int64_t cells, std::int64_t of) {
    return 100 * static_cast<double>(cells) / static_cast<double>(std::max<std::int64_t>(of, 1));
  };
  if (homes.island_of.empty() &&
      std::ranges::all_of(homes.node_of, [](int number) { return number == 0; }))
    return {};
  std::string text = fmt::format("placed {}: ", name_of(placed.used));
  if (placed.nodes)
    text += fmt::format("{} x {} x {} nodes of {} x {} x {}, ", (*placed.nodes)[0],
                        (*placed.nodes)[1], (*placed.nodes)[2], (*placed.of_node)[0],
                        (*placed.of_node)[1], (*placed.of_node)[2]);
  text += fmt::format("{:.1f} % of the bytes leave the nodes", percent(placed.shares.network, all));
  if (!homes.island_of.empty())
    text += fmt::format(", {:.1f} % go between islands of a node", percent(placed.islands, all));
  if (placed.used == Placement::Flat) return text + "\n";
  const PlacedGrid flat = placement::place_grid(to_place(), Placement::Flat, homes);
  text += fmt::format("; flat {:.1f} %", percent(flat.shares.network, flat.shares.all()));
  if (!homes.island_of.empty())
    text += fmt::format(" and {:.1f} %", percent(flat.islands, flat.shares.all()));
  std::int64_t bytes = 0;
  for (const auto& field : fields) bytes += field->bytes;
  const auto expected = predicted(placed, std::max<std::int64_t>(bytes, 1));
  const auto otherwise = predicted(flat, std::max<std::int64_t>(bytes, 1));
  if (!expected || !otherwise) return text + "\n";
  text += fmt::format("; an exchange of all fields is expected to take {:.1f} us, flat {:.1f} us",
                      *expected * 1e6, *otherwise * 1e6);
  if (*otherwise > *expected)
    text += fmt::format(": placing took {:.0f} us, as much as {:.0f} exchanges save",
                        seconds_of_placing_ * 1e6,
                        std::ceil(seconds_of_placing_ / (*otherwise - *expected)));
  return text + "\n";
}

}  // namespace strake
