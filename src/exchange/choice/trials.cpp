#include "exchange/choice/trials.hpp"

#include <algorithm>
#include <limits>

namespace strake::exchange {

std::int64_t Trials::Times::median() const {
  std::array<std::int64_t, kTimed> sorted = last;
  const auto middle = sorted.begin() + timed() / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + timed());
  return *middle;
}

std::int64_t Trials::Times::least() const {
  return *std::min_element(last.begin(), last.begin() + std::max(timed(), 1));
}

void Trials::Times::add(std::int64_t time, std::int64_t warms_in) noexcept {
  if (warm_ups < kWarmUp || (warm_ns < warms_in && warm_ups < kMostWarmUp)) {
    ++warm_ups;
    warm_ns += time;
    return;
  }
  last[static_cast<std::size_t>(count % kTimed)] = time;
  count = count == std::numeric_limits<int>::max() ? kTimed : count + 1;
}

void Trials::State::begin() noexcept {
  settled = false;
  begun = -1;
  ways = {};
  ways[kShared].hopeless = !by_rule.shareable || by_rule.shares;
  ways[kCopied].hopeless = !by_rule.shareable || !by_rule.shares || !offerable;
  turn = kept;
}

Transport Trials::State::transport_of(std::size_t way) const noexcept {
  if (way == kLeft) return Transport::Library;
  return way == kPacked ? Transport::Pack : by_rule.transport;
}

bool Trials::State::shares(std::size_t way) const noexcept {
  return way == kShared || way == kCopied || (way == kRules && by_rule.shares);
}

Trials::Selection Trials::State::selection(std::size_t way) const noexcept {
  Selection result;
  result.transport = transport_of(way);
  result.shares = shares(way);
  result.offers = way != kCopied;
  return result;
}

std::size_t Trials::Hash::operator()(const Subject& subject) const noexcept {
  return static_cast<std::size_t>(subject.layout.lo ^
                                  (static_cast<std::uint64_t>(subject.bytes) << 2) ^
                                  (subject.direction == MessageDirection::Send ? 0U : 1U) ^
                                  (subject.nonblocking ? 2U : 0U) ^ (subject.offerable ? 4U : 0U));
}

Trials::Selection Trials::select(const Subject& subject, const Rule& by_rule, std::int64_t now) {
  begin();
  auto known = states_.find(subject);
  if (known == states_.end()) {
    if (states_.size() == kMostSubjects) return {by_rule.transport, by_rule.shares, true, true};
    known = states_.try_emplace(subject, by_rule, subject.offerable).first;
  }
  State& state = known->second;
  if (open_ && blocking_ && (state.exchange == exchange_ || subject.nonblocking)) close();
  const auto kept = [&](bool tried, bool paused) {
    Selection selection = state.selection(state.kept);
    selection.settled = true;
    selection.tried = tried;
    selection.paused = paused;
    return selection;
  };
  if (state.settled) return kept(true, false);
  if (!open_) {
    if (is_paused(state, now)) return kept(state.ever_settled, true);
    open_ = true;
    ++exchange_;
    members_.clear();
    spent_ = 0;
    disturbed_ = false;
    blocking_ = !subject.nonblocking;
    calls_ = 0;
    turn_ = turn_of(state);
  }
  enter(now);
  if (state.exchange != exchange_) {
    state.exchange = exchange_;
    state.turn = turn_;
    if (state.begun < 0) state.begun = now;
    members_.push_back(&state);
  }
  Selection selection = state.selection(turn_);
  selection.tried = true;
  return selection;
}

/// Whether the job can't afford an exchange on trial now, or it is too early for the next way.
bool Trials::is_paused(const State& state, std::int64_t now) noexcept {
  if (now < resumes_at_) return true;
  if (state.ways[state.turn].tried() && now - began_ < kSettlesIn) {
    resumes_at_ = began_ + kSettlesIn;
  } else if (static_cast<double>(lost_) > kShare * static_cast<double>(now - began_)) {
    resumes_at_ = began_ + static_cast<std::int64_t>(static_cast<double>(lost_) / kResume);
  }
  return now < resumes_at_;
}

/// The way that is being tried, and after it the next one: first the one that is kept, as the
/// others' cost is counted from its time.
std::size_t Trials::turn_of(const State& state) noexcept {
  if (!state.ways[state.turn].tried()) return state.turn;
  const auto next = std::ranges::find_if_not(state.ways, &Times::tried);
  return next == state.ways.end() ? state.kept
                                  : static_cast<std::size_t>(next - state.ways.begin());
}

void Trials::begin() {
  if (open_ && completed_ && !blocking_) close();
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

void Trials::leave(std::int64_t now, bool completes, bool disturbed) noexcept {
  if (!open_ || !inside_) return;
  inside_ = false;
  ++calls_;
  spent_ += now - entered_;
  completed_ = completed_ || completes;
  disturbed_ = disturbed_ || disturbed;
}

void Trials::close() {
  drop();
  if (!members_.empty()) charge_for(*members_.front());
  for (State* const state : members_) {
    Times& times = state->ways[turn_];
    if (disturbed_ && times.disturbed++ < kDisturbed) continue;
    times.add(spent_, warms_in_);
    judge(*state);
  }
}

/// An exchange that went another way than the one that is kept may have taken longer; all take
/// longer by being timed.
void Trials::charge_for(const State& state) {
  charge(calls_ * kCallCost);
  if (turn_ == state.kept || state.ways[state.kept].timed() == 0) return;
  const std::int64_t usual = state.ways[state.kept].median();
  charge(std::clamp<std::int64_t>(spent_ - usual, 0, kMostCharge * usual));
}

void Trials::judge(State& state) const {
  std::size_t best = state.kept;
  if (state.ways[best].timed() < kFew) return;
  for (std::size_t way = 0; way < kWays; ++way)
    if (state.ways[way].timed() >= kFew && state.ways[way].median() < state.ways[best].median())
      best = way;
  const auto least = static_cast<double>(state.ways[best].median());
  bool enough = true;
  for (std::size_t way = 0; way < kWays; ++way) {
    Times& times = state.ways[way];
    times.hopeless = times.hopeless || (way != state.kept && times.timed() >= kFew &&
                                        static_cast<double>(times.least()) > kHopeless * least);
    enough = enough && times.tried();
  }
  if (!enough) return;
  const double worth_it = best == kLeft ? kWorthLeaving : kWorthIt;
  if (least <= worth_it * static_cast<double>(state.ways[state.kept].median())) state.kept = best;
  settle(state);
  state.ended = entered_;
}

void Trials::settle(State& state) {
  state.settled = true;
  state.ever_settled = true;
  state.left_ns = state.ways[kLeft].median();
  state.moved_ns = state.ways[kPacked].median();
  const bool rules_move = state.by_rule.transport == Transport::Pack ||
                          (state.by_rule.shareable && state.by_rule.shares);
  if (rules_move) state.moved_ns = std::min(state.moved_ns, state.ways[kRules].median());
  for (const std::size_t way : {kShared, kCopied}) {
    if (state.ways[way].timed() > 0)
      state.moved_ns = std::min(state.moved_ns, state.ways[way].median());
  }
}

void Trials::review(std::int64_t now) {
  for (auto& [subject, state] : states_) {
    if (state.settled && now - state.ended >= kRest * (state.ended - state.begun)) state.begin();
  }
}

Trials::Found Trials::found() const noexcept {
  Found found;
  for (const auto& [subject, state] : states_) {
    found.moved_ns += static_cast<std::uint64_t>(state.moved_ns);
    found.left_ns += static_cast<std::uint64_t>(state.left_ns);
    if (!state.ever_settled) {
      ++found.unsettled;
    } else if (state.by_rule.shareable && state.shares(state.kept)) {
      ++found.shared;
    } else if (state.transport_of(state.kept) == Transport::Pack) {
      ++found.packed;
    } else {
      ++found.left;
    }
  }
  return found;
}

}  // namespace strake::exchange
