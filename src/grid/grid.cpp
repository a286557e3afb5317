#include "grid/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "device/backend.hpp"
#include "exchange/backoff.hpp"
#include "exchange/planned/agree.hpp"
#include "exchange/planned/unless_done.hpp"
#include "grid/check.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake {

using exchange::planned::agree;
using exchange::planned::FaultKind;

Layout FieldHandle::Data::layout_of(const Region& region) const {
  if (region.empty()) return {};
  const Dim dims[] = {{region.extent(2), stride_z}, {region.extent(1), stride_y}};
  return Layout::box(offset_of(region.lower), region.extent(0) * bytes, dims);
}

namespace {

bool cuts_are_given(const GridOptions& options) noexcept {
  return std::ranges::any_of(options.counts, [](int count) { return count != 0; });
}

}  // namespace

Grid::Impl::Impl(MPI_Comm over, std::span<const std::int64_t> wanted, const GridOptions& given)
    : options(given) {
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(over, &comm), "MPI_Comm_dup");
  try {
    real.MPI_Comm_rank(comm, &rank);
    real.MPI_Comm_size(comm, &ranks);
    axes = static_cast<int>(wanted.size());
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
    if (cuts_are_given(options) && cut != ranks && fault.empty())
      fault = fmt::format("a grid cut into {} x {} x {} for {} ranks", options.counts[0],
                          options.counts[1], options.counts[2], ranks);
    agree(comm, fault);
    if (options.place.kind == MemoryKind::Managed) {
      fault = "a grid in managed memory, which no other process reads";
    } else if (options.place.kind == MemoryKind::Device) {
      const DeviceBackend* const backend = device_backend();
      const int devices = backend == nullptr ? 0 : backend->device_count();
      if (options.place.device < 0 || options.place.device >= devices)
        fault =
            fmt::format("rank {}: a grid in memory of device {}, but this process uses {} devices",
                        rank, options.place.device, devices);
    }
    agree(comm, fault, FaultKind::Unsupported);
  } catch (...) {
    real.MPI_Comm_free(&comm);
    throw;
  }
  partition = placement::Partition(extent, ranks);
  if (cuts_are_given(options)) {
    placement::Position cuts = options.counts;
    for (int& count : cuts) count = std::max(count, 1);
    partition = placement::Partition(extent, cuts);
  }
  if (partition.has_cells(rank)) owned = owned_at(cell);
  if (settings::flag(settings::Id::check)) check = std::make_unique<Check>(*this);
}

Grid::Impl::~Impl() {
  exchanges_.clear();
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over == 0) mpi::real_mpi().MPI_Comm_free(&comm);
}

std::optional<int> Grid::Impl::neighbour(Direction d) const noexcept {
  if (!partition.has_cells(rank)) return std::nullopt;
  const std::array<int, 3> parts = grid::components(d);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (parts[axis] != 0 && static_cast<int>(axis) >= axes) return std::nullopt;
  return partition.neighbour(rank, parts, options.periodic);
}

Region Grid::Impl::owned_at(const At& at) const noexcept {
  const placement::Position position = partition.position_of(rank);
  const std::array<bool, 3> on_faces = {at.x, at.y, at.z};
  Region made;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto range = partition.range(axis, position[axis]);
    const bool last = position[axis] == partition.used(axis) - 1;
    const bool one_more = on_faces[axis] && last && !options.periodic[axis];
    made.lower[axis] = range.begin;
    made.upper[axis] = range.end + (one_more ? 1 : 0);
  }
  return made;
}

/// Neighbours own what is in this one's ghost cells. The same on all ranks.
void Grid::Impl::require_room(const Data& field) const {
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(fmt::format("quantity '{}': {}", field.name, what));
  };
  for (const Direction d : grid::directions(axes)) {
    const int radius = field.radius.at(d);
    if (radius < 0) refuse(fmt::format("a radius of {} in direction {}", radius, grid::name_of(d)));
    const std::array<int, 3> parts = grid::components(d);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int count = partition.used(axis);
      if (parts[axis] == 0 || (count == 1 && !options.periodic[axis])) continue;
      // The last one is the shortest.
      const std::int64_t shortest = partition.range(axis, count - 1).size();
      if (radius <= shortest) continue;
      placement::Position there{};
      there[axis] = count - 1;
      refuse(fmt::format("a radius of {} in direction {}, but rank {} has {} cells along {}",
                         radius, grid::name_of(d), partition.part_at(there), shortest,
                         "xyz"[axis]));
    }
  }
}

Grid::Impl::Data* Grid::Impl::add(const std::string& name, std::size_t bytes, ElementKind kind,
                                  const FieldOptions& given) {
  auto made = std::make_unique<Data>();
  Data& field = *made;
  field.name = name;
  field.bytes = static_cast<std::int64_t>(bytes);
  field.kind = kind;
  field.options = given;
  field.radius = given.radius.value_or(options.radius);
  std::string fault;
  try {
    for (const auto& other : fields)
      if (other->name == name)
        throw InvalidArgument(fmt::format("quantity '{}' is there already", name));
    require_room(field);
  } catch (const InvalidArgument& error) {
    fault = error.what();
  }
  agree(comm, fault);
  if (partition.has_cells(rank)) {
    field.owned = owned_at(given.at);
    field.stored = grid::grown(field.owned, grid::depths_of(field.radius, axes));
  }
  // The first owned element of each row begins at a line of the cache, if elements fit into lines.
  // The ghost cells behind a row and those before the next one have a line in common, if they fit:
  // what fills both writes that line once.
  constexpr std::int64_t kLine = 64;
  const std::int64_t line = kLine % field.bytes == 0 ? kLine : field.bytes;
  const auto whole = [&](std::int64_t length) { return (length + line - 1) / line * line; };
  const std::int64_t before = (field.owned.lower[0] - field.stored.lower[0]) * field.bytes;
  field.first = whole(before) - before;
  field.stride_y = whole(field.stored.extent(0) * field.bytes);
  field.stride_z = field.stride_y * field.stored.extent(1);
  const std::int64_t size =
      field.stored.empty() ? 0 : field.first + field.stride_z * field.stored.extent(2);
  try {
    field.buffers[0] = SharedArray(size, options.place);
    if (given.next) field.buffers[1] = SharedArray(size, options.place);
  } catch (const std::exception& error) {
    fault = fmt::format("quantity '{}': rank {} has no memory for {} bytes: {}", name, rank,
                        given.next ? 2 * size : size, error.what());
  }
  agree(comm, fault, FaultKind::Memory);
  fields.push_back(std::move(made));
  return &field;
}

ExchangePart Grid::Impl::part_of(const Wanted& wanted) const {
  ExchangePart part;
  for (const int number : wanted.fields) {
    const Data& field = *fields[static_cast<std::size_t>(number)];
    const int array = part.array(options.place, field.buffers[0].size_bytes());
    const auto depth_of = [&](Direction d) {
      const int radius = field.radius.at(d);
      return wanted.depth < 0 ? radius : std::min(radius, wanted.depth);
    };
    const auto tag_of = [&](Direction d) { return array * 27 + grid::number_of(d); };
    const auto along = [&](Direction d) {
      const std::array<int, 3> parts = grid::components(d);
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (parts[axis] != 0 && !wanted.axes[axis]) return false;
      return true;
    };
    for (const Direction d : grid::directions(axes)) {
      const std::optional<int> other = neighbour(d);
      if (!other || !along(d)) continue;
      // A transfer is named by the direction in which its receiver sees its sender.
      const std::string what = fmt::format("{}, direction ", field.name);
      const int in = depth_of(d);
      if (in > 0)
        part.receive(*other, tag_of(d), array, field.layout_of(grid::ghosts(field.owned, d, in)),
                     what + grid::name_of(d));
      const Direction there = grid::opposite(d);
      const int out = depth_of(there);
      if (out > 0)
        part.send(*other, tag_of(there), array, field.layout_of(grid::edge(field.owned, d, out)),
                  what + grid::name_of(there));
    }
  }
  return part;
}

Exchange& Grid::Impl::planned(const Wanted& wanted) {
  const auto known = exchanges_.find(wanted);
  if (known != exchanges_.end()) return *known->second;
  auto made = std::make_unique<Exchange>(comm, part_of(wanted));
  return *exchanges_.emplace(wanted, std::move(made)).first->second;
}

std::vector<std::byte*> Grid::Impl::bases(const Wanted& wanted) const {
  std::vector<std::byte*> all;
  for (const int number : wanted.fields) {
    const Data& field = *fields[static_cast<std::size_t>(number)];
    all.push_back(field.buffers[field.current].data());
  }
  return all;
}

grid::Depths Grid::Impl::needed() const noexcept {
  grid::Depths all;
  for (const auto& field : fields) {
    const grid::Depths own = grid::depths_of(field->radius, axes);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all.below[axis] = std::max(all.below[axis], own.below[axis]);
      all.above[axis] = std::max(all.above[axis], own.above[axis]);
    }
  }
  return where_neighbours_are(all);
}

grid::Depths Grid::Impl::where_neighbours_are(grid::Depths depths) const noexcept {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<int, 3> parts{};
    for (const int side : {-1, 1}) {
      parts[axis] = side;
      if (neighbour({parts[0], parts[1], parts[2]})) continue;
      (side < 0 ? depths.below : depths.above)[axis] = 0;
    }
  }
  return depths;
}

void Grid::Impl::require_ended(const std::vector<int>& some) const {
  for (const auto& [wanted, exchange] : exchanges_) {
    if (!exchange->running()) continue;
    for (const int number : wanted.fields)
      if (std::ranges::find(some, number) != some.end())
        throw InvalidArgument(fmt::format("an exchange of quantity '{}' has not ended",
                                          fields[static_cast<std::size_t>(number)]->name));
  }
}

std::string Grid::Impl::plan() const {
  const placement::Position& counts = partition.counts();
  std::string text = fmt::format(
      "{} x {} x {} cells on {} x {} x {} ranks; rank {} owns [{}, {}) x [{}, {}) x [{}, {})\n",
      extent[0], extent[1], extent[2], counts[0], counts[1], counts[2], rank, owned.lower[0],
      owned.upper[0], owned.lower[1], owned.upper[1], owned.lower[2], owned.upper[2]);
  for (const auto& field : fields)
    text += fmt::format("quantity '{}': {} bytes an element, {} x {} x {} stored\n", field->name,
                        field->bytes, field->stored.extent(0), field->stored.extent(1),
                        field->stored.extent(2));
  for (const auto& [wanted, exchange] : exchanges_) {
    text += fmt::format("exchange of {} quantities, {} bytes sent:\n", wanted.fields.size(),
                        exchange->bytes_sent());
    text += exchange->plan();
  }
  return text;
}

namespace {

void require(const ExchangeOptions& given) {
  if (given.depth < -1 || given.depth == 0)
    throw InvalidArgument(fmt::format("an exchange of ghost cells {} deep", given.depth));
}

}  // namespace

Grid::Impl::Wanted Grid::Impl::wanted(std::span<const FieldHandle> some,
                                      const ExchangeOptions& given) const {
  Wanted made{{}, given.axes, given.depth};
  for (const FieldHandle& field : some) {
    const auto number = static_cast<std::size_t>(field.number_);
    if (number >= fields.size() || fields[number].get() != field.data_)
      throw InvalidArgument("a quantity of another grid is exchanged");
    made.fields.push_back(field.number_);
  }
  require(given);
  std::ranges::sort(made.fields);
  if (std::ranges::adjacent_find(made.fields) != made.fields.end())
    throw InvalidArgument("a quantity is exchanged twice at once");
  return made;
}

Grid::Impl::Wanted Grid::Impl::wanted_all(const ExchangeOptions& given) const {
  require(given);
  Wanted made{std::vector<int>(fields.size()), given.axes, given.depth};
  std::iota(made.fields.begin(), made.fields.end(), 0);
  return made;
}

namespace {

bool is_captured(const Stream& stream) {
  DeviceStream* const work = StreamAccess::of(stream);
  return work != nullptr && work->capturing();
}

}  // namespace

void Grid::Impl::require_planned(const Wanted& wanted, const Stream& stream) const {
  if (exchanges_.contains(wanted) || !is_captured(stream)) return;
  throw Unsupported("an exchange of a grid is captured that was not planned before: prepare() it");
}

void Grid::Impl::enqueue(const Wanted& wanted, Stream& stream) {
  if (check && !is_captured(stream)) return wait(start(wanted, &stream), stream);
  require_ended(wanted.fields);
  require_planned(wanted, stream);
  Exchange& exchange = planned(wanted);
  or_give_up([&] { exchange.enqueue(bases(wanted), stream); });
}

/// The device waits where it may, which only a wait of the exchange's allows.
void Grid::Impl::wait(Exchange& exchange) const {
  if (!check) return or_give_up([&] { exchange.wait(); });
  for (exchange::Backoff backoff; !test(exchange);) backoff.pause();
}

void Grid::Impl::wait(Exchange& exchange, Stream& before) const {
  if (check && !is_captured(before)) return wait(exchange);
  or_give_up([&] { exchange.wait(before); });
}

template <typename Move>
void Grid::Impl::or_give_up(const Move& move) const {
  exchange::planned::unless_done(move, [&] { give_up(); });
}

Exchange& Grid::Impl::start(const Wanted& wanted, Stream* after) {
  require_ended(wanted.fields);
  if (after != nullptr) require_planned(wanted, *after);
  Exchange& exchange = planned(wanted);
  const bool checked = check && (after == nullptr || !is_captured(*after));
  if (checked) check->before_start(wanted, exchange, after);
  or_give_up([&] {
    if (after != nullptr) {
      exchange.start(bases(wanted), *after);
    } else {
      exchange.start(bases(wanted));
    }
  });
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

std::byte* FieldHandle::origin(bool next) const {
  const Data& field = *data_;
  if (next && !field.options.next)
    throw InvalidArgument(fmt::format("quantity '{}' has no second buffer", field.name));
  // Cell (0, 0, 0) may be another rank's.
  return reinterpret_cast<std::byte*>(  // NOLINT(performance-no-int-to-ptr)
      reinterpret_cast<std::intptr_t>(
          field.buffers[next ? 1 - field.current : field.current].data()) +
      field.offset_of({0, 0, 0}));
}

std::array<std::int64_t, 2> FieldHandle::strides_bytes() const noexcept {
  return {data_->stride_y, data_->stride_z};
}
const Region& FieldHandle::owned_region() const noexcept { return data_->owned; }
const Region& FieldHandle::stored_region() const noexcept { return data_->stored; }

bool Ghosts::test() { return grid_->test(*exchange_); }
void Ghosts::wait() { grid_->wait(*exchange_); }
void Ghosts::wait(Stream& before) { grid_->wait(*exchange_, before); }
bool Ghosts::test(Direction direction) {
  const std::optional<int> other = grid_->neighbour(direction);
  return !other || grid_->test(*exchange_, other);
}
void Ghosts::wait(Direction direction) {
  for (exchange::Backoff backoff; !test(direction);) backoff.pause();
}

Grid::Grid(MPI_Comm comm, std::initializer_list<std::int64_t> extent, const GridOptions& options)
    : Grid(comm, std::span(extent.begin(), extent.size()), options) {}
Grid::Grid(MPI_Comm comm, std::span<const std::int64_t> extent, const GridOptions& options)
    : impl_(std::make_unique<Impl>(comm, extent, options)) {}
Grid::Grid(Grid&&) noexcept = default;
Grid& Grid::operator=(Grid&&) noexcept = default;
Grid::~Grid() = default;

FieldHandle::Data* Grid::add_field(const std::string& name, std::size_t bytes, ElementKind kind,
                                   const FieldOptions& options) {
  return impl_->add(name, bytes, kind, options);
}
int Grid::last_field() const noexcept { return static_cast<int>(impl_->fields.size()) - 1; }

Ghosts Grid::exchange(const ExchangeOptions& options) {
  return {impl_->start(impl_->wanted_all(options), nullptr), *impl_};
}
Ghosts Grid::exchange(Stream& after, const ExchangeOptions& options) {
  return {impl_->start(impl_->wanted_all(options), &after), *impl_};
}
Ghosts Grid::exchange(std::initializer_list<FieldHandle> fields, const ExchangeOptions& options) {
  const auto some = std::span(fields.begin(), fields.size());
  return {impl_->start(impl_->wanted(some, options), nullptr), *impl_};
}
Ghosts Grid::exchange(Stream& after, std::initializer_list<FieldHandle> fields,
                      const ExchangeOptions& options) {
  const auto some = std::span(fields.begin(), fields.size());
  return {impl_->start(impl_->wanted(some, options), &after), *impl_};
}

void Grid::enqueue(Stream& stream, const ExchangeOptions& options) {
  impl_->enqueue(impl_->wanted_all(options), stream);
}
void Grid::enqueue(Stream& stream, std::initializer_list<FieldHandle> fields,
                   const ExchangeOptions& options) {
  impl_->enqueue(impl_->wanted(std::span(fields.begin(), fields.size()), options), stream);
}
void Grid::prepare(const ExchangeOptions& options) {
  (void)impl_->planned(impl_->wanted_all(options));
}
void Grid::prepare(std::initializer_list<FieldHandle> fields, const ExchangeOptions& options) {
  (void)impl_->planned(impl_->wanted(std::span(fields.begin(), fields.size()), options));
}

void Grid::accumulate(std::initializer_list<FieldHandle> fields, const Combine& combine,
                      const ExchangeOptions& options) {
  for (const FieldHandle& field : fields) {
    const Impl::Wanted wanted = impl_->wanted(std::span(&field, 1), options);
    impl_->require_ended(wanted.fields);
    Exchange& exchange = impl_->planned(wanted);
    impl_->or_give_up([&] {
      exchange.start_reverse(impl_->bases(wanted), std::span(&combine, 1));
      exchange.wait();
    });
  }
}

void Grid::swap() {
  impl_->require_ended(impl_->wanted_all({}).fields);
  if (impl_->check) impl_->check->swap();
  for (const auto& field : impl_->fields)
    if (field->options.next) field->current = 1 - field->current;
}

const Region& Grid::owned() const noexcept { return impl_->owned; }

namespace {

Region shrunk(Region owned, const grid::Depths& depths) noexcept {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    owned.lower[axis] += depths.below[axis];
    owned.upper[axis] = std::max(owned.lower[axis], owned.upper[axis] - depths.above[axis]);
  }
  return owned;
}

}  // namespace

Region Grid::interior() const noexcept { return shrunk(impl_->owned, impl_->needed()); }
std::vector<Region> Grid::exterior() const { return grid::without(impl_->owned, interior()); }
Region Grid::interior(const FieldHandle& field) const noexcept {
  const grid::Depths all = grid::depths_of(field.data_->radius, impl_->axes);
  return shrunk(field.data_->owned, impl_->where_neighbours_are(all));
}
std::vector<Region> Grid::exterior(const FieldHandle& field) const {
  return grid::without(field.data_->owned, interior(field));
}

Region Grid::grown(int cells) const noexcept {
  grid::Depths depths = impl_->needed();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    depths.below[axis] = std::min(depths.below[axis], cells);
    depths.above[axis] = std::min(depths.above[axis], cells);
  }
  return grid::grown(impl_->owned, depths);
}

int Grid::rank() const noexcept { return impl_->rank; }
int Grid::ranks() const noexcept { return impl_->ranks; }
const Index3& Grid::extent() const noexcept { return impl_->extent; }
std::optional<int> Grid::neighbour(Direction direction) const noexcept {
  return impl_->neighbour(direction);
}
std::string Grid::plan() const { return impl_->plan(); }
void Grid::write_vtk(const std::string& path) const { impl_->write_vtk(path); }
void Grid::write_plan(const std::string& path) const { impl_->write_plan(path); }

}  // namespace strake
