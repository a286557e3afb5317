#include "exchange/collective/trial.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

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

void Trial::decide(MPI_Comm comm, const std::vector<const WayTimes*>& mine) {
  std::array<std::int64_t, 2> own{};
  const auto add = [&](const WayTimes& times) {
    const auto& [library, pairs, relayed] = times.of;
    (void)relayed;
    if (library.empty() || pairs.empty()) return;
    const auto calls = std::ssize(library) + std::ssize(pairs);
    own[0] += calls * median(library);
    own[1] += calls * median(pairs);
  };
  for (const WayTimes* const times : mine) add(*times);
  add(std::exchange(others_, {}));
  std::array<std::int64_t, 2> all{};  // whole numbers: their sum is the same on all ranks
  mpi::check(mpi::real_mpi().MPI_Allreduce(own.data(), all.data(), 2, MPI_INT64_T, MPI_SUM, comm),
             "MPI_Allreduce");
  if (all[0] > 0 && all[1] > 0) way_ = all[1] < all[0] ? Way::Pairs : Way::Library;
  log::debug(
      "collective calls of a kind: {} us by the MPI library, {} us pair by pair, summed over "
      "ranks; from now on {}",
      all[0] / 1000, all[1] / 1000, way_ == Way::Pairs ? "pair by pair" : "by the library");
  trying_ = false;
  calls_ = 0;
}

Way Trial::next() noexcept {
  if (!trying_) {
    count();
    return way_;
  }
  // As often by one way as by the other, whatever the period of a program's calls.
  const unsigned call = calls_++;
  return call < kWarm || std::popcount(call - kWarm) % 2 == 0 ? Way::Pairs : Way::Library;
}

}  // namespace strake::exchange
