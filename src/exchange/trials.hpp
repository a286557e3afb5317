/// \file  A job learns which way is faster: its first exchanges go different ways in turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/method.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {

using machine::Direction;
using machine::Method;

/// Compares three ways for the messages of an exchange: by the rules, all left to the MPI library,
/// and all packed. An exchange is what a rank sends and receives until a call that completes
/// messages is followed by one that begins some; its time is that spent inside these calls. All
/// messages of an exchange go the same way, so the way that is kept is the one that made the
/// exchange faster, not one message. Each layout and size is tried in a bounded number of
/// exchanges. For one thread at a time. Times are in nanoseconds, by any clock.
class Trials {
 public:
  /// What is tried: messages alike share one trial, whatever their datatypes' handles are.
  struct Subject {
    Hash128 layout;
    std::int64_t bytes = 0;
    Direction direction = Direction::Send;
    bool nonblocking = false;
    friend bool operator==(const Subject&, const Subject&) = default;
  };
  static constexpr int kWarmUp = 1;  ///< exchanges of each way that are not timed
  static constexpr int kTimed = 6;   ///< exchanges of each way
  /// A way is kept instead of the rules' if it takes at most this part of their time.
  static constexpr double kWorthIt = 0.92;

  struct Way {
    Method method = Method::System;
    bool settled = false;  ///< it stays so
    bool tried = false;    ///< by trials, not by the rules
  };
  /// The way of a message of a call that began at `now`. `by_rule`: System or Pack.
  Way way(const Subject& subject, Method by_rule, std::int64_t now);
  /// \{ A call that belongs to the open exchange begins, or returns. `completes`: messages may be
  /// complete then.
  void enter(std::int64_t now) noexcept;
  void leave(std::int64_t now, bool completes) noexcept;
  /// \}
  /// A message begins, on trial or not: it belongs to the open exchange if nothing of that is
  /// complete yet, and else ends it.
  void begin();
  /// The open exchange has failed: its time says nothing.
  void drop() noexcept;
  /// Whether an exchange is open; whether one of its calls is running.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] bool is_inside() const noexcept { return open_ && inside_; }

  struct Found {
    std::uint64_t packed = 0;     ///< layouts for which packing was kept
    std::uint64_t left = 0;       ///< for which the MPI library's own copy was
    std::uint64_t unsettled = 0;  ///< not tried to the end
    /// \{ Sums over those tried to the end: the median exchange packed, and left to the MPI
    /// library.
    std::uint64_t packed_ns = 0;
    std::uint64_t left_ns = 0;
    /// \}
  };
  [[nodiscard]] Found found() const noexcept;

 private:
  static constexpr std::size_t kWays = 3;  // by rule, System, Pack
  static constexpr std::size_t kMostSubjects = 1024;
  struct State {
    Method by_rule = Method::System;
    Method method = Method::System;
    bool settled = false;
    std::uint64_t exchange = 0;  ///< the last one that it was in
    int exchanges = 0;
    std::array<std::vector<std::int64_t>, kWays> times;
    /// \{ Medians, once it is settled.
    std::int64_t packed_ns = 0;
    std::int64_t left_ns = 0;
    /// \}
  };
  struct Hash {
    std::size_t operator()(const Subject& subject) const noexcept;
  };

  void close();
  static void settle(State& state);

  std::unordered_map<Subject, State, Hash> states_;
  std::vector<State*> members_;  ///< of the open exchange
  std::uint64_t exchange_ = 0;
  std::size_t turn_ = 0;      ///< the way of the open exchange
  std::int64_t spent_ = 0;    ///< inside its calls so far
  std::int64_t entered_ = 0;  ///< when the running call began
  bool inside_ = false;
  bool completed_ = false;
  bool open_ = false;
};

}  // namespace strake::exchange
