#include "exchange/trials.hpp"

#include <algorithm>

namespace strake::exchange {
namespace {

std::int64_t median(std::vector<std::int64_t>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

std::size_t Trials::Hash::operator()(const Subject& subject) const noexcept {
  return static_cast<std::size_t>(
      subject.layout.lo ^ (static_cast<std::uint64_t>(subject.bytes) << 2) ^
      (subject.direction == Direction::Send ? 0U : 1U) ^ (subject.nonblocking ? 2U : 0U));
}

Trials::Way Trials::way(const Subject& subject, Method by_rule, std::int64_t now) {
  begin();
  auto known = states_.find(subject);
  if (known == states_.end()) {
    if (states_.size() == kMostSubjects) return {by_rule, true};
    known = states_.try_emplace(subject).first;
    known->second.by_rule = by_rule;
  }
  State& state = known->second;
  if (state.settled) return {state.method, true, true};
  if (!open_) {
    open_ = true;
    ++exchange_;
    members_.clear();
    spent_ = 0;
    turn_ = static_cast<std::size_t>(state.exchanges) % kWays;
  }
  enter(now);
  if (state.exchange != exchange_) {
    state.exchange = exchange_;
    members_.push_back(&state);
  }
  const Method ways[kWays] = {state.by_rule, Method::System, Method::Pack};
  return {ways[turn_], false, true};
}

void Trials::begin() {
  if (open_ && completed_) close();
}

void Trials::drop() noexcept {
  open_ = false;
  completed_ = false;
  inside_ = false;
}

void Trials::enter(std::int64_t now) noexcept {
  if (!open_ || inside_) return;
  inside_ = true;
  entered_ = now;
}

void Trials::leave(std::int64_t now, bool completes) noexcept {
  if (!open_ || !inside_) return;
  inside_ = false;
  spent_ += now - entered_;
  completed_ = completed_ || completes;
}

void Trials::close() {
  drop();
  for (State* const state : members_) {
    std::vector<std::int64_t>& times = state->times[turn_];
    if (state->exchanges++ >= kWarmUp * static_cast<int>(kWays)) times.push_back(spent_);
    const bool enough = std::ranges::all_of(
        state->times, [](const auto& one) { return one.size() >= std::size_t{kTimed}; });
    if (enough) settle(*state);
  }
}

void Trials::settle(State& state) {
  const auto by_rule = static_cast<double>(median(state.times[0]));
  const std::int64_t left = median(state.times[1]);
  const std::int64_t packed = median(state.times[2]);
  const Method faster = packed < left ? Method::Pack : Method::System;
  const bool worth_it = static_cast<double>(std::min(packed, left)) <= kWorthIt * by_rule;
  state.method = worth_it ? faster : state.by_rule;
  state.settled = true;
  state.packed_ns = packed;
  state.left_ns = left;
  state.times = {};
}

Trials::Found Trials::found() const noexcept {
  Found found;
  for (const auto& [subject, state] : states_) {
    found.packed_ns += static_cast<std::uint64_t>(state.packed_ns);
    found.left_ns += static_cast<std::uint64_t>(state.left_ns);
    if (!state.settled) {
      ++found.unsettled;
    } else if (state.method == Method::Pack) {
      ++found.packed;
    } else {
      ++found.left;
    }
  }
  return found;
}

}  // namespace strake::exchange
