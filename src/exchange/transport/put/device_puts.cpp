#include "exchange/transport/put/device_puts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

/// Numbers the devices of a node as this process does. Those that it does not see get a number that
/// no other one has.
class DeviceNumbers {
 public:
  /// \param identity  as DeviceBackend::identity(); 0: not known
  /// \param ordinal   the device's number in its process
  int of(std::uint64_t identity, int ordinal) {
    if (identity == 0) return ordinal;
    const auto known = numbers_.find(identity);
    if (known != numbers_.end()) return known->second;
    const auto is_taken = [&](int number) {
      return std::ranges::any_of(numbers_,
                                 [number](const auto& one) { return one.second == number; });
    };
    while (is_taken(ordinal)) ++ordinal;
    numbers_.emplace(identity, ordinal);
    return ordinal;
  }

 private:
  std::map<std::uint64_t, int> numbers_;
};

/// Swaps values between the two ends of each pair. All ranks with ends call it alike.
class SwapOfEnds {
 public:
  /// \param ends  in the same order at both ranks of a pair
  SwapOfEnds(Setup& setup, const std::vector<const DevicePut::PutPeer*>& ends)
      : setup_(setup), other_ends_(ends.size(), kElsewhere) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (!ends[i]->is_own) {
        ranks_.push_back(ends[i]->rank);
        others_.push_back(i);
        continue;
      }
      other_ends_[i] = 0;
      while (ends[other_ends_[i]]->pair != ends[i]->other_end) ++other_ends_[i];
    }
  }
  /// Returns what the other end of each says; it may be this rank's own.
  template <typename T>
  [[nodiscard]] std::vector<T> operator()(Setup::Step step, const std::vector<T>& mine) const {
    std::vector<T> theirs(other_ends_.size()), out, in;
    for (const std::size_t i : others_) out.push_back(mine[i]);
    setup_.swap(step, ranks_, out, in);
    for (std::size_t i = 0; i < others_.size(); ++i) theirs[others_[i]] = in[i];
    for (std::size_t i = 0; i < other_ends_.size(); ++i)
      if (other_ends_[i] != kElsewhere) theirs[i] = mine[other_ends_[i]];
    return theirs;
  }
  /// The ends whose other end is another rank's.
  [[nodiscard]] const std::vector<std::size_t>& with_others() const noexcept { return others_; }

 private:
  static constexpr std::size_t kElsewhere = SIZE_MAX;
  Setup& setup_;
  std::vector<int> ranks_;  ///< of others_
  std::vector<std::size_t> others_;
  std::vector<std::size_t> other_ends_;  ///< by end; kElsewhere: another rank's
};

}  // namespace

DevicePuts::DevicePuts(Setup& setup, Connections& connections, const std::vector<Place>& arrays,
                       std::vector<Part> parts, const DeviceChoices& choices) {
  std::string fault;
  for (Part& part : parts) {
    puts_.push_back(std::make_unique<DevicePut>(part.place, arrays, std::move(part.peers),
                                                std::move(part.own), choices.engines_are_forced));
    try {
      if (fault.empty()) puts_.back()->open_staging();
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  setup.agree(fault, ErrorCode::OutOfMemory);
  std::vector<End> ends;
  for (const auto& put : puts_)
    for (std::size_t i = 0; i < put->peers().size(); ++i) ends.push_back({put.get(), i});
  // Both ranks have the ends between them in the same order.
  std::ranges::sort(ends, {}, [](const End& end) { return end.put->peers()[end.peer].pair; });
  swap_offers(setup, connections, ends, choices);
  std::erase_if(puts_, [](const auto& put) { return !put->is_used(); });
}

void DevicePuts::pack_too(Place device, PackedByDevice& packed, const Schedules& schedules) {
  for (const auto& put : puts_)
    if (put->place() == device) put->pack_too(packed, schedules);
}

std::vector<DevicePair> DevicePuts::pairs_of(
    int rank, const std::vector<End>& ends, const Offers& offers,
    const std::vector<DevicePut::StagingOffer>& theirs) const {
  DeviceNumbers numbers;
  for (const auto& put : puts_) (void)numbers.of(offers.at(put.get()).device, put->place().device);
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const DevicePut::PutPeer& peer = ends[i].put->peers()[ends[i].peer];
    pairs.push_back({{rank, ends[i].put->place().device},
                     {peer.rank, numbers.of(theirs[i].device, theirs[i].ordinal)},
                     &peer.sends->transfers(),
                     &peer.receives->transfers()});
  }
  for (const auto& put : puts_) {
    const RankOnDevice own{rank, put->place().device};
    if (!put->own().empty()) pairs.push_back({own, own, &put->own(), nullptr});
  }
  return pairs;
}

void DevicePuts::note_why(const DevicePut::PutPeer& peer, const PairChoice& chosen, Transport mine,
                          Transport theirs) {
  const Transport both = std::max(mine, theirs);
  why_[peer.pair] = both == chosen.transport ? chosen.why
                    : both == mine           ? "as this device does not reach the other's memory"
                                             : fmt::format("as rank {} has it", peer.rank);
}

void DevicePuts::swap_offers(Setup& setup, Connections& connections, const std::vector<End>& ends,
                             const DeviceChoices& choices) {
  std::vector<const DevicePut::PutPeer*> peers;
  for (const auto& [put, peer] : ends) peers.push_back(&put->peers()[peer]);
  const SwapOfEnds swap(setup, peers);
  Offers offers;
  for (const auto& put : puts_) offers[put.get()] = put->offer(connections);
  std::vector<DevicePut::StagingOffer> mine;
  for (const auto& [put, peer] : ends) mine.push_back(put->offer_to(peer, offers.at(put)));
  std::vector<DevicePut::StagingOffer> theirs = swap(Setup::Step::Offers, mine);
  const std::vector<PairChoice> chosen =
      choices.choose(pairs_of(setup.rank(), ends, offers, theirs));
  for (std::size_t i = 0; i < ends.size(); ++i)
    mine[i].transport =
        ends[i].put->wanted(connections, ends[i].peer, chosen[i].transport, theirs[i]);
  theirs = swap(Setup::Step::Reached, mine);
  for (std::size_t i = 0; i < ends.size(); ++i)
    note_why(*peers[i], chosen[i], mine[i].transport, theirs[i].transport);
  std::vector<char> accepts;
  for (std::size_t i = 0; i < ends.size(); ++i)
    accepts.push_back(ends[i].put->accepts(connections, ends[i].peer, mine[i], theirs[i]) ? 1 : 0);
  const std::vector<char> they_accept = swap(Setup::Step::Accepted, accepts);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool both = accepts[i] != 0 && they_accept[i] != 0;
    ends[i].put->settle(ends[i].peer, both);
    if (both) where_[peers[i]->pair] = ends[i];
  }
  // Also where it is not the two that share a device that exchange.
  for (const auto& put : puts_) {
    for (const std::size_t i : swap.with_others())
      if (theirs[i].device != 0 && theirs[i].device == offers.at(put.get()).device)
        put->share_device();
  }
}

Transport DevicePuts::transport(std::size_t pair) const {
  const End& end = where_.at(pair);
  return end.put->transport(end.peer);
}

std::string DevicePuts::why(std::size_t pair) const {
  const auto found = why_.find(pair);
  return found == why_.end() ? std::string() : found->second;
}

bool DevicePuts::engines_copy_own() const noexcept {
  return std::ranges::any_of(puts_, [](const auto& put) { return put->engines_copy_own(); });
}

void DevicePuts::require_capturable(std::span<Stream> streams) const {
  if (std::ranges::any_of(puts_, [](const auto& put) { return !put->can_be_captured(); }) &&
      StreamAccess::any_captures(streams))
    throw Unsupported(
        "an exchange by copy engines (STRAKE_METHOD=engine) is captured: the host tells them which "
        "buffer a round uses");
}

bool DevicePuts::may_wait() const noexcept {
  return std::ranges::all_of(puts_, [](const auto& put) { return put->may_wait(); });
}

bool DevicePuts::is_idle() const noexcept {
  return std::ranges::all_of(puts_, [](const auto& put) { return put->is_idle(); });
}

bool DevicePuts::is_compiled_reverse(std::span<const Combine> combine) const {
  return std::ranges::all_of(puts_,
                             [&](const auto& put) { return put->is_compiled_reverse(combine); });
}

void DevicePuts::prepare(bool reverse, std::span<const Combine> combine) {
  for (const auto& put : puts_) put->prepare(reverse, combine);
}

/// All puts come after what is in `work` now.
void DevicePuts::follow(DeviceStream& work) {
  auto& event = events_[work.device()];
  if (event == nullptr) event = required_device_backend().make_event(work.device());
  work.record(*event);
  for (const auto& put : puts_) put->follow(work, *event);
}

void DevicePuts::start(Bases bases, std::span<Stream> after) {
  require_capturable(after);
  for (const Stream& stream : after)
    if (DeviceStream* const work = StreamAccess::of(stream)) follow(*work);
  if (after.empty()) {
    for (const auto& put : puts_) {
      const int device = put->place().device;
      auto& legacy = defaults_[device];
      if (legacy == nullptr) legacy = required_device_backend().adopt_stream(nullptr, device);
      follow(*legacy);
    }
  }
  for (const auto& put : puts_) put->put(bases);
}

bool DevicePuts::test(bool now) {
  bool all = true;
  for (const auto& put : puts_) all = put->test(now) && all;
  return all;
}

void DevicePuts::end_in(std::span<Stream> before) {
  for (const auto& put : puts_) {
    const DeviceEvent& end = put->end();
    for (const Stream& stream : before)
      if (DeviceStream* const work = StreamAccess::of(stream)) work->wait(end);
  }
}

void DevicePuts::forget() noexcept {
  for (const auto& put : puts_) put->forget();
}

void DevicePuts::run(Bases bases, std::span<Stream> streams) {
  require_capturable(streams);
  if (puts_.size() == 1 && streams.size() == 1 &&
      streams.front().device() == puts_.front()->place().device)
    return puts_.front()->run(bases, *StreamAccess::of(streams.front()));
  prepare(false, {});
  start(bases, streams);
  end_in(streams);
}

void DevicePuts::run_reverse(Bases bases, std::span<const Combine> combine,
                             std::span<Stream> streams) {
  require_capturable(streams);
  prepare(true, combine);
  start(bases, streams);
  end_in(streams);
}

std::string DevicePuts::last_round() const {
  std::string text;
  for (const auto& put : puts_) {
    const auto stages = put->stages();
    if (!stages) continue;
    text += fmt::format("device {}, last round: ", put->place().device);
    if (!put->peers().empty())
      text += fmt::format("put by {:.1f} us, all had come by {:.1f}, ", stages->put, stages->seen);
    text += fmt::format("ended at {:.1f} us\n", stages->ended);
  }
  return text;
}

// Each may wait behind what another one waits for.
void DevicePuts::stop_waiting() noexcept {
  for (const auto& put : puts_) put->stop_waiting();
}

void DevicePuts::give_up() noexcept {
  stop_waiting();
  for (const auto& put : puts_) put->give_up();
}

std::optional<std::size_t> DevicePuts::late() const noexcept {
  for (const auto& put : puts_)
    if (const DevicePut::PutPeer* const peer = put->late()) return peer->pair;
  return std::nullopt;
}

bool DevicePuts::misses(std::size_t pair) const noexcept {
  const End& end = where_.at(pair);
  return end.put->misses(end.peer);
}

}  // namespace strake::exchange::planned
