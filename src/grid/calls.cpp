// The public calls of Grid, FieldHandle and Ghosts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/backend.hpp"
#include "exchange/peers/backoff.hpp"
#include "grid/check.hpp"
#include "grid/impl.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake {

void throw_not_stored(const Box& stored, const Index3& at) {
  throw InvalidArgument(fmt::format("cell ({}, {}, {}) of a view that stores {}", at[0], at[1],
                                    at[2], grid::bounds_of(stored)));
}

const FieldHandle::Data& FieldHandle::data() const {
  if (data_ == nullptr) throw InvalidArgument("a field that was never added");
  return *data_;
}

std::byte* FieldHandle::origin(bool next, int subgrid) const {
  const Data::Part& part = data().part(subgrid);
  // Cell (0, 0, 0) may be another subgrid's.
  return reinterpret_cast<std::byte*>(  // NOLINT(performance-no-int-to-ptr)
      reinterpret_cast<std::intptr_t>(data().buffer(part, next)) + part.offset_of({0, 0, 0}));
}

std::array<std::int64_t, 2> FieldHandle::strides_bytes(int subgrid) const {
  const Data::Part& part = data().part(subgrid);
  return {part.stride_y, part.stride_z};
}
const std::string& FieldHandle::name() const { return data().name; }
const ElementType& FieldHandle::type() const { return data().type; }
FieldMemory FieldHandle::memory(bool next, int subgrid) const {
  const Data::Part& part = data().part(subgrid);
  std::byte* const buffer = data().buffer(part, next);
  if (part.stored.empty()) return {};
  return {buffer + part.first, part.stride_y, part.stride_z, part.owned, part.stored};
}
const Box& FieldHandle::owned_region(int subgrid) const { return data().part(subgrid).owned; }
const Box& FieldHandle::stored_region(int subgrid) const { return data().part(subgrid).stored; }

Ghosts::Ghosts(Exchange& exchange, const Grid::Impl& grid) noexcept
    : exchange_(&exchange), grid_(&grid), grid_lives_(grid.lives), round_(exchange.round()) {}
Ghosts::Ghosts(Ghosts&& other) noexcept
    : exchange_(std::exchange(other.exchange_, nullptr)),
      grid_(other.grid_),
      grid_lives_(std::move(other.grid_lives_)),
      round_(other.round_) {}
Ghosts& Ghosts::operator=(Ghosts&& other) noexcept {
  if (this == &other) return *this;
  end(false);
  exchange_ = std::exchange(other.exchange_, nullptr);
  grid_ = other.grid_;
  grid_lives_ = std::move(other.grid_lives_);
  round_ = other.round_;
  return *this;
}

bool Ghosts::is_last() const noexcept {
  // A grid that is gone has ended its exchanges.
  return exchange_ != nullptr && !grid_lives_.expired() && exchange_->round() == round_;
}

void Ghosts::end(bool unwinding) noexcept {
  if (!is_last() || !exchange_->running()) return;
  if (unwinding) return grid_->unwind();
  if (!std::exchange(grid_->has_told_of_forgotten, true))
    log::warn(
        "ghost cells were never waited for: keep what Grid::exchange() returns, and call its "
        "wait()");
  try {
    wait();
  } catch (const std::exception& failed) {
    log::warn("an exchange of ghost cells did not end: {}", failed.what());
  }
  exchange_ = nullptr;
}

bool Ghosts::test() {
  if (is_last() && !grid_->test(*exchange_)) return false;
  exchange_ = nullptr;
  return true;
}
void Ghosts::wait(const Streams& before) {
  if (is_last()) grid_->wait(*exchange_, StreamList(before).all());
  exchange_ = nullptr;
}
bool Ghosts::test(Direction direction, int subgrid) {
  if (grid_lives_.expired()) return true;
  grid_->require_subgrid(subgrid);
  const auto other = grid_->neighbour(direction, subgrid);
  return !other || !is_last() || grid_->test(*exchange_, other->rank);
}
void Ghosts::wait(Direction direction, int subgrid) {
  for (exchange::Backoff backoff; !test(direction, subgrid);) backoff.pause();
}

Grid::Grid(MPI_Comm comm, std::initializer_list<std::int64_t> extent, const GridOptions& options)
    : Grid(comm, std::span(extent.begin(), extent.size()), options) {}
Grid::Grid(MPI_Comm comm, std::span<const std::int64_t> extent, const GridOptions& options)
    : impl_(new Impl(comm, extent, options)) {}
Grid::Grid(Grid&&) noexcept = default;
Grid& Grid::operator=(Grid&&) noexcept = default;
void Grid::Delete::operator()(Impl* impl) const noexcept { delete impl; }
void Grid::unwind() noexcept {
  if (impl_ != nullptr) impl_->unwind();
}

FieldHandle::Data* Grid::add_field(const std::string& name, const ElementType& type,
                                   const FieldOptions& options) {
  return impl_->add(name, type, options);
}
FieldHandle::Data* Grid::adopt_field(const std::string& name, const ElementType& type,
                                     std::span<const Adopted<std::byte>> arrays,
                                     const FieldOptions& options) {
  return impl_->adopt(name, type, arrays, options);
}
Box Grid::stored(const FieldOptions& options, int subgrid) const {
  return impl_->stored(options, subgrid);
}
int Grid::last_field() const noexcept { return static_cast<int>(impl_->fields.size()) - 1; }

Ghosts Grid::exchange(const Streams& after, const Fields& fields, const GhostOptions& options) {
  return {impl_->start(impl_->wanted(fields, options), StreamList(after).all()), *impl_};
}

void Grid::enqueue(const Streams& streams, const Fields& fields, const GhostOptions& options) {
  impl_->enqueue(impl_->wanted(fields, options), StreamList(streams).all());
}

void Grid::prepare(const Fields& fields, const GhostOptions& options) {
  (void)impl_->planned(impl_->wanted(fields, options));
}

void Grid::accumulate(const Streams& streams, const Fields& fields, const Merge& merge,
                      const GhostOptions& options) {
  impl_->accumulate(impl_->wanted(fields, options), merge, StreamList(streams).all());
}

Box Grid::boundary(const FieldHandle& field, Direction face, int subgrid) const {
  return impl_->boundary(field, face, subgrid);
}
void Grid::fill(const FieldHandle& field, Direction face, std::span<const std::byte> value,
                const Streams& streams) {
  impl_->fill(field, face, value, StreamList(streams).all());
}
void Grid::mirror(const FieldHandle& field, Direction face, const Streams& streams) {
  impl_->mirror(field, face, StreamList(streams).all());
}

void Grid::swap() {
  impl_->require_ended(impl_->wanted({}, {}).fields, "Grid::swap()");
  if (impl_->check) impl_->check->swap();
  for (const auto& field : impl_->fields)
    if (field->options.next) field->current = 1 - field->current;
}

int Grid::subgrids() const noexcept { return impl_->subgrids(); }
const Box& Grid::owned(int subgrid) const {
  impl_->require_subgrid(subgrid);
  return impl_->owned[static_cast<std::size_t>(subgrid)];
}

namespace {

Box shrunk(Box owned, const grid::Depths& depths) noexcept {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    owned.lower[axis] += depths.below[axis];
    owned.upper[axis] = std::max(owned.lower[axis], owned.upper[axis] - depths.above[axis]);
  }
  return owned;
}

}  // namespace

Box Grid::interior(int subgrid) const { return shrunk(owned(subgrid), impl_->needed(subgrid)); }
std::vector<Box> Grid::exterior(int subgrid) const {
  return grid::without(owned(subgrid), interior(subgrid));
}
Box Grid::interior(const FieldHandle& field, int subgrid) const {
  const grid::Depths all = grid::depths_of(field.data().radius, impl_->axes);
  return shrunk(field.data().part(subgrid).owned, impl_->where_neighbours_are(all, subgrid));
}
std::vector<Box> Grid::exterior(const FieldHandle& field, int subgrid) const {
  return grid::without(field.data().part(subgrid).owned, interior(field, subgrid));
}

Box Grid::grown(int cells, int subgrid) const {
  const Box& whole = owned(subgrid);
  grid::Depths depths = impl_->needed(subgrid);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    depths.below[axis] = std::min<std::int64_t>(depths.below[axis], cells);
    depths.above[axis] = std::min<std::int64_t>(depths.above[axis], cells);
  }
  return strake::grown(whole, depths.below, depths.above);
}

int Grid::rank() const noexcept { return impl_->rank; }
int Grid::ranks() const noexcept { return impl_->ranks; }
const Index3& Grid::extent() const noexcept { return impl_->extent; }
std::optional<int> Grid::neighbour(Direction direction, int subgrid) const {
  impl_->require_subgrid(subgrid);
  const auto found = impl_->neighbour(direction, subgrid);
  if (!found) return std::nullopt;
  return found->rank;
}
std::string Grid::plan() const { return impl_->plan(); }
GridOptions Grid::with_this_placement() const {
  GridOptions made = impl_->options;
  made.counts = impl_->placed.parts.counts();
  made.placement = Placement::Given;
  made.subgrid_of = impl_->placed.part_of;
  return made;
}
void Grid::write_vtk(const std::string& path) const { impl_->write_vtk(path); }
void Grid::write_plan(const std::string& path) const { impl_->write_plan(path); }

}  // namespace strake
