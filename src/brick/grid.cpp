#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "brick/check.hpp"
#include "brick/plan.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake {

AnyBrickGrid::AnyBrickGrid(MPI_Comm comm, std::span<const std::int64_t> extent,
                           std::span<const int> shape, std::int64_t element_bytes,
                           const BrickOptions& options)
    : plan_(std::make_shared<Plan>(comm, extent, shape, element_bytes, options)) {
  make_storage(true);
}

AnyBrickGrid::AnyBrickGrid(std::shared_ptr<Plan> plan) : plan_(std::move(plan)) {
  make_storage(plan_->makes_together());
}

void AnyBrickGrid::make_storage(bool collective) {
  auto made = std::make_unique<Storage>();
  if (collective)
    brick::on_all(plan_->comm, [&] { made->allocate(*plan_); });
  else
    made->allocate(*plan_);
  if (plan_->maps()) {
    brick::on_all(plan_->comm, [&] { made->map(*plan_); });
    brick::on_all(plan_->comm, [&] { made->link(*plan_); });
  }
  storage_ = std::move(made);
}

AnyBrickGrid::AnyBrickGrid(AnyBrickGrid&&) noexcept = default;
AnyBrickGrid& AnyBrickGrid::operator=(AnyBrickGrid&& other) noexcept {
  std::swap(plan_, other.plan_);
  std::swap(storage_, other.storage_);
  return *this;
}
AnyBrickGrid::~AnyBrickGrid() {
  if (storage_ == nullptr) return;
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over != 0) return;
  const bool unwinds = std::uncaught_exceptions() > storage_->exceptions_;
  try {
    if (plan_->running == storage_.get()) {
      if (unwinds)
        plan_->give_up();
      else
        finish();
    }
    if (!unwinds) before_writing();  // neighbours may still read the bricks
  } catch (const std::exception& error) {
    plan_->give_up();
    log::warn("a grid of bricks ends in an exchange: {}", error.what());
  }
}

AnyBrickGrid AnyBrickGrid::like() const { return AnyBrickGrid(plan_); }

void AnyBrickGrid::exchange() {
  start();
  finish();
}
void AnyBrickGrid::start() {
  if (plan_->running != nullptr)
    throw InvalidArgument(
        "start() of bricks before finish() of a grid that is alike, or of this one");
  if (storage_->check) storage_->check->before_start(data());
  if (plan_->maps()) plan_->signal(storage_->number);
  plan_->running = storage_.get();
  try {
    if (!plan_->exchanges.empty()) plan_->exchanges.front().start(storage_->addresses);
  } catch (...) {
    plan_->running = nullptr;
    plan_->give_up();
    throw;
  }
  if (storage_->check) storage_->check->after_start(data());
}

void AnyBrickGrid::finish() {
  if (plan_->running != storage_.get()) throw InvalidArgument("finish() of bricks without start()");
  plan_->running = nullptr;
  try {
    for (std::size_t i = 0; i < plan_->exchanges.size(); ++i) {
      if (i > 0) plan_->exchanges[i].start(storage_->addresses);
      plan_->exchanges[i].wait();
      if (i == 0 && storage_->check) storage_->check->show(data());
    }
    if (plan_->maps()) plan_->finish_signals();
  } catch (...) {
    plan_->give_up();
    throw;
  }
  storage_->round = plan_->rounds;
  if (storage_->check) storage_->check->after_finish(data());
}

void AnyBrickGrid::before_writing() {
  if (!plan_->maps() || storage_->round == 0) return;
  plan_->signal(-1);
  plan_->finish_signals();
  storage_->round = 0;
}

void AnyBrickGrid::before_writing(AnyBrickGrid& from) {
  if (!is_alike(from) || &from == this)
    throw InvalidArgument("bricks are computed from a grid that is not alike, or from themselves");
  if (storage_->round == plan_->rounds) before_writing();
  // Neighbours of `from` are read until the next exchange begins.
  if (from.storage_->round != 0) from.storage_->round = plan_->rounds;
}

bool AnyBrickGrid::is_alike(const AnyBrickGrid& other) const noexcept {
  return plan_ == other.plan_;
}

int AnyBrickGrid::dims() const noexcept { return plan_->dims; }
int AnyBrickGrid::fields() const noexcept { return plan_->options.fields; }
const BrickNumbers& AnyBrickGrid::extent() const noexcept { return plan_->extent; }
const BrickNumbers& AnyBrickGrid::shape() const noexcept { return plan_->shape; }
const BrickNumbers& AnyBrickGrid::ghost() const noexcept { return plan_->ghost; }
const BrickCellBox& AnyBrickGrid::owned_cells() const noexcept { return plan_->owned; }

BrickNumbers AnyBrickGrid::corner(int brick) const {
  plan_->require_brick(brick);
  const brick::Coordinates& position = plan_->positions[static_cast<std::size_t>(brick)];
  BrickNumbers made{};
  for (std::size_t axis = 0; axis < plan_->axes(); ++axis)
    made[axis] = plan_->owned.lower[axis] + position[axis] * plan_->shape[axis];
  return made;
}

std::span<const std::int32_t> AnyBrickGrid::owned() const noexcept {
  return std::span(plan_->numbers).first(static_cast<std::size_t>(plan_->decomposition->owned()));
}
std::span<const std::int32_t> AnyBrickGrid::interior() const noexcept {
  return owned().first(static_cast<std::size_t>(plan_->decomposition->interior()));
}
std::span<const std::int32_t> AnyBrickGrid::surface() const noexcept {
  return owned().subspan(static_cast<std::size_t>(plan_->decomposition->interior()));
}
std::span<const std::int32_t> AnyBrickGrid::ghosts() const noexcept { return plan_->ghosts; }

int AnyBrickGrid::steps_per_exchange(std::span<const int> reach) const {
  std::int64_t steps = std::numeric_limits<int>::max();
  for (std::size_t axis = 0; axis < std::min(reach.size(), plan_->axes()); ++axis) {
    if (reach[axis] < 0)
      throw InvalidArgument(fmt::format("a reach of {} along axis {}", reach[axis], axis));
    if (reach[axis] > 0) steps = std::min(steps, plan_->ghost[axis] / reach[axis]);
  }
  // Ghosts that are mapped can't be computed here.
  if (plan_->maps()) steps = std::min<std::int64_t>(steps, 1);
  return static_cast<int>(steps);
}

std::span<const std::int32_t> AnyBrickGrid::bricks_of_step(int step, std::span<const int> reach) {
  if (reach.size() != plan_->axes())
    throw InvalidArgument(
        fmt::format("a stencil of {} axes on bricks of {}", reach.size(), plan_->dims));
  const int steps = steps_per_exchange(reach);
  if (step < 0 || step >= steps)
    throw InvalidArgument(fmt::format(
        "step {} of a stencil that reaches {} cells: ghosts of {} are enough for {} steps after an "
        "exchange{}",
        step, fmt::join(reach, " x "),
        fmt::join(std::span(plan_->ghost).first(plan_->axes()), " x "), steps,
        plan_->maps() ? ", as they are other ranks' bricks (BrickForm::Mapped)" : ""));
  brick::Coordinates rings{};
  for (std::size_t axis = 0; axis < plan_->axes(); ++axis) {
    const std::int64_t later = std::int64_t{steps - 1 - step} * reach[axis];
    rings[axis] = static_cast<int>((later + plan_->shape[axis] - 1) / plan_->shape[axis]);
  }
  if (rings == brick::Coordinates{}) return owned();
  std::vector<std::int32_t>& found = plan_->rings[rings];
  if (!found.empty()) return found;
  for (const std::int32_t number : plan_->numbers) {
    const brick::Coordinates& position = plan_->positions[static_cast<std::size_t>(number)];
    bool within = true;
    for (std::size_t axis = 0; axis < plan_->axes(); ++axis) {
      const int count = plan_->decomposition->counts()[axis];
      const std::int64_t corner_cell =
          plan_->owned.lower[axis] + position[axis] * plan_->shape[axis];
      within = within && position[axis] >= -rings[axis] && position[axis] < count + rings[axis] &&
               (plan_->options.periodic[axis] ||
                (corner_cell >= 0 && corner_cell < plan_->extent[axis]));
    }
    if (within) found.push_back(number);
  }
  return found;
}

std::byte* AnyBrickGrid::data() noexcept { return storage_->memory.data(); }
const std::byte* AnyBrickGrid::data() const noexcept { return storage_->memory.data(); }
std::int64_t AnyBrickGrid::brick_offset(int brick) const {
  plan_->require_brick(brick);
  return plan_->offsets[static_cast<std::size_t>(brick)];
}
std::int64_t AnyBrickGrid::field_offset(int field) const {
  plan_->require_field(field);
  return field * plan_->field_bytes;
}
std::int64_t AnyBrickGrid::size_bytes() const noexcept { return plan_->bytes; }

const std::int64_t* AnyBrickGrid::adjacency(int field) const {
  plan_->require_field(field);
  return storage_->adjacency.empty() ? plan_->adjacency.data()
                                     : storage_->adjacency[static_cast<std::size_t>(field)].data();
}

void AnyBrickGrid::copy_from(const void* array, int field, bool with_ghosts) {
  plan_->require_own(with_ghosts);
  const std::int64_t offset = field_offset(field);
  CopyPlan::compile(plan_->of_bricks(with_ghosts), {}, plan_->of_array(with_ghosts), {})
      .run(data() + offset, static_cast<const std::byte*>(array));
}
void AnyBrickGrid::copy_to(void* array, int field, bool with_ghosts) const {
  plan_->require_own(with_ghosts);
  const std::int64_t offset = field_offset(field);
  CopyPlan::compile(plan_->of_array(with_ghosts), {}, plan_->of_bricks(with_ghosts), {})
      .run(static_cast<std::byte*>(array), data() + offset);
}

int AnyBrickGrid::messages() const noexcept { return plan_->messages; }
std::int64_t AnyBrickGrid::bytes_sent() const noexcept { return plan_->bytes_sent; }

std::string AnyBrickGrid::plan() const {
  const auto numbers = [&](const auto& by_axis) {
    return fmt::format("{}", fmt::join(std::span(by_axis).first(plan_->axes()), " x "));
  };
  const brick::Decomposition& stored = *plan_->decomposition;
  std::string text = fmt::format(
      "{} bricks of {} cells in {} parts; rank {} owns {}: {} bricks inside, {} at the surface, "
      "and "
      "{} of ghosts, {} cells deep\n{} of {} bytes each, {}, {} bytes in all\n",
      numbers(plan_->bricks.bricks), numbers(plan_->shape), numbers(plan_->division->counts()),
      plan_->rank, numbers(stored.counts()), stored.interior(), stored.owned() - stored.interior(),
      stored.stored() - stored.owned(), numbers(plan_->ghost),
      fields() == 1 ? "a field" : fmt::format("{} fields", fields()), plan_->element_bytes,
      plan_->options.apart ? "each in bricks of its own" : "together in each brick", plan_->bytes);
  text += storage_->pages(*plan_) + plan_->choice;
  if (plan_->maps_views())
    text += fmt::format("regions begin at pages of {} bytes, which adds {} bytes\n", plan_->page(),
                        plan_->padding());
  if (plan_->maps())
    text +=
        fmt::format("{} ranks of the node are read where their bricks lie\n", plan_->mapped.size());
  if (!plan_->views.empty()) {
    std::size_t ranges = 0;
    for (const auto& one : plan_->views) ranges += one.size();
    text += fmt::format("{} views of {} mappings\n", plan_->views.size(), ranges);
  }
  text += fmt::format("{} transfers to neighbours, {} bytes\n", plan_->messages, bytes_sent());
  for (const Exchange& one : plan_->exchanges) text += one.plan();
  return text;
}

}  // namespace strake
