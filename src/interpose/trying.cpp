#include "interpose/trying.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "mpi/job.hpp"
#include "mpi/types.hpp"
#include "mpi/world.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::interpose::trying {
namespace {

using exchange::Choice;
using exchange::Reason;
using exchange::Transport;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::int64_t kMostBetween = 60'000'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Looks whether calls touch memory for the first time. A look at the system's count takes some
/// 300 ns, so only the first calls of an exchange are looked at, and the first that complete it.
class Faults {
 public:
  void begin_exchange() noexcept { left_ = {kMost, kMost}; }
  void begin_call(bool completes) noexcept {
    int& left = left_[completes ? 1 : 0];
    looks_ = left > 0;
    if (!looks_) return;
    --left;
    before_ = count();
  }
  /// Whether the call has touched any, as far as it was looked at. Charges `trials` with the look.
  [[nodiscard]] bool end_call(exchange::Trials& trials) noexcept {
    if (!std::exchange(looks_, false)) return false;
    trials.charge(kCost);
    return count() != before_;
  }

 private:
  static constexpr int kMost = 8;
  static constexpr std::int64_t kCost = 600;  // [ns]
  static long count() noexcept {
    rusage used{};
    return getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_minflt : 0;
  }

  std::array<int, 2> left_{};
  bool looks_ = false;
  long before_ = 0;
};

/// Made in MPI_Init. One thread at a time is in MPI while there are trials.
struct Trying {
  exchange::Trials trials{now()};
  Faults faults;
  bool blocking = false;                 ///< whether the running call is a blocking one
  std::int64_t review = 0;               ///< when what was found is to be tried again [ns]
  std::int64_t between = 5'000'000'000;  ///< how long after a review the next one comes [ns]
  std::int64_t resume = kNever;          ///< when trials go on that pause now [ns]
};
Trying& trying() { return ProcessState::part<Trying>(); }

/// Whether no other thread may be in MPI; else the trials end (a session may bring that).
bool is_alone() noexcept {
  if (!mpi::g_multiple.load(std::memory_order_relaxed)) return true;
  g_open.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace

Choice choose(const mpi::Elements& elements, exchange::MessageDirection direction, bool nonblocking,
              Where where, Choice by_rule, bool* settled) {
  static const bool wanted = settings::flag(settings::Id::trials);
  if (!wanted || mpi::g_multiple.load(std::memory_order_relaxed)) return by_rule;
  Trying& own = trying();
  const std::uint64_t begun = own.trials.begun();
  if (!own.trials.is_open()) own.faults.begin_exchange();
  if (!own.trials.is_inside()) own.faults.begin_call(false);
  const auto selected = own.trials.select(
      {elements.layout().hash(), elements.size_bytes(), direction, nonblocking, where.offerable},
      {by_rule.transport, by_rule.shares, where.shareable}, now());
  if (own.trials.is_open() && own.trials.begun() != begun) own.faults.begin_exchange();
  g_open.store(own.trials.is_open(), std::memory_order_relaxed);
  if (selected.paused) own.resume = std::min(own.resume, own.trials.resumes_at());
  own.blocking = own.blocking || (!selected.settled && !nonblocking);
  *settled = selected.settled;
  const Reason meanwhile = by_rule.reason == Reason::None ? Reason::BuiltInRule : by_rule.reason;
  return {selected.transport, selected.settled && selected.tried ? Reason::Trials : meanwhile,
          selected.shares, selected.offers};
}

void start() noexcept {
  Trying& own = trying();
  own.review = now() + own.between;
}

void look_at_time() noexcept {
  Trying& own = trying();
  const std::int64_t time = now();
  if (time < std::min(own.review, own.resume) || !is_alone()) return;
  if (time >= own.review) {
    own.trials.drop();
    own.trials.review(time);
    g_open.store(false, std::memory_order_relaxed);
    own.between = std::min(2 * own.between, kMostBetween);
    own.review = time + own.between;
  }
  own.resume = kNever;
  mpi::g_type_generation.fetch_add(1, std::memory_order_release);  // all are asked about again
}

void begin_open() noexcept {
  if (!is_alone()) return;
  Trying& own = trying();
  own.trials.begin();
  g_open.store(own.trials.is_open(), std::memory_order_relaxed);
}

void enter_open() noexcept {
  if (!is_alone()) return;
  Trying& own = trying();
  own.faults.begin_call(true);
  own.trials.enter(now());
}

void leave_open(bool completes) noexcept {
  Trying& own = trying();
  if (is_alone() && own.trials.is_inside()) {
    const std::int64_t time = now();
    own.trials.leave(time, completes || own.blocking, own.faults.end_call(own.trials));
  }
  own.blocking = false;
}

void drop_open() noexcept {
  Trying& own = trying();
  if (is_alone()) own.trials.drop();
  g_open.store(false, std::memory_order_relaxed);
  own.blocking = false;
}

exchange::Trials::Found found() noexcept { return trying().trials.found(); }

}  // namespace strake::interpose::trying
