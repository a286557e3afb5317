// A device's copies in a round of puts: which there are, and how they are compiled.
#include <utility>

#include "exchange/transport/put/device_put.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

Layout packed(const Layout& layout, std::int64_t at) {
  return Layout::dense(layout.size_bytes(), at);
}

}  // namespace

/// The launch of its own that is saved takes a device and its host some 10 us. In the launch that
/// puts these bytes are sent when all of it is done, and what comes from the node is taken then: so
/// both parts are to take less, at 370 GB/s to other devices and 50 to pinned memory.
std::vector<DevicePut::Target> DevicePut::targets(std::size_t which) {
  constexpr std::int64_t kMostPut = 1 << 20;
  constexpr std::int64_t kMostPacked = 256 << 10;
  std::int64_t put = 0;
  std::int64_t bytes = 0;
  std::size_t slots = arrays_.size() + 2 * buffers_of_.size();
  for (const MatchedTransfer& transfer : own_) put += transfer.mine.size_bytes();
  for (const auto& [number, shared] : buffers_of_) {
    const PutPeer& peer = peers_[number];
    put += (which == kSends ? peer.sends : peer.receives)->size_bytes();
  }
  std::vector<Target> made;
  for (const auto& [transfer, schedules] : packed_) {
    const PairSchedule& schedule = (*schedules)[which];
    const std::int64_t more = schedule.size_bytes();
    if (put > kMostPut || bytes + more > kMostPacked || slots >= DeviceCopier::kFewPutSlots ||
        !transfer->may_be_packed_by(place_, which))
      continue;
    if (std::byte* const to = transfer->let_device_pack(which, [this] { return is_put(); })) {
      made.push_back({&schedule, to});
      bytes += more;
      ++slots;
    }
  }
  return made;
}

/// How the values of each array are combined; empty: all are replaced.
std::vector<DeviceCombine> DevicePut::combines_of(std::span<const Combine> combine) const {
  std::vector<DeviceCombine> wanted;
  const bool replaces = std::ranges::none_of(combine, [](const Combine& how) { return bool{how}; });
  for (std::size_t i = 0; !replaces && i < arrays_.size(); ++i)
    wanted.push_back(combine_of(combine, static_cast<int>(arrays_[i])).on_device().value());
  return wanted;
}

bool DevicePut::is_compiled_reverse(std::span<const Combine> combine) const {
  const auto known = back_.find(combines_of(combine));
  return known != back_.end() && known->second.chosen != nullptr;
}

void DevicePut::prepare(bool reverse, std::span<const Combine> combine) {
  const std::vector<DeviceCombine> wanted = combines_of(combine);
  Compiled& made = reverse ? back_[wanted] : forward_;
  if (made.chosen == nullptr) {
    // Both now: while work is captured, no memory can be had.
    const std::vector<Target> also = targets(reverse ? kReceives : kSends);
    if (uses_engines() && !engines_are_forced_)
      made.by_kernels = compiled(reverse, wanted, also, false);
    made.chosen = compiled(reverse, wanted, also, true);
  }
  prepared_ = &made;
}

/// Engines copy between addresses of the host's count of rounds, which graphs don't tell.
const PutRounds* DevicePut::rounds(const Compiled& of, const DeviceStream& stream) {
  if (of.by_kernels == nullptr) return of.chosen.get();  // a stream takes a microsecond to answer
  was_captured_ = was_captured_ || stream.capturing();
  return was_captured_ ? of.by_kernels.get() : of.chosen.get();
}

/// The copies of a round, collected part by part.
struct DevicePut::RoundCopies {
  const DevicePut& device;
  bool reverse;
  const std::vector<DeviceCombine>& how;  ///< by array; none: values are replaced
  bool engines;                           ///< take part where they were chosen
  std::vector<PutCopies::Buffer> buffers{};
  std::vector<CopyBatch::Copy> put{}, own{}, take{};
  std::vector<CopyBatch::Copy> engine_put{}, engine_own{}, engine_take{};
  std::vector<PutCopies::Combined> combined{};

  [[nodiscard]] std::int32_t slot(int array) const {
    return device.slot_of_[static_cast<std::size_t>(array)];
  }
  /// The slot of the buffer that is added next.
  [[nodiscard]] std::int32_t next_slot() const {
    return static_cast<std::int32_t>(device.arrays_.size() + buffers.size());
  }
  void combine(const CopyBatch::Copy& copy) {
    combined.push_back({copy, how[static_cast<std::size_t>(copy.to_slot)]});
  }
  void add_packed(const Target& target) {
    for (const MatchedTransfer& transfer : target.schedule->transfers())
      own.push_back({packed(transfer.mine, transfer.packed_at), next_slot(), transfer.mine,
                     slot(transfer.array)});
    buffers.push_back({target.to, target.to});
  }
  void add_own(const MatchedTransfer& transfer) {
    const CopyBatch::Copy forward = {transfer.theirs, slot(transfer.their_array), transfer.mine,
                                     slot(transfer.array)};
    const CopyBatch::Copy back = {transfer.mine, slot(transfer.array), transfer.theirs,
                                  slot(transfer.their_array)};
    if (!how.empty()) {
      combine(back);
    } else {
      (engines && device.engines_copy_own() ? engine_own : own).push_back(reverse ? back : forward);
    }
  }
  /// Adds all that is put to a peer, and taken from it.
  void add_peer(const PutPeer& peer, const Shared& shared) {
    const PairSchedule& out = reverse ? *peer.receives : *peer.sends;
    const PairSchedule& in = reverse ? *peer.sends : *peer.receives;
    const std::int32_t there = next_slot();
    const bool by_engine = engines && shared.transport == Transport::Engine;
    buffers.push_back(shared.out[reverse ? 1 : 0]);
    buffers.push_back(shared.in[reverse ? 1 : 0]);
    for (const MatchedTransfer& transfer : out.transfers()) {
      (by_engine ? engine_put : put)
          .push_back({packed(transfer.mine, transfer.packed_at), there, transfer.mine,
                      slot(transfer.array)});
    }
    for (const MatchedTransfer& transfer : in.transfers()) {
      const CopyBatch::Copy taken = {transfer.mine, slot(transfer.array),
                                     packed(transfer.mine, transfer.packed_at), there + 1};
      if (!how.empty()) {
        combine(taken);
      } else {
        (by_engine ? engine_take : take).push_back(taken);
      }
    }
  }
};

std::unique_ptr<PutRounds> DevicePut::compiled(bool reverse, const std::vector<DeviceCombine>& how,
                                               const std::vector<Target>& targets,
                                               bool engines) const {
  RoundCopies copies{*this, reverse, how, engines};
  const std::vector<Place> arrays(arrays_.size(), place_);
  // Copies for other nodes come first: their link is slower.
  for (const Target& target : targets) copies.add_packed(target);
  // This device's own first, then by the other ranks' numbers: each run gives the same values.
  for (const MatchedTransfer& transfer : own_) copies.add_own(transfer);
  for (const auto& [number, shared] : buffers_of_) copies.add_peer(peers_[number], shared);
  DeviceCopier* const copier = device_copier();
  if (copier == nullptr) throw Unsupported("device memory, but no device back end has copies");
  return copier->compile_put(place_.device,
                             {.arrays = arrays,
                              .buffers = copies.buffers,
                              .put = copies.put,
                              .own = copies.own,
                              .take = copies.take,
                              .engine_put = copies.engine_put,
                              .engine_own = copies.engine_own,
                              .engine_take = copies.engine_take,
                              .combined = copies.combined},
                             {reinterpret_cast<PutCounts*>(staging_.data()), progress_, flags_});
}

}  // namespace strake::exchange::planned
