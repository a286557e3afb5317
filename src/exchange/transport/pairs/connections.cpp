#include "exchange/transport/pairs/connections.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "exchange/peers/mapped_arrays.hpp"
#include "exchange/transport/pairs/matched_transfer.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

using peers::SharedByAll;
using Block = peers::Segments::Block;

/// How long peers whose queues are full are waited for.
constexpr std::chrono::seconds kPatience{10};
constexpr std::int64_t kPage = 4096;

/// Calls `try_once(rank)` for all `ranks` until it is true, and takes announcements meanwhile: the
/// queues of sockets are short. False: it has given up after kPatience.
template <typename Try, typename Meanwhile>
bool for_all_soon(std::vector<int> ranks, const Try& try_once, const Meanwhile& meanwhile) {
  const auto begin = std::chrono::steady_clock::now();
  while (!ranks.empty() && std::chrono::steady_clock::now() - begin < kPatience) {
    std::erase_if(ranks, try_once);
    meanwhile();
    if (!ranks.empty()) sched_yield();
  }
  return ranks.empty();
}

}  // namespace

/// Where a rank's memory for a pair is, as it tells the peer. [bytes]
struct Connections::Places {
  std::int32_t control = -1;  ///< region, negative: it has no memory
  std::uint32_t control_generation = 0;
  std::int64_t counters_at = 0;  ///< in that region
  std::int64_t arrays_at = 0;    ///< the same
  std::int32_t staging = -1;     ///< region, negative: nothing is packed
  std::uint32_t staging_generation = 0;
  std::int64_t staging_at = 0;  ///< in that region
  std::int64_t staging_bytes = 0;
  std::int64_t packed_at = 0;  ///< from staging_at on
};

/// Blocks of exchanges that this rank has closed, until all peers have.
struct Connections::Ended {
  Block control;
  Block staging;
  std::vector<std::size_t> pairs;  ///< with other ranks

  [[nodiscard]] bool is_closed() const noexcept {
    const auto* const ends = reinterpret_cast<const PairCounters*>(control.data);
    return std::ranges::all_of(pairs, [&](std::size_t pair) {
      return ends[pair].schedules[kReceives].closed.load(std::memory_order_acquire) != 0;
    });
  }
  /// Guarded by SharedByAll::mutex.
  struct All {
    std::deque<Ended> ended;
  };
  static std::deque<Ended>& all() { return ProcessState::part<All>().ended; }
};

Connections::Connections(std::shared_ptr<peers::Group> group, Setup& setup,
                         const std::vector<Pair>& pairs, std::size_t arrays)
    : group_(std::move(group)) {
  here_.reserve(pairs.size());
  for (const Pair& pair : pairs)
    here_.push_back({.rank = pair.rank, .other_end = static_cast<std::uint32_t>(pair.other_end)});
  std::string fault;
  try {
    take_blocks(pairs, arrays);
  } catch (const std::exception& error) {
    give_blocks_back();
    if (std::ranges::find(here_, group_->rank(), &Here::rank) != here_.end())
      fault =
          fmt::format("rank {} has no memory for an exchange: {}", group_->rank(), error.what());
    log::info("a planned exchange goes by MPI: {}", error.what());
  }
  try {
    setup.agree(fault, ErrorCode::OutOfMemory);
    connect(setup, pairs);
    swap_places(setup, pairs);
  } catch (...) {
    if (!are_known_) give_blocks_back();
    throw;
  }
}

Connections::~Connections() {
  // Peers may write there for an unknown time, and take the bytes of rounds that have ended.
  if (!closed_) return;
  Ended ended{control_, staging_, {}};
  for (std::size_t pair = 0; pair < here_.size(); ++pair)
    if (reaches(pair) && !is_own(pair)) ended.pairs.push_back(pair);
  const std::lock_guard lock(SharedByAll::get().mutex);
  Ended::all().push_back(std::move(ended));
  constexpr std::size_t kAtATime = 64;
  reuse_ended(kAtATime);
}

void Connections::close() noexcept {
  if (std::exchange(closed_, true)) return;
  for (std::size_t pair = 0; pair < here_.size(); ++pair) close_end(pair);
}

void Connections::close_end(std::size_t pair) noexcept {
  if (reaches(pair) && !is_own(pair))
    their_counters(pair, kReceives).closed.store(1, std::memory_order_release);
}

void Connections::give_blocks_back() {
  const std::lock_guard lock(SharedByAll::get().mutex);
  SharedByAll::get().control.give_back(std::exchange(control_, {}));
  SharedByAll::get().staging.give_back(std::exchange(staging_, {}));
}

/// Gives back what all peers have closed. Looks at `most`, in turn.
void Connections::reuse_ended(std::size_t most) {
  auto& all = Ended::all();
  for (std::size_t left = std::min(most, all.size()); left > 0; --left) {
    Ended first = std::move(all.front());
    all.pop_front();
    if (!first.is_closed()) {
      all.push_back(std::move(first));
      continue;
    }
    SharedByAll::get().control.give_back(first.control);
    SharedByAll::get().staging.give_back(first.staging);
  }
}

void Connections::take_blocks(const std::vector<Pair>& pairs, std::size_t arrays) {
  const auto is_shared = [&](const Pair& pair) {
    return pair.rank == group_->rank() || group_->is_near(pair.rank);
  };
  if (std::ranges::none_of(pairs, is_shared)) return;
  std::int64_t staged = 0;
  for (const Pair& pair : pairs)
    if (is_shared(pair)) staged += 2 * (pair.packed_bytes[kSends] + pair.packed_bytes[kReceives]);
  const auto bytes =
      static_cast<std::int64_t>(pairs.size() * sizeof(PairCounters) + arrays * sizeof(ArrayPlace));
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  reuse_ended(Ended::all().size());
  if (staged > 0) staging_ = all.staging.take(staged, kPage);
  control_ = all.control.take(bytes, kLine);
  all.control.populate(control_, 0, bytes);
  for (std::size_t i = 0; i < pairs.size(); ++i) new (counters() + i) PairCounters;
  for (std::size_t i = 0; i < arrays; ++i) new (this->arrays() + i) ArrayPlace;
  std::byte* packed = staging_.data;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!is_shared(pairs[i])) continue;
    here_[i].packed = packed;
    here_[i].receives_at = 2 * pairs[i].packed_bytes[kSends];
    // The other rank sends as much as this one receives.
    here_[i].their_receives_at = 2 * pairs[i].packed_bytes[kReceives];
    packed += here_[i].receives_at + here_[i].their_receives_at;
  }
}

/// Ranks of the node that are not connected yet map each other's first segments.
void Connections::connect(Setup& setup, const std::vector<Pair>& pairs) {
  SharedByAll& all = SharedByAll::get();
  std::vector<int> strangers;
  for (const Pair& pair : pairs)
    if (pair.rank != group_->rank() && group_->is_near(pair.rank) && !pair.connected &&
        std::ranges::find(strangers, pair.rank) == strangers.end())
      strangers.push_back(pair.rank);
  (void)for_all_soon(
      strangers,
      [&](int rank) {
        const std::lock_guard lock(all.mutex);
        return all.directory->announce_to(group_->world_rank(rank));
      },
      [&] { setup.meanwhile(); });
  // All announcements wait in sockets then, and nobody sends any more.
  const std::vector<char> done(strangers.size(), 1);
  std::vector<char> all_done, got, gotten;
  setup.swap(Setup::Step::Sent, strangers, done, all_done);
  look();
  {
    const std::lock_guard lock(all.mutex);
    for (const int rank : strangers)
      got.push_back(all.directory->knows(group_->world_rank(rank)) ? 1 : 0);
  }
  setup.swap(Setup::Step::Got, strangers, got, gotten);
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    const bool both = got[i] != 0 && gotten[i] != 0;
    all.directory->settle(group_->world_rank(strangers[i]), both);
    if (!both)
      log::info("an exchange with rank {} goes by MPI: no descriptors reach it", strangers[i]);
  }
}

void Connections::announce_segments(const Setup& setup, const std::vector<int>& ranks) const {
  SharedByAll& all = SharedByAll::get();
  if (control_.segment < 0) return;
  (void)for_all_soon(
      ranks,
      [&](int rank) {
        const std::lock_guard lock(all.mutex);
        const std::int32_t other = group_->world_rank(rank);
        return all.directory->announce_once(other, all.control.region_of(control_)) &&
               (staging_.segment < 0 ||
                all.directory->announce_once(other, all.staging.region_of(staging_)));
      },
      [&] { setup.meanwhile(); });
}

Connections::Places Connections::own_places(std::size_t pair) const {
  Places made;
  if (control_.segment < 0) return made;
  SharedByAll& all = SharedByAll::get();
  const auto control = all.control.region_of(control_);
  made.control = control.number;
  made.control_generation = control.generation;
  made.counters_at = control_.at + static_cast<std::int64_t>(pair * sizeof(PairCounters));
  made.arrays_at = control_.at + static_cast<std::int64_t>(here_.size() * sizeof(PairCounters));
  if (staging_.segment >= 0) {
    const auto staging = all.staging.region_of(staging_);
    made.staging = staging.number;
    made.staging_generation = staging.generation;
    made.staging_at = staging_.at;
    made.staging_bytes = staging_.bytes;
    made.packed_at = here_[pair].packed - staging_.data;
  }
  return made;
}

/// Ranks of the node tell each other where their memory is.
void Connections::swap_places(Setup& setup, const std::vector<Pair>& pairs) {
  SharedByAll& all = SharedByAll::get();
  std::vector<int> ranks, once;
  std::vector<std::size_t> numbers;
  std::vector<Places> mine, theirs;
  {
    const std::lock_guard lock(all.mutex);
    for (std::size_t pair = 0; pair < here_.size(); ++pair) {
      const int rank = here_[pair].rank;
      if (is_own(pair)) {
        const std::size_t other_end = here_[pair].other_end;
        here_[pair].theirs = counters() + other_end;
        here_[pair].their_arrays = arrays();
        here_[pair].their_packed = here_[other_end].packed;
      } else if (group_->is_near(rank) && all.directory->both_know(group_->world_rank(rank))) {
        ranks.push_back(rank);
        numbers.push_back(pair);
        mine.push_back(own_places(pair));
        if (std::ranges::find(once, rank) == once.end()) once.push_back(rank);
      }
    }
  }
  announce_segments(setup, once);
  setup.swap(Setup::Step::Places, ranks, mine, theirs);
  are_known_ = true;
  std::vector<char> resolved, they_have;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    resolved.push_back(
        control_.segment >= 0 && resolve(numbers[i], theirs[i], pairs[numbers[i]].on_devices) ? 1
                                                                                              : 0);
  setup.swap(Setup::Step::Resolved, ranks, resolved, they_have);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (resolved[i] != 0 && they_have[i] != 0) continue;
    here_[numbers[i]].theirs = nullptr;
    log::info("an exchange with rank {} goes by MPI: its memory is not shared", ranks[i]);
    // The next exchange announces the segments anew: there may be room by then.
    const std::lock_guard lock(all.mutex);
    const std::int32_t other = group_->world_rank(ranks[i]);
    if (control_.segment >= 0)
      all.directory->forget_announcement(other, all.control.region_of(control_));
    if (staging_.segment >= 0)
      all.directory->forget_announcement(other, all.staging.region_of(staging_));
  }
}

/// False: the other rank's memory is not here.
bool Connections::resolve(std::size_t pair, const Places& theirs, bool on_devices) {
  if (theirs.control < 0) return false;
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  Here& here = here_[pair];
  const std::int32_t other = group_->world_rank(here.rank);
  const auto control =
      all.directory->find_announced(other, theirs.control, theirs.control_generation);
  if (!control) return false;
  TheirPages pages{{control->data, control->bytes}, {}};
  if (theirs.staging >= 0) {
    const auto staging =
        all.directory->find_announced(other, theirs.staging, theirs.staging_generation);
    if (!staging) return false;
    pages.packed = {staging->data + theirs.staging_at, theirs.staging_bytes};
    here.their_packed = pages.packed.begin + theirs.packed_at;
  }
  if (on_devices) their_pages_[pair] = pages;
  here.their_arrays = reinterpret_cast<ArrayPlace*>(control->data + theirs.arrays_at);
  here.theirs = reinterpret_cast<PairCounters*>(control->data + theirs.counters_at);
  return true;
}

void Connections::look() {
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  if (all.directory != nullptr) all.directory->take_announcements();
}

bool Connections::is_gone(std::size_t pair) const noexcept {
  if (is_own(pair)) return false;
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  return all.directory->is_gone(group_->world_rank(here_[pair].rank));
}

void Connections::populate(std::size_t pair, std::size_t schedule, std::int64_t at,
                           std::int64_t bytes) {
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  const std::int64_t begin = own_packed(pair, schedule) + at - staging_.data;
  all.staging.populate(staging_, begin, begin + bytes);
}

bool Connections::show(std::size_t pair, std::int64_t array, const std::byte* address,
                       ByteRange touched) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const peers::ArrayAddress where = peers::announce_array(
      *group_, here_[pair].rank, address, address + touched.begin, address + touched.end);
  if (where.region < 0) return false;
  ArrayPlace& place = arrays()[array];
  place.generation.store(where.generation, kRelaxed);
  place.offset.store(where.offset, kRelaxed);
  place.region.store(where.region, kRelaxed);
  return true;
}

const std::byte* Connections::find(std::size_t pair, std::int64_t array, ByteRange touched) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const ArrayPlace& place = here_[pair].their_arrays[array];
  return peers::find_array(
      *group_, here_[pair].rank,
      {place.region.load(kRelaxed), place.generation.load(kRelaxed), place.offset.load(kRelaxed)},
      touched.begin, touched.end);
}

Connections::InDevice Connections::give_device_memory(const std::byte* first,
                                                      const std::byte* last) {
  SharedByAll& all = SharedByAll::get();
  std::optional<peers::Directory::Region> region;
  {
    const std::lock_guard lock(all.mutex);
    auto& exports = sharing::DeviceExports::get();
    sharing::Declined why{};
    region = exports.find(first, last, why);
    // No message is being read, and an exchange's staging memory is not freed before its end.
    all.directory->announce_freed([](std::int32_t) { return false; });
    if (!region) region = exports.find(first, last, why);
    if (!region) {
      log::info("memory of a device can't be given to other ranks in an exchange: {}",
                sharing::name_of(why));
      return {};
    }
  }
  std::vector<int> ranks;
  for (const auto& [pair, pages] : their_pages_)
    if (reaches(pair)) ranks.push_back(here_[pair].rank);
  const bool all_told = for_all_soon(
      ranks,
      [&](int rank) {
        const std::lock_guard lock(all.mutex);
        return all.directory->announce_once(group_->world_rank(rank), *region);
      },
      look);
  return all_told ? InDevice{region->number, region->generation, first - region->data} : InDevice{};
}

std::byte* Connections::device_memory(std::size_t pair, const InDevice& where, Place place) {
  if (!peers::is_device_region(where.region)) return nullptr;
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.directory->find_announced(group_->world_rank(here_[pair].rank),
                                                   where.region, where.generation, place);
  if (!found || where.offset < 0 || where.offset >= found->bytes) return nullptr;
  return found->data + where.offset;
}

Connections::Pages Connections::own_pages(bool packed) const {
  if (packed) return {staging_.data, staging_.bytes};
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  const auto region = all.control.region_of(control_);
  return {region.data, region.bytes};
}

Connections::Pages Connections::their_pages(std::size_t pair, bool packed) const {
  if (is_own(pair)) return own_pages(packed);
  const TheirPages& pages = their_pages_.at(pair);
  return packed ? pages.packed : pages.ends;
}

}  // namespace strake::exchange::planned
