#include "exchange/transport/put/device_put.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "exchange/transport/put/set_zero.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

// Staging memory holds counts, then a flag for each peer, then buffers.
constexpr std::int64_t kFlagBytes = 64;
constexpr std::int64_t kCountBytes = 256;
constexpr std::int64_t kBufferUnit = 256;
static_assert(sizeof(PutCounts) <= kCountBytes);

std::int64_t flag_at(std::size_t peer) {
  return kCountBytes + static_cast<std::int64_t>(peer) * kFlagBytes;
}

/// Size of a buffer for one round with a peer, forward or reverse, in either direction. [bytes]
std::int64_t buffer_bytes(const DevicePut::PutPeer& peer) {
  const std::int64_t most = std::max(peer.sends->packed_bytes(), peer.receives->packed_bytes());
  return (most + kBufferUnit - 1) / kBufferUnit * kBufferUnit;
}

bool needs_put_buffers(Transport transport) {
  return transport == Transport::Put || transport == Transport::Engine;
}

}  // namespace

DevicePut::DevicePut(Place place, const std::vector<Place>& arrays, std::vector<PutPeer> peers,
                     std::vector<MatchedTransfer> own, bool engines_are_forced)
    : place_(place),
      slot_of_(arrays.size(), -1),
      peers_(std::move(peers)),
      own_(std::move(own)),
      engines_are_forced_(engines_are_forced) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i] != place_) continue;
    slot_of_[i] = static_cast<std::int32_t>(arrays_.size());
    arrays_.push_back(i);
  }
  // Each peer has a buffer here and one there.
  has_room_ = arrays_.size() + 2 * peers_.size() <= DeviceCopier::kMostPutSlots;
}

DevicePut::~DevicePut() {
  if (progress_ == nullptr) return;
  // A round that is still under way was not waited for: it has failed.
  if (step_ != Step::Idle) give_up();
  try {
    if (progress_->given_up == 0) {
      stream_->synchronize();
      if (has_last_) last_->synchronize();
      return;
    }
    // Peers may not know yet, and put into the staging memory.
    staging_.leak();
    if (is_idle_soon()) return;
  } catch (...) {
    staging_.leak();  // the device has failed
  }
  for (const Packed& packed : packed_) packed.transfer->leak();
  // Work that waits for something else still uses these.
  progress_block_.leak();
  const auto release = [](Compiled& of) {
    (void)of.chosen.release();
    (void)of.by_kernels.release();
  };
  release(forward_);
  for (auto& [how, copies] : back_) release(copies);
  (void)stream_.release();
}

void DevicePut::open_staging() {
  std::int64_t bytes = (flag_at(peers_.size()) + kBufferUnit - 1) / kBufferUnit * kBufferUnit;
  const std::int64_t head = bytes;
  for (const PutPeer& peer : peers_) {
    buffer_at_.push_back(bytes);
    bytes += 2 * buffer_bytes(peer);
  }
  try {
    DeviceBackend& backend = required_device_backend();
    backend.require_intact(place_.device);
    staging_ = StagingMemory(place_, bytes);
    set_zero(staging_.data(), head, place_);
    progress_block_ = PoolBlock({MemoryKind::Pinned, place_.device}, sizeof(PutProgress));
    stream_ = backend.make_stream(place_.device, DeviceBackend::StreamOf::Library);
    for (auto* const event : {&captured_end_, &last_}) *event = backend.make_event(place_.device);
    progress_ = new (progress_block_.data()) PutProgress;  // from now on there is work to end
  } catch (const std::exception& error) {
    throw OutOfMemory(
        fmt::format("no device memory for the {} bytes of an exchange's staging memory: {}", bytes,
                    error.what()));
  }
}

DevicePut::StagingOffer DevicePut::offer(Connections& connections) {
  StagingOffer made;
  made.ordinal = place_.device;
  made.address = staging_.data();
  made.device = device_backend()->identity(place_.device);
  if (std::ranges::all_of(peers_, &PutPeer::is_own)) return made;
  try {
    made.staging =
        connections.give_device_memory(staging_.data(), staging_.data() + buffer_at_.back() + 1);
  } catch (const std::exception& error) {
    log::info("staging memory can't be given to other ranks: {}", error.what());
  }
  return made;
}

DevicePut::StagingOffer DevicePut::offer_to(std::size_t peer, const StagingOffer& all) const {
  StagingOffer made = all;
  made.flag_at = flag_at(peer);
  made.buffer_at = buffer_at_[peer];
  return made;
}

std::byte* DevicePut::staging_of(Connections& connections, const PutPeer& peer,
                                 const StagingOffer& theirs) const {
  if (!peer.is_own) return connections.device_memory(peer.pair, theirs.staging, place_);
  try {
    if (device_backend()->reach_peer(place_.device, theirs.ordinal)) return theirs.address;
  } catch (const Error& error) {
    log::warn("device {} doesn't reach the memory of device {}: {}", place_.device, theirs.ordinal,
              error.what());
  }
  return nullptr;
}

Transport DevicePut::wanted(Connections& connections, std::size_t number, Transport best,
                            const StagingOffer& theirs) const {
  if (!has_room_) return Transport::Staged;
  const PutPeer& peer = peers_[number];
  // A device that can't reach the other's staging memory says so: the buffers are in host memory
  // then.
  if (needs_put_buffers(best) && staging_of(connections, peer, theirs) == nullptr)
    return Transport::OneShot;
  return best;
}

bool DevicePut::accepts(Connections& connections, std::size_t number, const StagingOffer& mine,
                        const StagingOffer& theirs) {
  const PutPeer& peer = peers_[number];
  try {
    buffers_of_[number] = shared_with(connections, peer, mine, theirs);
    return true;
  } catch (const std::exception& error) {
    log::info("an exchange with rank {} is packed and copied by CPUs: {}", peer.rank, error.what());
    return false;
  }
}

void DevicePut::settle(std::size_t peer, bool accepted) {
  if (!accepted) {
    buffers_of_.erase(peer);
    return;
  }
  const Shared& shared = buffers_of_.at(peer);
  may_wait_ = may_wait_ && needs_put_buffers(shared.transport) && !shared.same_device;
  flags_.push_back(shared.flags);
}

/// \throws Error  this device reaches neither the other's memory nor what its rank shares
DevicePut::Shared DevicePut::shared_with(Connections& connections, const PutPeer& peer,
                                         const StagingOffer& mine, const StagingOffer& theirs) {
  Shared made;
  made.flag = &connections.own_counters(peer.pair, kReceives).put;
  made.transport = std::max(mine.transport, theirs.transport);
  made.ordinal = theirs.ordinal;
  made.same_device = theirs.device == mine.device && mine.device != 0;
  const bool by_device = needs_put_buffers(made.transport);
  if (!by_device && made.transport != Transport::OneShot)
    throw Unsupported("a rank wants it so (STRAKE_METHOD)");
  made.ends = MappedPages(place_.device, connections.their_pages(peer.pair, false));
  made.flags.there_on_host = reinterpret_cast<std::uint64_t*>(
      made.ends.there(&connections.their_counters(peer.pair, kReceives).put));
  if (by_device) {
    use_staging(made, peer, mine, theirs, staging_of(connections, peer, theirs));
  } else {
    use_host_memory(made, peer, connections);
  }
  return made;
}

void DevicePut::use_staging(Shared& made, const PutPeer& peer, const StagingOffer& mine,
                            const StagingOffer& theirs, std::byte* staging) const {
  // Both devices have buffers of one size: one receives what the other sends.
  const std::int64_t bytes = buffer_bytes(peer);
  std::byte* const there = staging + theirs.buffer_at;
  std::byte* const here = staging_.data() + mine.buffer_at;
  made.out.fill({there, there + bytes});
  made.in.fill({here, here + bytes});
  made.flags.there = reinterpret_cast<std::uint64_t*>(staging + theirs.flag_at);
  made.flags.here = reinterpret_cast<const std::uint64_t*>(staging_.data() + mine.flag_at);
}

/// Each device puts into its own rank's packed bytes, and takes from the other's: the bytes of two
/// rounds lie there side by side.
void DevicePut::use_host_memory(Shared& made, const PutPeer& peer, const Connections& connections) {
  if (!own_ends_.is_there()) {
    own_ends_ = MappedPages(place_.device, connections.own_pages(false));
    own_packed_ = MappedPages(place_.device, connections.own_pages(true));
  }
  made.packed = MappedPages(place_.device, connections.their_pages(peer.pair, true));
  const auto buffer = [](const MappedPages& mapped, const std::byte* even,
                         const PairSchedule& schedule) {
    std::byte* const there = mapped.there(even);
    return PutCopies::Buffer{there, there + schedule.packed_bytes()};
  };
  for (const bool reverse : {false, true}) {
    const std::size_t out = reverse ? kReceives : kSends;
    const std::size_t way = reverse ? 1 : 0;
    const PairSchedule& puts = reverse ? *peer.receives : *peer.sends;
    const PairSchedule& takes = reverse ? *peer.sends : *peer.receives;
    made.out[way] = buffer(own_packed_, connections.own_packed(peer.pair, out), puts);
    // Both put from the same side of their schedules.
    made.in[way] = buffer(made.packed, connections.their_packed(peer.pair, out), takes);
  }
  made.flags.there = made.flags.there_on_host;
  made.flags.here = reinterpret_cast<const std::uint64_t*>(own_ends_.there(made.flag));
}

bool DevicePut::uses_engines() const noexcept {
  return engines_copy_own() || std::ranges::any_of(buffers_of_, [](const auto& entry) {
           return entry.second.transport == Transport::Engine;
         });
}

/// Rounds follow each other, whichever streams they are in. Those that `work` captures follow as
/// its graph says.
void DevicePut::follow_last(DeviceStream& stream, const DeviceStream& work) {
  // Also in the same stream as before, which its handle does not tell.
  if (has_last_ && !work.capturing()) stream.wait(*last_);
}

/// The end of a round in `stream`, for those that follow. An event of a capture is of no use
/// outside of it.
const DeviceEvent& DevicePut::remember(DeviceStream& stream) {
  const bool captured = stream.capturing();
  DeviceEvent& event = captured ? *captured_end_ : *last_;
  stream.record(event);
  has_last_ = has_last_ || !captured;
  return event;
}

void DevicePut::follow(const DeviceStream& work, const DeviceEvent& event) {
  follow_last(*stream_, work);
  stream_->wait(event);
}

/// Keeps the addresses of this device's arrays for the round.
void DevicePut::keep(Bases bases) {
  bases_.clear();
  for (const std::size_t array : arrays_) bases_.push_back(bases[array]);
}

void DevicePut::put(Bases bases) {
  keep(bases);
  ++ticket_;
  ++round_;
  copies_ = rounds(*prepared_, *stream_);
  copies_->put(*stream_, bases_, round_, ticket_);
  step_ = Step::Put;
}

bool DevicePut::has_come(std::uint64_t round) const noexcept {
  return std::ranges::all_of(buffers_of_, [&](const auto& entry) {
    return __atomic_load_n(entry.second.flag, __ATOMIC_ACQUIRE) >= round;
  });
}

/// Whether the round that was started is put, and its number known.
bool DevicePut::is_put() const noexcept {
  if (progress_->put_ticket != ticket_) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

std::optional<std::vector<DeviceTraffic>> DevicePut::round(int rank) const {
  std::vector<DeviceTraffic> all;
  if (!own_.empty()) all.push_back({{rank, place_.device}, Transport::Put, &own_, nullptr});
  for (const auto& [number, shared] : buffers_of_) {
    const PutPeer& peer = peers_[number];
    if (peer.is_own) return std::nullopt;
    all.push_back({{peer.rank, shared.ordinal},
                   shared.transport,
                   &peer.sends->transfers(),
                   &peer.receives->transfers()});
  }
  return all;
}

std::optional<DevicePut::Stages> DevicePut::stages() const {
  PutCounts counts;
  const Layout whole = Layout::dense(sizeof(counts));
  CopyPlan::compile(whole, {}, whole, place_)
      .run(reinterpret_cast<std::byte*>(&counts), staging_.data());
  const auto since_begin = [&](PutCounts::Stage stage) {
    constexpr double kNsPerUs = 1e3;
    return static_cast<double>(counts.times[stage] - counts.times[PutCounts::kBegun]) / kNsPerUs;
  };
  const Stages made{buffers_of_.empty() ? 0 : since_begin(PutCounts::kPut),
                    since_begin(PutCounts::kSeen), since_begin(PutCounts::kEnded)};
  if (counts.round == 0 || counts.times[PutCounts::kEnded] < counts.times[PutCounts::kBegun])
    return std::nullopt;
  return made;
}

const DevicePut::PutPeer* DevicePut::late() const noexcept {
  if (step_ == Step::Idle || !is_put()) return nullptr;
  for (const auto& [number, shared] : buffers_of_)
    if (__atomic_load_n(shared.flag, __ATOMIC_ACQUIRE) < progress_->round) return &peers_[number];
  return nullptr;
}

bool DevicePut::misses(std::size_t peer) const noexcept {
  if (step_ == Step::Idle) return false;
  constexpr std::chrono::milliseconds kMoment{100};
  const auto begin = std::chrono::steady_clock::now();
  for (Backoff backoff; !is_put(); backoff.pause())
    if (std::chrono::steady_clock::now() - begin > kMoment) return true;
  return __atomic_load_n(buffers_of_.at(peer).flag, __ATOMIC_ACQUIRE) < progress_->round;
}

/// Whether the device has ended all rounds, of whichever streams. \throws CudaError
bool DevicePut::has_ended() const { return stream_->query() && (!has_last_ || last_->query()); }

bool DevicePut::is_idle() const noexcept {
  try {
    return step_ == Step::Idle && has_ended();
  } catch (const Error&) {
    return false;
  }
}

/// Now and then: a fault of the device is an error.
void DevicePut::look_at_device() {
  constexpr unsigned kRarely = 1 << 14;
  if (++looks_ % kRarely == 0) (void)stream_->query();
}

bool DevicePut::test(bool now) {
  if (step_ == Step::Idle) return true;
  if (step_ == Step::Put && now && may_wait()) {
    copies_->take(*stream_, bases_, round_, ticket_, PutRounds::Await::Soon);
    step_ = Step::Taking;
  }
  if (step_ == Step::Put) {
    if (!is_put() || !has_come(progress_->round)) {
      look_at_device();
      return false;
    }
    copies_->take(*stream_, bases_, round_, ticket_, PutRounds::Await::No);
    step_ = Step::Taking;
  }
  if (progress_->taken_ticket != ticket_) {
    look_at_device();
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  step_ = Step::Idle;
  return true;
}

void DevicePut::stop_waiting() noexcept {
  if (progress_ != nullptr) progress_->given_up = 1;
}

bool DevicePut::is_idle_soon() noexcept {
  constexpr std::chrono::seconds kPatience{2};
  const auto begin = std::chrono::steady_clock::now();
  try {
    for (Backoff backoff; !has_ended(); backoff.pause())
      if (std::chrono::steady_clock::now() - begin > kPatience) return false;
    return true;
  } catch (const Error&) {
    return false;  // the device has failed, or the round was captured
  }
}

void DevicePut::give_up() noexcept {
  stop_waiting();
  if (progress_ != nullptr) (void)is_idle_soon();
}

const DeviceEvent& DevicePut::end() {
  // Beside what other streams do meanwhile.
  if (step_ == Step::Put) copies_->take(*stream_, bases_, round_, 0, PutRounds::Await::InBlock);
  step_ = Step::Idle;
  return remember(*stream_);
}

void DevicePut::run(Bases bases, DeviceStream& stream) {
  follow_last(stream, stream);
  ++round_;
  keep(bases);
  rounds(forward_, stream)->run(stream, bases_, round_);
  (void)remember(stream);
}

}  // namespace strake::exchange::planned
