/// \file  A job learns which way is faster: its exchanges go different ways in turn, first and now
/// and then.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/message.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {

using machine::MessageDirection;
using machine::Transport;

/// Compares the ways for the messages of an exchange, each in some exchanges in a row: by the rules
/// or the profile, each message as that says, by memory that ranks of a node share or without; all
/// left to the MPI library; all packed and sent by it; and, for messages that the profile does not
/// let share memory, all by shared memory; and, for messages that lie where their receivers may
/// copy them from, all packed into shared memory. An exchange is what a rank sends and receives
/// until a call that completes messages is followed by one that begins some; one of blocking calls,
/// until one of its messages comes again. Its time is that spent inside these calls. All messages
/// of an exchange go the same way, so the way that is kept is the one that made the exchange
/// faster, not one message. Each layout and size is tried in a bounded number of exchanges, and
/// again after each review(). Trials take a bounded part of the job's time. For one thread at a
/// time. Times are in nanoseconds, by any clock.
class Trials {
 public:
  /// A kind of message. All messages of a kind share one trial, whatever their datatypes' handles
  /// are.
  struct Subject {
    Hash128 layout;
    std::int64_t bytes = 0;
    MessageDirection direction = MessageDirection::Send;
    bool nonblocking = false;
    bool offerable = false;  ///< the receiver could copy it in place, and an offer may pay
    friend bool operator==(const Subject&, const Subject&) = default;
  };
  /// \{ Exchanges of each way that are not timed: at least kWarmUp, and until they have taken
  /// kWarmsIn [ns] in all, but at most kMostWarmUp. Code that has not run for a while is slow, and
  /// the way that was kept so far would look better than it is.
  static constexpr int kWarmUp = 2;
  static constexpr int kMostWarmUp = 16;
  static constexpr std::int64_t kWarmsIn = 100'000;
  /// \}
  static constexpr int kTimed = 10;  ///< exchanges of each way
  /// Another way is taken instead of the one that is kept if it takes at most this part of its
  /// time.
  static constexpr double kWorthIt = 0.95;
  /// As kWorthIt, of the MPI library's own: a program must not be slower than by that alone.
  static constexpr double kWorthLeaving = 0.98;
  /// A way whose fastest exchange takes longer by this factor than another one's median, after kFew
  /// of each, is not tried to the end. Libraries take long for their first messages of a type.
  static constexpr double kHopeless = 1.25;
  static constexpr int kFew = 4;
  /// The part of the time since `began` that trials may have made the job longer by. Where it is
  /// more, trials pause until it is kResume.
  static constexpr double kShare = 0.01;
  static constexpr double kResume = 0.005;
  /// Timing takes so long for each call. [ns]
  static constexpr std::int64_t kCallCost = 300;
  /// An exchange of another way than the one that is kept is charged at most so many times the
  /// median of that: a neighbour may have been late.
  static constexpr std::int64_t kMostCharge = 100;
  /// A review begins the trials of a kind again at the earliest after so many times as long as they
  /// took.
  static constexpr std::int64_t kRest = 10;

  /// So long after that no other way is tried: the first milliseconds of a job are like no others
  /// (libraries connect late, and take long for their first messages of a type). [ns]
  static constexpr std::int64_t kSettlesIn = 20'000'000;
  /// So many exchanges of each way in which memory was touched for the first time are not timed: a
  /// library's buffers for messages that it has not carried yet come page by page.
  static constexpr int kDisturbed = 500;

  /// \param began  when the job did
  explicit Trials(std::int64_t began = 0, std::int64_t warms_in = kWarmsIn) noexcept
      : began_(began), warms_in_(warms_in) {}

  /// The way that trials select for a message, and how far they are with it.
  struct Selection {
    Transport transport = Transport::Library;
    bool shares = true;    ///< by memory that the receiver shares, where it can
    bool offers = true;    ///< there, without packing, where the receiver can copy it from
    bool settled = false;  ///< it stays so until the next review, or until resumes_at()
    bool tried = false;    ///< by trials, not by the rules
    bool paused = false;   ///< until resumes_at()
  };
  /// The rules, or the profile, say this of a message.
  struct Rule {
    Transport transport = Transport::Library;  ///< or Pack
    bool shares = true;                        ///< as of Selection
    bool shareable = false;                    ///< memory that ranks share may carry it
  };
  /// Selects the way of a message of a call that began at `now`.
  Selection select(const Subject& subject, const Rule& by_rule, std::int64_t now);
  /// \{ A call that belongs to the open exchange begins, or returns. `completes`: messages may be
  /// complete then. `disturbed`: the call has touched memory for the first time.
  void enter(std::int64_t now) noexcept;
  void leave(std::int64_t now, bool completes, bool disturbed = false) noexcept;
  /// \}
  /// How many exchanges have begun.
  [[nodiscard]] std::uint64_t begun() const noexcept { return exchange_; }
  /// Trials have made the job longer by that, beside kCallCost. [ns]
  void charge(std::int64_t cost) noexcept { lost_ += cost; }
  /// A message begins, on trial or not: it belongs to the open exchange if nothing of that is
  /// complete yet, or all are blocking, and else ends it.
  void begin();
  /// The open exchange has failed: its time says nothing.
  void drop() noexcept;
  /// When the pause ends that select() has reported.
  [[nodiscard]] std::int64_t resumes_at() const noexcept { return resumes_at_; }
  /// Subjects that are settled are tried again, those that are not go on: what is kept may have
  /// become slower than another way.
  void review(std::int64_t now);
  /// Whether an exchange is open; whether one of its calls is running.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] bool is_inside() const noexcept { return open_ && inside_; }

  struct Found {
    std::uint64_t packed = 0;     ///< kinds of message for which packing was kept
    std::uint64_t shared = 0;     ///< for which shared memory was
    std::uint64_t left = 0;       ///< for which the MPI library's own copy was
    std::uint64_t unsettled = 0;  ///< not tried to the end
    /// \{ Sums over those tried to the end: the median exchange by the faster of Strake's ways, and
    /// left to the MPI library.
    std::uint64_t moved_ns = 0;
    std::uint64_t left_ns = 0;
    /// \}
  };
  [[nodiscard]] Found found() const noexcept;

 private:
  enum : std::size_t { kRules, kLeft, kPacked, kShared, kCopied, kWays };
  static constexpr std::size_t kMostSubjects = 1024;
  /// The exchanges that went one way.
  struct Times {
    std::array<std::int64_t, kTimed> last{};
    int warm_ups = 0;
    std::int64_t warm_ns = 0;  ///< that these took
    int count = 0;             ///< of those that were timed
    int disturbed = 0;
    bool hopeless = false;  ///< the way is too slow, impossible, or another one by another name

    [[nodiscard]] int timed() const noexcept { return std::min(count, kTimed); }
    [[nodiscard]] bool tried() const noexcept { return hopeless || timed() >= kTimed; }
    [[nodiscard]] std::int64_t median() const;
    [[nodiscard]] std::int64_t least() const;
    void add(std::int64_t time, std::int64_t warms_in) noexcept;
  };
  struct State {
    Rule by_rule;
    bool offerable;
    std::size_t kept = kRules;
    std::size_t turn = kRules;  ///< the way that is being tried
    bool settled = false;
    bool ever_settled = false;
    /// \{ Medians, when it was settled last.
    std::int64_t moved_ns = 0;
    std::int64_t left_ns = 0;
    /// \}
    std::uint64_t exchange = 0;  ///< the last one that it was in
    std::int64_t begun = -1;     ///< when it was in the first one since begin(); negative: not yet
    std::int64_t ended = 0;      ///< when it was settled last
    std::array<Times, kWays> ways;

    State(const Rule& rule, bool may_offer) noexcept : by_rule(rule), offerable(may_offer) {
      begin();
    }
    /// Forgets all times: the ways that differ, and are possible, are to be tried.
    void begin() noexcept;
    [[nodiscard]] Transport transport_of(std::size_t way) const noexcept;
    [[nodiscard]] bool shares(std::size_t way) const noexcept;
    [[nodiscard]] Selection selection(std::size_t way) const noexcept;
  };
  struct Hash {
    std::size_t operator()(const Subject& subject) const noexcept;
  };

  void close();
  [[nodiscard]] bool is_paused(const State& state, std::int64_t now) noexcept;
  [[nodiscard]] static std::size_t turn_of(const State& state) noexcept;
  void charge_for(const State& state);
  void judge(State& state) const;
  static void settle(State& state);

  std::unordered_map<Subject, State, Hash> states_;
  std::vector<State*> members_;  ///< of the open exchange
  std::int64_t began_;
  std::int64_t warms_in_;
  std::int64_t lost_ = 0;  ///< how much longer the job is by trials
  std::int64_t resumes_at_ = 0;
  std::int64_t calls_ = 0;  ///< of the open exchange
  std::uint64_t exchange_ = 0;
  std::size_t turn_ = 0;      ///< the way of the open exchange
  std::int64_t spent_ = 0;    ///< inside its calls so far
  std::int64_t entered_ = 0;  ///< when the running call began
  bool inside_ = false;
  bool completed_ = false;
  bool disturbed_ = false;
  bool blocking_ = false;  ///< all its messages are
  bool open_ = false;
};

}  // namespace strake::exchange
