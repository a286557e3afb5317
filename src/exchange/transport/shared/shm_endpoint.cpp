#include "exchange/transport/shared/shm_endpoint.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "exchange/transport/in_place.hpp"
#include "job/names.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

peers::Directory::Options options(const std::string& job, std::int32_t rank, std::int32_t ranks) {
  return {.rank = rank,
          .ranks = ranks,
          .job = job::hash_of(job),
          .payload_bytes = Parts(ranks).payload(settings::number(settings::Id::share_bytes)),
          .populated_bytes = Parts(ranks).headers - Parts(ranks).table,
          .answers = true,
          .opens_device_memory = true,
          .ranks_per_node = settings::number(settings::Id::ranks_per_node)};
}

}  // namespace

ShmEndpoint::ShmEndpoint(sharing::SharedDirectory directory, const std::string& job,
                         std::int32_t rank, std::int32_t ranks)
    : rank_(rank),
      limit_(settings::number(settings::Id::share_limit)),
      direct_limit_(settings::number(settings::Id::share_direct)),
      shares_devices_(settings::flag(settings::Id::share_device)),
      directory_(std::move(directory), options(job, rank, ranks)),
      send_segment_(directory_),
      peer_segments_(directory_,
                     static_cast<std::size_t>(settings::number(settings::Id::share_layouts))),
      hits_(static_cast<std::size_t>(ranks), kMostHits) {
  peer_segments_.know(send_segment_);
}

void ShmEndpoint::open(sharing::SharedDirectory directory, const std::string& job,
                       std::int32_t rank, std::int32_t ranks) noexcept {
  try {
    s_open.store(new ShmEndpoint(std::move(directory), job, rank, ranks),
                 std::memory_order_release);
  } catch (const std::exception& error) {
    log::info("rank {} sends no messages by shared memory: {}", rank, error.what());
  }
}

void ShmEndpoint::close() noexcept {
  if (ShmEndpoint* const endpoint = get()) endpoint->directory_.retire();
  // Not destroyed: messages may still be in flight.
  s_open.store(nullptr, std::memory_order_release);
}

std::optional<Lease> ShmEndpoint::lease(const Destination& to, const Layout& layout,
                                        const std::byte* address, Place place, Sender sender) {
  const std::int64_t bytes = layout.size_bytes();
  const bool device = place.kind == MemoryKind::Device;
  const bool overwrites = sender == Sender::Overwrites;
  if ((bytes <= kLongestHeader && !to.is_by_cell()) || !directory_.reaches(to.rank) ||
      (device && (!shares_devices_ || overwrites)))
    return std::nullopt;
  if (!device && (sender != Sender::Busy || bytes < direct_limit_))
    return send_segment_.lease(to, bytes);
  const bool to_self = to.rank == rank_;
  const bool looks = !to_self && (device || worth_reading_in_place(layout));
  const auto region = looks ? region_with(layout, address, place) : std::nullopt;
  const auto found = region ? reach(to.rank, *region) : std::nullopt;
  const bool offers = to_self || (found && found->known);
  const bool changed = directory_.owes_look(to.rank) || (found && found->looks);
  if (device && !offers && !changed) return std::nullopt;
  std::optional<Lease> lease =
      offers ? send_segment_.lease_unpacked(to, bytes) : send_segment_.lease(to, bytes);
  if (!lease) return std::nullopt;
  if (looks && !device && !region) in_ordinary_ += static_cast<std::uint64_t>(bytes);
  try {
    if (changed) lease->set_changed_flag();
    directory_.has_looked(to.rank);
    if (to_self) send_segment_.offer_to_self(*lease, address, layout, device ? place : Place{});
    const bool packed =
        offers && !to_self && !send_segment_.offer(*lease, found->region, address, layout);
    if (!packed || send_segment_.prepare(*lease)) return lease;
  } catch (const std::bad_alloc&) {
    log::info("no memory to offer a message of {} bytes", bytes);
  }
  send_segment_.withdraw(*lease);
  return std::nullopt;
}

bool ShmEndpoint::would_offer(const Layout& layout, const std::byte* address) {
  return layout.size_bytes() >= direct_limit_ && worth_reading_in_place(layout) &&
         region_with(layout, address, {});
}

/// The region that a message lies in.
std::optional<sharing::Arenas::Region> ShmEndpoint::region_with(const Layout& layout,
                                                                const std::byte* address,
                                                                Place place) {
  const auto at = [&](std::int64_t offset) {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(address) + offset);
  };
  const ByteRange bounds = layout.bounds();
  if (place.kind != MemoryKind::Device)
    return sharing::Arenas::get().find(at(bounds.begin), at(bounds.end));
  sharing::Declined why{};
  auto region = sharing::DeviceExports::get().find(at(bounds.begin), at(bounds.end), why);
  directory_.announce_freed([&](std::int32_t number) { return send_segment_.offers_from(number); });
  if (!region) count(why);
  return region;
}

/// Tells that rank of a region, if it has not mapped that yet. Nothing: it can't be told now.
std::optional<ShmEndpoint::Reachable> ShmEndpoint::reach(std::int32_t rank,
                                                         const sharing::Arenas::Region& region) {
  if (directory_.is_mapped_by(rank, region)) return Reachable{region, true, false};
  const auto told = directory_.announce(rank, region);
  if (told == peers::Directory::Announced::No) return std::nullopt;
  return Reachable{region, false, told == peers::Directory::Announced::Look};
}

void ShmEndpoint::prepare(const Layout& layout) {
  if (layout.is_dense()) return;
  send_segment_.keep(layout);
  (void)peer_segments_.layouts().find(layout)->plan_to(layout);
}

void ShmEndpoint::learn(std::int32_t rank, bool taken) noexcept {
  if (!taken) ++late_;
  int& hits = hits_[static_cast<std::size_t>(rank)];
  hits = std::clamp(hits + (taken ? 1 : -1), 0, kMostHits);
}

std::chrono::nanoseconds ShmEndpoint::patience(std::int32_t rank, std::int64_t bytes,
                                               Place place) const noexcept {
  const bool device = place.kind == MemoryKind::Device;
  // [ns] A device's packing, and the way through host memory, hold this rank up for longer.
  const std::int64_t at_least = device ? 500'000 : 2000;
  constexpr std::int64_t kBytesPerNs = 4;  // of packing, about
  // Only this thread could claim a message to itself in host memory meanwhile; a device's is
  // claimed by its receive's next step.
  if (rank == rank_ && !device) return {};
  // One that is always late is waited for now and then.
  constexpr std::uint64_t kAgain = 64;
  if (hits_[static_cast<std::size_t>(rank)] == 0 && late_ % kAgain != 0) return {};
  return std::chrono::nanoseconds(at_least + bytes / kBytesPerNs);
}

bool ShmEndpoint::add_placeholder(const Destination& to, std::int64_t bytes) {
  Lengths& lengths = send_segment_.lengths();
  if (lengths.is_spoiled(to.rank, bytes)) return false;
  if (directory_.reaches(to.rank) && send_segment_.add_placeholder(to, bytes)) return true;
  // Once one has gone without a placeholder, a probe could not tell it from a header message of its
  // length.
  lengths.spoil(to.rank, bytes);
  if (lengths.all_spoiled(to.rank)) directory_.stop_reaching(to.rank);
  return false;
}

}  // namespace strake::exchange::shared
