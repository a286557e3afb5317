#include "exchange/collective/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <new>

#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"

namespace strake::exchange {
namespace {

/// The time that calls alike take by one way, without those that others held up.
std::int64_t median(std::vector<std::int64_t> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

void Trial::add(std::uint64_t shape, CollectiveWay way, std::int64_t ns) noexcept {
  try {
    times_[shape][static_cast<std::size_t>(way)].push_back(ns);
  } catch (const std::bad_alloc&) {  // one time less
  }
}

void Trial::decide(MPI_Comm comm) {
  std::array<std::int64_t, kWays> own{};
  const auto add_shape = [&](const WayTimes& of) {
    std::ptrdiff_t calls = 0;
    for (std::size_t way = 0; way < ways_; ++way) {
      if (of[way].empty()) return;
      calls += std::ssize(of[way]);
    }
    for (std::size_t way = 0; way < ways_; ++way) own[way] += calls * median(of[way]);
  };
  try {
    for (const auto& [shape, of] : times_) add_shape(of);
  } catch (const std::bad_alloc&) {
    own = {};  // the other ranks wait for this one
  }
  times_.clear();
  std::array<std::int64_t, kWays> all{};  // whole numbers: their sum is the same on all ranks
  mpi::check(
      mpi::real_mpi().MPI_Allreduce(own.data(), all.data(), kWays, MPI_INT64_T, MPI_SUM, comm),
      "MPI_Allreduce");
  std::size_t fastest = 0;
  for (std::size_t way = 1; way < ways_; ++way)
    if (all[way] < all[fastest]) fastest = way;
  if (all[fastest] > 0) {
    way_ = static_cast<CollectiveWay>(fastest);
    double more = 0;  // what a trial adds, in calls of the fastest way
    for (std::size_t way = 0; way < ways_; ++way)
      more += 2 * kBlock * (static_cast<double>(all[way]) / static_cast<double>(all[fastest]) - 1);
    until_ = static_cast<unsigned>(
        std::clamp(more / kCost, static_cast<double>(kSoonest), static_cast<double>(kLatest)));
  } else {
    until_ = kUntold;
  }
  constexpr std::array kWords{"by the MPI library", "pair by pair", "relayed"};
  log::debug("collective calls of a kind, summed over ranks: {} us {}, {} us {}{}; from now on {}",
             all[0] / 1000, kWords[0], all[1] / 1000, kWords[1],
             ways_ > 2 ? fmt::format(", {} us {}", all[2] / 1000, kWords[2]) : "",
             kWords[static_cast<std::size_t>(way_)]);
  trying_ = false;
  calls_ = 0;
}

CollectiveWay Trial::next() noexcept {
  if (!trying_) {
    count();
    return way_;
  }
  const unsigned call = calls_++;
  if (call < kWarm)
    return ways_ > 2 && call >= kWarm / 2 ? CollectiveWay::Relayed : CollectiveWay::Pairs;
  // Forth, and back again: what changes meanwhile adds to all ways alike.
  const unsigned block = (call - kWarm) / kBlock;
  return static_cast<CollectiveWay>(block < ways_ ? block : 2 * ways_ - 1 - block);
}

}  // namespace strake::exchange
