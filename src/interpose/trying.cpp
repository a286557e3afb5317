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

/// The first call is MPI_Init's.
exchange::Trials& trials() {
  static exchange::Trials& instance = *new exchange::Trials(now());  // calls may come after main
  return instance;
}

/// Whether the running call is a blocking one.
bool g_blocking = false;

/// When what was found is to be tried again. [ns]
std::int64_t g_review = 0;
/// How long after a review the next one comes. [ns]
std::int64_t g_between = 5'000'000'000;
constexpr std::int64_t kMostBetween = 60'000'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
/// When trials go on that pause now. [ns]
std::int64_t g_resume = kNever;

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
  /// Whether the call has touched any, as far as it was looked at.
  [[nodiscard]] bool end_call() noexcept {
    if (!std::exchange(looks_, false)) return false;
    trials().charge(kCost);
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
constinit Faults g_faults;

/// Whether no other thread may be in MPI; else the trials end (a session may bring that).
bool is_alone() noexcept {
  if (!mpi::g_multiple.load(std::memory_order_relaxed)) return true;
  g_open.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace

Choice choose(const mpi::Elements& elements, exchange::Direction direction, bool nonblocking,
              bool shareable, Choice by_rule, bool* settled) {
  static const bool wanted = settings::flag(settings::Id::trials);
  if (!wanted || mpi::g_multiple.load(std::memory_order_relaxed)) return by_rule;
  const std::uint64_t begun = trials().begun();
  if (!trials().is_open()) g_faults.begin_exchange();
  if (!trials().is_inside()) g_faults.begin_call(false);
  const auto way =
      trials().way({elements.layout().hash(), elements.size_bytes(), direction, nonblocking},
                   {by_rule.transport, by_rule.shares, shareable}, now());
  if (trials().is_open() && trials().begun() != begun) g_faults.begin_exchange();
  g_open.store(trials().is_open(), std::memory_order_relaxed);
  if (way.paused) g_resume = std::min(g_resume, trials().resumes_at());
  g_blocking = g_blocking || (!way.settled && !nonblocking);
  *settled = way.settled;
  const Reason meanwhile = by_rule.reason == Reason::None ? Reason::BuiltInRule : by_rule.reason;
  return {way.transport, way.settled && way.tried ? Reason::Trials : meanwhile, way.shares};
}

void start() noexcept {
  g_review = now() + g_between;
  (void)trials();
}

void look_at_time() noexcept {
  const std::int64_t time = now();
  if (time < std::min(g_review, g_resume) || !is_alone()) return;
  if (time >= g_review) {
    trials().drop();
    trials().review(time);
    g_open.store(false, std::memory_order_relaxed);
    g_between = std::min(2 * g_between, kMostBetween);
    g_review = time + g_between;
  }
  g_resume = kNever;
  mpi::g_type_generation.fetch_add(1, std::memory_order_release);  // all are asked about again
}

void begin_open() noexcept {
  if (!is_alone()) return;
  trials().begin();
  g_open.store(trials().is_open(), std::memory_order_relaxed);
}

void enter_open() noexcept {
  if (!is_alone()) return;
  g_faults.begin_call(true);
  trials().enter(now());
}

void leave_open(bool completes) noexcept {
  if (is_alone() && trials().is_inside()) {
    const std::int64_t time = now();
    trials().leave(time, completes || g_blocking, g_faults.end_call());
  }
  g_blocking = false;
}

void drop_open() noexcept {
  if (is_alone()) trials().drop();
  g_open.store(false, std::memory_order_relaxed);
  g_blocking = false;
}

exchange::Trials::Found found() noexcept { return trials().found(); }

}  // namespace strake::interpose::trying
