// Bricks of other ranks of the node in the place of ghosts (BrickForm::Mapped): who they are, where
// their bricks lie, and the words by which ranks say that values are there, and no longer read.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "brick/check.hpp"
#include "brick/plan.hpp"
#include "exchange/peers/mapped_arrays.hpp"
#include "memory/sharing/arenas.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake {

namespace peers = exchange::peers;

bool AnyBrickGrid::Plan::is_mapped(int other) const noexcept {
  return maps() && (other == rank || std::ranges::find(mapped, other) != mapped.end());
}

int AnyBrickGrid::Plan::owner_of(std::int32_t number) const {
  const auto& found =
      decomposition->ghost_bricks()[static_cast<std::size_t>(number - decomposition->owned())];
  const auto part = division->neighbour(part_of[static_cast<std::size_t>(rank)], found.from);
  return part ? rank_of[static_cast<std::size_t>(*part)] : -1;
}

void AnyBrickGrid::Plan::plan_signals() {
  for_each_neighbour([this](brick::Region /*direction*/, int other) {
    if (!is_mapped(other) && group->is_near(other)) mapped.push_back(other);
  });
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::int64_t));
  ExchangePart part;
  words.resize(mapped.size() + 1);
  part.array({}, std::ssize(words) * kWord);
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    part.send(mapped[i], 0, 0, Layout::dense(kWord));
    part.receive(mapped[i], 0, 0, Layout::dense(kWord, static_cast<std::int64_t>(i + 1) * kWord));
  }
  signals = Exchange(comm, part);
  // Ranks may be near, and have no memory to share.
  std::erase_if(mapped, [this](int other) { return !group->is_connected(other); });
  std::erase_if(ghosts, [this](std::int32_t number) { return is_mapped(owner_of(number)); });
}

void AnyBrickGrid::Plan::signal(std::int64_t word) {
  if (signals.running())
    throw InvalidArgument(
        "before_writing() or start() of bricks between start() and finish() of a grid that is "
        "alike: "
        "call it before, or after");
  words[0] = word;
  signals.start(words.data());
}

void AnyBrickGrid::Plan::give_up() noexcept {
  for (Exchange& one : exchanges) one.give_up();
  if (maps()) signals.give_up();
}

void AnyBrickGrid::Plan::finish_signals() {
  signals.wait();
  ++rounds;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] != words[0])
      throw Error(fmt::format(
          "rank {} is at grid {} of bricks that are alike, and a neighbour on its node at grid {} "
          "(-1: before_writing()): all ranks exchange and swap them in the same steps",
          rank, words[0], words[i]));
}

void AnyBrickGrid::Storage::allocate(Plan& plan) {
  number = plan.grids++;
  const bool must_be_shared = plan.maps() || !plan.views.empty();
  memory =
      SharedArray(must_be_shared ? std::max(plan.bytes, sharing::Arenas::kShortest) : plan.bytes,
                  {}, plan.options.page);
  addresses = {memory.data()};
  if (settings::flag(settings::Id::check)) check = std::make_unique<Check>(plan);
  if (!plan.views.empty()) make_views(plan);
}

std::string AnyBrickGrid::Storage::pages(const Plan& plan) const {
  if (plan.options.page <= sharing::page_bytes()) return {};
  const auto region =
      sharing::Arenas::get().find(memory.data(), memory.data() + memory.size_bytes());
  if (!region)
    return fmt::format("not in pages of {} bytes: it is too short, or can't be shared\n",
                       plan.options.page);
  return fmt::format(
      "in pages of {} bytes, {}\n", plan.options.page,
      region->pool_page > 0
          ? "from the system's pool of huge pages"
          : "of which the system's pool has too few: in ordinary pages, which the kernel may join");
}

/// Maps what each neighbour gets as one piece.
void AnyBrickGrid::Storage::make_views(const Plan& plan) {
  const auto region = sharing::Arenas::get().find(memory.data(), memory.data() + plan.bytes);
  if (!region)
    throw Unsupported(fmt::format(
        "views of {} bytes of bricks: the memory can't be shared, of which a process has "
        "at most {} arrays",
        plan.bytes, sharing::Arenas::kMost));
  std::int64_t needed = 0;
  for (const auto& ranges : plan.views) needed += std::ssize(ranges);
  sharing::require_mappings(needed, sharing::mappings());
  const std::int64_t offset = memory.data() - region->data;
  const std::int64_t page = offset % plan.page() == 0 ? plan.page() : 0;
  for (const auto& ranges : plan.views) {
    std::vector<sharing::SharedView::Range> in_file;
    for (const ByteRange& range : ranges) in_file.push_back({offset + range.begin, range.size()});
    views.emplace_back(region->descriptor, in_file, page);
    addresses.push_back(views.back().data());
  }
}

/// Tells the mapped neighbours where the bricks lie, and finds theirs. Collective.
void AnyBrickGrid::Storage::map(Plan& plan) {
  struct Told {
    peers::ArrayAddress where;
    std::int64_t bytes = 0;
    std::int64_t field_bytes = 0;  ///< from field to field
  };
  const mpi::RealMpi& real = mpi::real_mpi();
  const std::size_t count = plan.mapped.size();
  std::vector<Told> own(count), theirs(count);
  std::vector<MPI_Request> requests(count);
  const std::int64_t field_bytes = plan.field_bytes;
  constexpr int kTag = 0;
  constexpr int kLength = sizeof(Told);
  for (std::size_t i = 0; i < count; ++i)
    mpi::check(real.MPI_Irecv(&theirs[i], kLength, MPI_BYTE, plan.mapped[i], kTag, plan.comm,
                              &requests[i]),
               "MPI_Irecv");
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = {peers::announce_array(*plan.group, plan.mapped[i], memory.data(), memory.data(),
                                    memory.data() + memory.size_bytes()),
              memory.size_bytes(), field_bytes};
    mpi::check(real.MPI_Send(&own[i], kLength, MPI_BYTE, plan.mapped[i], kTag, plan.comm),
               "MPI_Send");
  }
  mpi::check(real.MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE),
             "MPI_Waitall");
  bricks_ = {{plan.rank, {memory.data(), field_bytes}}};
  for (std::size_t i = 0; i < count; ++i) {
    const int other = plan.mapped[i];
    const std::byte* const there =
        peers::find_array(*plan.group, other, theirs[i].where, 0, theirs[i].bytes);
    if (there == nullptr)
      throw Unsupported(
          fmt::format("rank {} can't map the bricks of rank {}, of which a process shares {} "
                      "arrays at most: take "
                      "another BrickForm",
                      plan.rank, other, sharing::Arenas::kMost));
    bricks_[other] = {there, theirs[i].field_bytes};
  }
}

/// Finds the neighbours of each brick, those of other ranks among them.
void AnyBrickGrid::Storage::link(const Plan& plan) {
  for (int field = 0; field < plan.options.fields; ++field) {
    const auto address = [field](const Bricks& of) {
      return reinterpret_cast<std::intptr_t>(of.first) + field * of.field_bytes;
    };
    const std::intptr_t here = address(bricks_.at(plan.rank));
    adjacency.push_back(plan.adjacency_of([&](std::int32_t one) {
      const auto owner = bricks_.find(plan.owner_of(one));
      if (owner == bricks_.end()) return plan.offsets[static_cast<std::size_t>(one)];
      const auto& ghost =
          plan.decomposition
              ->ghost_bricks()[static_cast<std::size_t>(one - plan.decomposition->owned())];
      return address(owner->second) + ghost.number * plan.stride - here;
    }));
  }
}

}  // namespace strake
