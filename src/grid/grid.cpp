#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "device/backend.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/plan/unless_done.hpp"
#include "grid/check.hpp"
#include "grid/impl.hpp"
#include "mpi/agree.hpp"
#include "mpi/job.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake {

using mpi::agree;

const FieldHandle::Data::Part& FieldHandle::Data::part(int subgrid) const {
  if (subgrid < 0 || subgrid >= static_cast<int>(parts.size()))
    throw InvalidArgument(
        fmt::format("subgrid {} of field '{}': this rank has {}", subgrid, name, parts.size()));
  return parts[static_cast<std::size_t>(subgrid)];
}

std::byte* FieldHandle::Data::buffer(const Part& part, bool next) const {
  if (next && !options.next)
    throw InvalidArgument(fmt::format("field '{}' has no second buffer", name));
  return part.buffer(next ? 1 - current : current);
}

namespace {

bool cuts_are_given(const GridOptions& options) noexcept {
  return std::ranges::any_of(options.counts, [](int count) { return count != 0; });
}

}  // namespace

Grid::Impl::Impl(MPI_Comm over, std::span<const std::int64_t> wanted, const GridOptions& given)
    : options(given), places(given.places) {
  if (places.empty()) places.push_back(options.place);
  mpi::require_intracommunicator(over, "a grid");
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(over, &comm), "MPI_Comm_dup");
  try {
    real.MPI_Comm_rank(comm, &rank);
    real.MPI_Comm_size(comm, &ranks);
    require_alike(wanted);
    axes = static_cast<int>(wanted.size());
    divide();
    std::string fault;
    if (axes < 1 || axes > 3) fault = fmt::format("a grid of {} axes, not of one to three", axes);
    for (std::size_t axis = 0; fault.empty() && axis < wanted.size(); ++axis) {
      extent[axis] = wanted[axis];
      if (extent[axis] < 1)
        fault = fmt::format("a grid of {} cells along {}", extent[axis], "xyz"[axis]);
    }
    std::int64_t cut = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (static_cast<int>(axis) >= axes && (options.periodic[axis] || options.counts[axis] > 1) &&
          fault.empty())
        fault =
            fmt::format("a grid of {} axes that is periodic or cut along {}", axes, "xyz"[axis]);
      cut *= std::max(options.counts[axis], 1);
    }
    if (cuts_are_given(options) && cut != first_place.back() && fault.empty())
      fault = fmt::format("a grid cut into {} x {} x {} for {} {}", options.counts[0],
                          options.counts[1], options.counts[2], first_place.back(),
                          first_place.back() == ranks ? "ranks" : "subgrids");
    if (fault.empty() && !options.subgrid_of.empty() && options.placement != Placement::Given)
      fault = "GridOptions::subgrid_of is given, and the placement is not Placement::Given";
    agree(comm, fault);
    require_places();
    place();
  } catch (...) {
    real.MPI_Comm_free(&comm);
    throw;
  }
  for (int i = 0; i < subgrids(); ++i) owned.push_back(owned_at(cell, i));
  if (settings::flag(settings::Id::check)) check = std::make_unique<Check>(*this);
}

/// How many subgrids each rank has.
void Grid::Impl::divide() {
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  const int own = subgrids();
  mpi::check(mpi::real_mpi().MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, comm),
             "MPI_Allgather");
  most_subgrids = std::ranges::max(counts);
  first_place.assign(1, 0);
  for (const int count : counts) first_place.push_back(first_place.back() + count);
}

void Grid::Impl::require_places() const {
  const DeviceBackend* const backend = device_backend();
  const int devices = backend == nullptr ? 0 : backend->device_count();
  std::string fault;
  for (const Place place : places) {
    if (place.kind == MemoryKind::Managed) {
      fault = "a grid in managed memory, which no other process reads";
    } else if (place.kind == MemoryKind::Device && (place.device < 0 || place.device >= devices)) {
      fault =
          fmt::format("rank {}: a grid in memory of device {}, but this process uses {} devices",
                      rank, place.device, devices);
    }
  }
  agree(comm, fault, ErrorCode::Unsupported);
}

void Grid::Impl::require_subgrid(int number) const {
  if (number < 0 || number >= subgrids())
    throw InvalidArgument(
        fmt::format("subgrid {} of rank {}, which has {}", number, rank, subgrids()));
}

Grid::Impl::Subgrid Grid::Impl::subgrid_of(int part) const noexcept {
  const int place = place_of[static_cast<std::size_t>(part)];
  const auto next = std::ranges::upper_bound(first_place, place);
  return {static_cast<int>(next - first_place.begin()) - 1, place - *(next - 1)};
}

Grid::Impl::~Impl() {
  exchanges_.clear();
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over == 0) mpi::real_mpi().MPI_Comm_free(&comm);
}

std::optional<Grid::Impl::Subgrid> Grid::Impl::neighbour(Direction d, int subgrid) const noexcept {
  if (!placed.parts.has_cells(part_of(subgrid))) return std::nullopt;
  if (!d.is_within(axes)) return std::nullopt;
  const auto part = placed.parts.neighbour(part_of(subgrid), d, options.periodic);
  if (!part) return std::nullopt;
  return subgrid_of(*part);
}

Box Grid::Impl::owned_at(const At& at, int subgrid) const noexcept {
  if (!placed.parts.has_cells(part_of(subgrid))) return {};
  const placement::Position position = placed.parts.position_of(part_of(subgrid));
  const std::array<bool, 3> on_faces = at.on_faces();
  Box made = placed.parts.box_of(part_of(subgrid));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool last = position[axis] == placed.parts.used(axis) - 1;
    if (on_faces[axis] && last && !options.periodic[axis]) ++made.upper[axis];
  }
  return made;
}

ExchangePart Grid::Impl::part_of(const Wanted& wanted) const {
  ExchangePart part;
  for (const int number : wanted.fields)
    for (std::size_t i = 0; i < places.size(); ++i)
      (void)part.array(places[i], fields[static_cast<std::size_t>(number)]->parts[i].size_bytes());
  const auto along = [&](Direction d) {
    const std::array<int, 3> parts = d.components();
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (parts[axis] != 0 && !wanted.axes[axis]) return false;
    return true;
  };
  for (std::size_t number = 0; number < wanted.fields.size(); ++number) {
    const Data& field = *fields[static_cast<std::size_t>(wanted.fields[number])];
    const auto is_sent = [&](Direction d) { return field.radius.at(d) > 0; };
    const auto depths_of = [&](Direction d) {
      Index3 made{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const int radius = field.radius.depths(d)[axis];
        made[axis] = wanted.depth < 0 ? radius : std::min(radius, wanted.depth);
      }
      return made;
    };
    // A transfer is named by its receiver, and by the direction in which that sees its sender.
    const auto tag_of = [&](int subgrid, Direction d) {
      return array_number(number, subgrid, most_subgrids) * kDirectionNumbers + d.number();
    };
    for (int i = 0; i < subgrids(); ++i) {
      const Data::Part& own = field.parts[static_cast<std::size_t>(i)];
      const int array = array_number(number, i, subgrids());
      for (const Direction d : kDirections) {
        const std::optional<Subgrid> other = neighbour(d, i);
        if (!other || !along(d)) continue;
        const std::string what = fmt::format("{}, direction ", field.name);
        if (is_sent(d))
          part.receive(other->rank, tag_of(i, d), array,
                       own.layout_of(ghosts(own.owned, d, depths_of(d))), what + grid::name_of(d));
        const Direction there = -d;
        if (is_sent(there))
          part.send(other->rank, tag_of(other->number, there), array,
                    own.layout_of(border(own.owned, d, depths_of(there))),
                    what + grid::name_of(there));
      }
    }
  }
  return part;
}

Exchange& Grid::Impl::planned(const Wanted& wanted) {
  const auto known = exchanges_.find(wanted);
  if (known != exchanges_.end()) return *known->second;
  require_alike(wanted);
  auto made = std::make_unique<Exchange>(comm, part_of(wanted));
  return *exchanges_.emplace(wanted, std::move(made)).first->second;
}

std::vector<std::byte*> Grid::Impl::bases(const Wanted& wanted) const {
  std::vector<std::byte*> all;
  for (const int number : wanted.fields) {
    const Data& field = *fields[static_cast<std::size_t>(number)];
    for (const Data::Part& part : field.parts) all.push_back(part.buffer(field.current));
  }
  return all;
}

grid::Depths Grid::Impl::needed(int subgrid) const noexcept {
  grid::Depths all;
  for (const auto& field : fields) {
    const grid::Depths own = grid::depths_of(field->radius, axes);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all.below[axis] = std::max(all.below[axis], own.below[axis]);
      all.above[axis] = std::max(all.above[axis], own.above[axis]);
    }
  }
  return where_neighbours_are(all, subgrid);
}

grid::Depths Grid::Impl::where_neighbours_are(grid::Depths depths, int subgrid) const noexcept {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<int, 3> parts{};
    for (const int side : {-1, 1}) {
      parts[axis] = side;
      if (neighbour({parts[0], parts[1], parts[2]}, subgrid)) continue;
      (side < 0 ? depths.below : depths.above)[axis] = 0;
    }
  }
  return depths;
}

void Grid::Impl::require_ended(const std::vector<int>& some, const char* call) const {
  for (const auto& [wanted, exchange] : exchanges_) {
    if (!exchange->running()) continue;
    for (const int number : wanted.fields)
      if (std::ranges::find(some, number) != some.end())
        throw InvalidArgument(
            fmt::format("{}: an exchange of field '{}' has not ended; call wait() first", call,
                        fields[static_cast<std::size_t>(number)]->name));
  }
}

std::string Grid::Impl::plan() const {
  const placement::Position& counts = placed.parts.counts();
  std::string text = fmt::format("{} x {} x {} cells on {} x {} x {} {}; rank {} owns ", extent[0],
                                 extent[1], extent[2], counts[0], counts[1], counts[2],
                                 first_place.back() == ranks ? "ranks" : "subgrids", rank);
  for (std::size_t i = 0; i < owned.size(); ++i)
    text += (i == 0 ? "" : ", ") + grid::bounds_of(owned[i]);
  text += "\n" + placement_text();
  for (const auto& field : fields) {
    text += fmt::format("field '{}': {} bytes an element, ", field->name, field->bytes);
    for (std::size_t i = 0; i < field->parts.size(); ++i) {
      const Box& stored = field->parts[i].stored;
      text += fmt::format("{}{} x {} x {}", i == 0 ? "" : " and ", stored.extent(0),
                          stored.extent(1), stored.extent(2));
    }
    text += " stored\n";
  }
  for (const auto& [wanted, exchange] : exchanges_) {
    text += fmt::format("exchange of {} fields, {} bytes sent:\n", wanted.fields.size(),
                        exchange->bytes_sent());
    text += exchange->plan();
  }
  return text;
}

namespace {

void require(const GhostOptions& given) {
  if (given.depth < -1 || given.depth == 0)
    throw InvalidArgument(fmt::format("an exchange of ghost cells {} deep", given.depth));
}

}  // namespace

Grid::Impl::Wanted Grid::Impl::wanted(const Fields& some, const GhostOptions& given) const {
  Wanted made{{}, given.axes, given.depth};
  if (some.all()) {
    made.fields.resize(fields.size());
    std::iota(made.fields.begin(), made.fields.end(), 0);
  }
  for (const FieldHandle& field : some.named()) {
    const auto number = static_cast<std::size_t>(field.number_);
    if (number >= fields.size() || fields[number].get() != field.data_)
      throw InvalidArgument("a field of another grid is exchanged");
    made.fields.push_back(field.number_);
  }
  require(given);
  std::ranges::sort(made.fields);
  if (std::ranges::adjacent_find(made.fields) != made.fields.end())
    throw InvalidArgument("a field is exchanged twice at once");
  return made;
}

void Grid::Impl::require_planned(const Wanted& wanted, std::span<Stream> streams) const {
  if (exchanges_.contains(wanted) || !StreamAccess::any_captures(streams)) return;
  throw Unsupported("an exchange of a grid is captured that was not planned before: prepare() it");
}

void Grid::Impl::enqueue(const Wanted& wanted, std::span<Stream> streams) {
  require_ended(wanted.fields, "Grid::enqueue()");
  if (check && !StreamAccess::any_captures(streams)) return wait(start(wanted, streams), streams);
  require_planned(wanted, streams);
  Exchange& exchange = planned(wanted);
  or_give_up([&] { exchange.enqueue(bases(wanted), streams); });
}

/// The device waits where it may, which only a wait of the exchange's allows.
void Grid::Impl::wait(Exchange& exchange, std::span<Stream> before) const {
  if (!check || StreamAccess::any_captures(before))
    return or_give_up([&] { exchange.wait(before); });
  for (exchange::Backoff backoff; !test(exchange);) backoff.pause();
}

template <typename Move>
void Grid::Impl::or_give_up(const Move& move) const {
  exchange::planned::unless_done(move, [&] { give_up(); });
}

Exchange& Grid::Impl::start(const Wanted& wanted, std::span<Stream> after) {
  require_ended(wanted.fields, "Grid::exchange()");
  require_planned(wanted, after);
  Exchange& exchange = planned(wanted);
  const bool checked = check && !StreamAccess::any_captures(after);
  if (checked) check->before_start(wanted, exchange, after);
  or_give_up([&] { exchange.start(bases(wanted), after); });
  if (checked) check->hide();
  return exchange;
}

bool Grid::Impl::test(Exchange& exchange, std::optional<int> peer) const {
  bool is_there = false;
  or_give_up([&] { is_there = exchange.test() || (peer && exchange.arrived(*peer)); });
  if (!check) return is_there;
  check->hide();
  if (is_there && peer) check->show(exchange, *peer);
  if (is_there && !peer) check->end(exchange);
  return is_there;
}

void Grid::Impl::give_up() const noexcept {
  for (const auto& [wanted, exchange] : exchanges_) exchange->give_up();
}

void Grid::Impl::unwind() const noexcept {
  for (const auto& [wanted, exchange] : exchanges_) exchange->unwind();
}

}  // namespace strake
