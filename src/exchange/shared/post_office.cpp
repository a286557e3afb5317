#include "exchange/shared/post_office.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "exchange/backoff.hpp"
#include "exchange/in_place.hpp"
#include "job/names.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

/// Messages to or from a rank that was not found, after which it is not looked for any more.
constexpr std::uint32_t kGivenUp = 64;

}  // namespace

PostOffice::PostOffice(sharing::SharedDirectory directory, const std::string& job,
                       std::int32_t rank, std::int32_t ranks)
    : job_(job::hash_of(job)),
      rank_(rank),
      limit_(settings::number(settings::Id::share_limit)),
      direct_limit_(settings::number(settings::Id::share_direct)),
      shares_devices_(settings::flag(settings::Id::share_device)),
      outbox_(rank, ranks, sharing::new_number(), settings::number(settings::Id::share_bytes)),
      socket_(std::move(directory), socket_name(job_, rank).text),
      inbox_(socket_, job_, rank, ranks,
             static_cast<std::size_t>(settings::number(settings::Id::share_layouts))),
      neighbours_(static_cast<std::size_t>(ranks)) {
  inbox_.know(outbox_);
  neighbours_[static_cast<std::size_t>(rank)].reach = Reach::Yes;
  const std::int64_t node = settings::number(settings::Id::ranks_per_node);
  for (std::int32_t other = 0; node > 0 && other < ranks; ++other) {
    if (other / node == rank / node) continue;
    neighbours_[static_cast<std::size_t>(other)].reach = Reach::No;
    inbox_.refuse(other);
  }
}

void PostOffice::open(sharing::SharedDirectory directory, const std::string& job, std::int32_t rank,
                      std::int32_t ranks) noexcept {
  try {
    s_open.store(new PostOffice(std::move(directory), job, rank, ranks), std::memory_order_release);
  } catch (const std::exception& error) {
    log::info("rank {} sends no messages by shared memory: {}", rank, error.what());
  }
}

void PostOffice::close() noexcept {
  if (PostOffice* const office = get()) {
    office->inbox_.report();
    office->socket_.retire();
  }
  // Not destroyed: messages may still be in flight.
  s_open.store(nullptr, std::memory_order_release);
}

void PostOffice::stop_sending() noexcept {
  for (Neighbour& neighbour : neighbours_) neighbour.reach = Reach::No;
}

PostOffice::Sent PostOffice::send(std::int32_t rank, const Introduction& made,
                                  std::span<const int> descriptors) const noexcept {
  return socket_.send(socket_name(job_, rank).text, std::as_bytes(std::span(&made, 1)),
                      descriptors);
}

/// An allocation. Its memory may be gone: then nothing was sent.
PostOffice::Sent PostOffice::introduce(std::int32_t rank, const sharing::Arenas::Region& region,
                                       Place place) const {
  Introduction made{outbox_.header(), job_, region.number, region.generation, region.bytes};
  if (place.kind != MemoryKind::Device) return send(rank, made, std::array{region.descriptor});
  const auto exported = sharing::DeviceExports::get().export_of(region);
  made.device_memory = exported.memory;
  if (exported.memory.pieces == 0) return send(rank, made, std::array{outbox_.descriptor()});
  std::vector<int> descriptors;
  for (const sharing::Descriptor& piece : exported.descriptors) descriptors.push_back(piece.get());
  if (std::ssize(descriptors) != exported.memory.pieces) return Sent::NoReceiver;
  return send(rank, made, descriptors);
}

bool PostOffice::introduce(std::int32_t rank) {
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(rank)];
  inbox_.expect(rank);  // the other rank may wait for an answer, too
  if (neighbour.reach == Reach::Introduced) {
    if (!outbox_.is_read_by(rank)) return false;
    neighbour.reach = Reach::Yes;
    log::debug("rank {} sends to rank {} by shared memory", rank_, rank);
    return true;
  }
  // It may not have begun yet, may have a full queue, or may never take part: tried ever more
  // rarely.
  if (!ever_more_rarely(++neighbour.attempts)) return false;
  const Sent sent =
      send(rank, Introduction{outbox_.header(), job_}, std::array{outbox_.descriptor()});
  if (sent == Sent::Yes) {
    neighbour.reach = Reach::Introduced;
  } else if (sent == Sent::NoReceiver && neighbour.attempts >= kGivenUp && inbox_.refuse(rank)) {
    // It is on another node, or takes no part. Should it begin yet, it gets no answer.
    neighbour.reach = Reach::No;
  }
  return false;
}

std::optional<Lease> PostOffice::lease(const Destination& to, const Layout& layout,
                                       const std::byte* address, Place place, Sender sender) {
  const std::int64_t bytes = layout.size_bytes();
  const bool device = place.kind == MemoryKind::Device;
  const bool overwrites = sender == Sender::Overwrites;
  if (bytes <= kLongestEnvelope || !reaches(to.rank) ||
      (device && (!shares_devices_ || overwrites)))
    return std::nullopt;
  if (!device && (sender != Sender::Busy || bytes < direct_limit_)) return outbox_.lease(to, bytes);
  const bool to_self = to.rank == rank_;
  const bool looks = !to_self && (device || worth_reading_in_place(layout));
  const auto found = looks ? region_of(to.rank, layout, address, place) : std::nullopt;
  const bool offers = to_self || (found && found->known);
  bool& owed = neighbours_[static_cast<std::size_t>(to.rank)].news;
  const bool news = owed || (found && found->news);
  if (device && !offers && !news) return std::nullopt;
  std::optional<Lease> lease =
      offers ? outbox_.lease_unpacked(to, bytes) : outbox_.lease(to, bytes);
  if (!lease) return std::nullopt;
  try {
    if (news) lease->tell_news();
    owed = false;
    if (to_self) outbox_.offer_to_self(*lease, address, layout, device ? place : Place{});
    const bool packed =
        offers && !to_self && !outbox_.offer(*lease, found->region, address, layout);
    if (!packed || outbox_.prepare(*lease)) return lease;
  } catch (const std::bad_alloc&) {
    log::info("no memory to offer a message of {} bytes", bytes);
  }
  outbox_.withdraw(*lease);
  return std::nullopt;
}

/// The allocation that a message lies in, of which that rank is told.
std::optional<PostOffice::Reachable> PostOffice::region_of(std::int32_t rank, const Layout& layout,
                                                           const std::byte* address, Place place) {
  const auto at = [&](std::int64_t offset) {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(address) + offset);
  };
  const ByteRange bounds = layout.bounds();
  std::optional<sharing::Arenas::Region> region;
  if (place.kind != MemoryKind::Device) {
    region = sharing::Arenas::get().find(at(bounds.begin), at(bounds.end));
  } else {
    sharing::Declined why{};
    region = sharing::DeviceExports::get().find(at(bounds.begin), at(bounds.end), why);
    tell_freed();
    if (!region) count(why);
  }
  if (!region) return std::nullopt;
  if (outbox_.is_read_by(rank, *region)) return Reachable{*region, true, false};
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(rank)];
  neighbour.regions.resize(kRegions);
  Neighbour::Told& told = neighbour.regions[static_cast<std::size_t>(region->number)];
  // One that had no room for what it was told of, or that could not be opened then, is told again.
  constexpr std::uint32_t kAgain = 64;
  const bool again = told.messages >= kAgain && ever_more_rarely(told.messages);
  if (told.generation != region->generation || again) {
    if (!ever_more_rarely(told.failures)) {
      ++told.failures;
      return std::nullopt;
    }
    const Sent sent = introduce(rank, *region, place);
    if (sent != Sent::Yes) {
      neighbour.news = sent == Sent::Full;  // for it to make room
      if (sent != Sent::Full) ++told.failures;
      return std::nullopt;
    }
    told = {region->generation, again ? told.messages : 0, 0};
  }
  // It may be that it can't: asked ever more rarely.
  return Reachable{*region, false, ever_more_rarely(++told.messages)};
}

/// Ranks that have an allocation open that is freed are to close it, since they keep its memory.
void PostOffice::tell_freed() {
  const auto freed = sharing::DeviceExports::get().take_freed(
      [&](std::int32_t number) { return outbox_.offers_from(number); });
  if (freed.empty() && !std::exchange(freed_untold_, false)) return;
  for (std::size_t rank = 0; rank < neighbours_.size(); ++rank) {
    const auto other = static_cast<std::int32_t>(rank);
    Neighbour& neighbour = neighbours_[rank];
    for (const auto& [number, generation] : freed) {
      // It has it open, or will, once it looks for introductions.
      if (!neighbour.regions.empty() &&
          neighbour.regions[static_cast<std::size_t>(number)].generation == generation)
        neighbour.freed.push_back({number, generation});
    }
    if (neighbour.freed.empty()) continue;
    Introduction made{outbox_.header(), job_, Introduction::kFreed};
    for (const auto& [number, generation] : neighbour.freed)
      made.freed[static_cast<std::size_t>(number - sharing::Arenas::kMost)] = generation;
    freed_untold_ = true;
    if (!ever_more_rarely(++neighbour.tries)) continue;  // it has no room for another datagram
    neighbour.news = true;
    if (send(other, made, std::array{outbox_.descriptor()}) == Sent::Full) continue;
    neighbour.freed.clear();
    neighbour.tries = 0;
  }
}

void PostOffice::prepare(const Layout& layout) {
  if (layout.is_dense()) return;
  outbox_.keep(layout);
  (void)inbox_.layouts().find(layout)->plan_to(layout);
}

void PostOffice::learn(std::int32_t rank, bool taken) noexcept {
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(rank)];
  if (!taken) ++late_;
  neighbour.luck = std::clamp(neighbour.luck + (taken ? 1 : -1), 0, kMostLuck);
}

std::chrono::nanoseconds PostOffice::patience(std::int32_t rank, std::int64_t bytes,
                                              Place place) const noexcept {
  const bool device = place.kind == MemoryKind::Device;
  // [ns] A device's packing, and the way through host memory, hold this rank up for longer.
  const std::int64_t at_least = device ? 500'000 : 2000;
  constexpr std::int64_t kBytesPerNs = 4;  // of packing, about
  // Of a message to itself in host memory only this thread could claim it meanwhile; a device's is
  // claimed by its receive's next step.
  if (rank == rank_ && !device) return {};
  // One that is always late is waited for now and then.
  constexpr std::uint64_t kAgain = 64;
  if (neighbours_[static_cast<std::size_t>(rank)].luck == 0 && late_ % kAgain != 0) return {};
  return std::chrono::nanoseconds(at_least + bytes / kBytesPerNs);
}

int PostOffice::ranks_reached() const noexcept {
  const Neighbour& self = neighbours_[static_cast<std::size_t>(rank_)];
  return static_cast<int>(
      std::count_if(neighbours_.begin(), neighbours_.end(), [&](const Neighbour& neighbour) {
        return neighbour.reach == Reach::Yes && &neighbour != &self;
      }));
}

bool PostOffice::mark(const Destination& to, std::int64_t bytes) {
  Lengths& lengths = outbox_.lengths();
  if (lengths.is_spoiled(to.rank, bytes)) return false;
  if (reaches(to.rank) && outbox_.mark(to, bytes)) return true;
  // Once one has gone unmarked, a probe could not tell it from an envelope of its length.
  lengths.spoil(to.rank, bytes);
  if (lengths.all_spoiled(to.rank))
    neighbours_[static_cast<std::size_t>(to.rank)].reach = Reach::No;
  return false;
}

}  // namespace strake::exchange::shared
