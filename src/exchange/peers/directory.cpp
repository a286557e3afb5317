#include "exchange/peers/directory.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::peers {
namespace {

/// Messages to or from a rank that was not found, after which it is not looked for any more.
constexpr std::uint32_t kGivenUp = 64;

}  // namespace

Directory::Directory(sharing::SharedDirectory directory, const Options& options)
    : rank_(options.rank),
      job_(options.job),
      answers_(options.answers),
      opens_device_memory_(options.opens_device_memory),
      populated_bytes_(options.populated_bytes),
      parts_(options.ranks, options.answers),
      own_(sharing::SharedMemory::make(parts_.payload + options.payload_bytes)),
      socket_(std::move(directory), socket_name(job_, rank_).text),
      peers_(static_cast<std::size_t>(options.ranks)) {
  if (!own_.populate(0, parts_.payload)) throw OutOfMemory("no memory for a control block");
  Identity* const made = new (own_.data()) Identity;
  made->rank = rank_;
  made->ranks = options.ranks;
  made->nonce = sharing::new_number();
  made->bytes = own_.bytes();
  for (Peer& peer : peers_) peer.job = job_;
  peer(rank_).segment = sharing::SharedMemory::map(own_.descriptor(), own_.bytes());
  peer(rank_).link = Link::Yes;
  const std::int64_t node = options.ranks_per_node;
  for (std::int32_t other = 0; node > 0 && other < options.ranks; ++other) {
    if (other / node == rank_ / node) continue;
    stop_reaching(other);
    refuse(other);
  }
}

void Directory::locate(std::int32_t rank, std::uint64_t directory, std::uint64_t job) {
  sharing::SharedDirectory& visited = visited_[directory];
  if (visited == nullptr)
    visited = std::make_shared<const job::Directory>(job::Directory::visit(directory));
  peer(rank).directory = visited;
  peer(rank).job = job;
}

void Directory::stop_reaching_all() noexcept {
  for (Peer& peer : peers_) peer.link = Link::No;
}

int Directory::ranks_reached() const noexcept {
  const auto reached = std::ranges::count(peers_, Link::Yes, &Peer::link);
  return static_cast<int>(reached) - (peer(rank_).link == Link::Yes ? 1 : 0);
}

/// Nothing will ever come from there, and no segment is mapped. False: one was mapped before.
bool Directory::refuse(std::int32_t rank) noexcept { return peer(rank).refused = !knows(rank); }

bool Directory::is_gone(std::int32_t rank) const noexcept {
  const Peer& other = peer(rank);
  if (!other.gone && knows(rank))
    other.gone = socket_.has_died(socket_name(other.job, rank).text, other.directory.get());
  return other.gone;
}

void Directory::retire() noexcept {
  if (most_device_bytes_ != 0)
    log::info("rank {} had up to {} bytes of other ranks' device memory open", rank_,
              most_device_bytes_);
  socket_.retire();
}

Directory::Sent Directory::send(std::int32_t rank, const Announcement& made,
                                std::span<const int> descriptors) const noexcept {
  const Peer& to = peer(rank);
  return socket_.send(socket_name(to.job, rank).text, std::as_bytes(std::span(&made, 1)),
                      descriptors, to.directory.get());
}

Directory::Sent Directory::send_self(std::int32_t rank) const noexcept {
  return send(rank, Announcement{identity(), job_}, std::array{own_.descriptor()});
}

/// Announces a region to a rank. Nothing is sent if the region's memory is gone.
Directory::Sent Directory::send_region(std::int32_t rank, const Region& region) const {
  if (!sharing::Arenas::has_descriptor(region)) return Sent::NoReceiver;
  Announcement made{identity(), job_, region.number, region.generation, region.bytes};
  if (!is_device_region(region.number)) return send(rank, made, std::array{region.descriptor});
  const auto exported = sharing::DeviceExports::get().export_of(region);
  made.device_memory = exported.memory;
  if (exported.memory.pieces == 0) return send(rank, made, std::array{own_.descriptor()});
  std::vector<int> descriptors;
  for (const sharing::FileDescriptor& piece : exported.descriptors)
    descriptors.push_back(piece.get());
  if (std::ssize(descriptors) != exported.memory.pieces) return Sent::NoReceiver;
  return send(rank, made, descriptors);
}

bool Directory::announce_self(std::int32_t rank) {
  Peer& other = peer(rank);
  if (!knows(rank)) look(rank);  // the other rank may wait for an answer, too
  if (other.link == Link::Asked) {
    if (!is_read_by(rank)) return false;
    other.link = Link::Yes;
    log::debug("rank {} sends to rank {} by shared memory", rank_, rank);
    return true;
  }
  // The other rank may not have begun yet, may have a full queue, or may never take part: the
  // announcement is tried ever more rarely.
  if (!ever_more_rarely(++other.attempts)) return false;
  const Sent sent = send_self(rank);
  if (sent == Sent::Yes) {
    other.link = Link::Asked;
  } else if (sent == Sent::NoReceiver && other.attempts >= kGivenUp && refuse(rank)) {
    // The other rank is on another node, or takes no part. If it begins later, it gets no answer.
    other.link = Link::No;
  }
  return false;
}

void Directory::look(std::int32_t rank) {
  std::uint32_t& looks = rank < 0 ? looks_ : peer(rank).looks;
  ++looks;
  if (ever_more_rarely(looks) || looks % 64 == 0) take_announcements();
}

Directory::Announced Directory::announce(std::int32_t rank, const Region& region) {
  Peer& other = peer(rank);
  other.announced.resize(kRegions);
  Announcing& told = other.announced[static_cast<std::size_t>(region.number)];
  // A rank that had no room for the announcement, or could not open the region, is told again.
  constexpr std::uint32_t kAgain = 64;
  const bool again = told.messages >= kAgain && ever_more_rarely(told.messages);
  if (told.generation != region.generation || again) {
    if (!ever_more_rarely(told.failures)) {
      ++told.failures;
      return Announced::No;
    }
    const Sent sent = send_region(rank, region);
    if (sent != Sent::Yes) {
      other.owes_look = sent == Sent::Full;  // for it to make room
      if (sent != Sent::Full) ++told.failures;
      return Announced::No;
    }
    told = {region.generation, again ? told.messages : 0, 0};
  }
  // The rank may be unable to map the region: it is made to look ever more rarely.
  return ever_more_rarely(++told.messages) ? Announced::Look : Announced::Yes;
}

bool Directory::announce_once(std::int32_t rank, const Region& region) {
  if (rank == rank_) return true;
  Peer& other = peer(rank);
  other.announced.resize(kRegions);
  Announcing& told = other.announced[static_cast<std::size_t>(region.number)];
  if (told.generation == region.generation) return true;
  if (send_region(rank, region) != Sent::Yes) return false;
  told = {region.generation, 0, 0};
  return true;
}

void Directory::forget_announcement(std::int32_t rank, const Region& region) noexcept {
  auto& announced = peer(rank).announced;
  if (!announced.empty()) announced[static_cast<std::size_t>(region.number)] = {};
}

void Directory::announce_freed(const std::function<bool(std::int32_t)>& in_use) {
  const auto freed = sharing::DeviceExports::get().take_freed(in_use);
  if (freed.empty() && !std::exchange(freed_untold_, false)) return;
  for (std::int32_t rank = 0; rank < ranks(); ++rank) {
    Peer& other = peer(rank);
    for (const auto& [number, generation] : freed) {
      // The rank has the allocation open, or will have, once it looks for announcements.
      if (!other.announced.empty() &&
          other.announced[static_cast<std::size_t>(number)].generation == generation)
        other.freed.push_back({number, generation});
    }
    if (other.freed.empty()) continue;
    Announcement made{identity(), job_, Announcement::kFreed};
    for (const auto& [number, generation] : other.freed)
      made.freed[static_cast<std::size_t>(number - kFirstDeviceRegion)] = generation;
    freed_untold_ = true;
    if (!ever_more_rarely(++other.tries)) continue;  // the rank's queue may still be full
    other.owes_look = true;
    if (send(rank, made, std::array{own_.descriptor()}) == Sent::Full) continue;
    other.freed.clear();
    other.tries = 0;
  }
}

std::optional<Directory::Mapped> Directory::find(std::int32_t rank, std::int32_t number,
                                                 std::uint32_t generation) const noexcept {
  const auto& imports = peer(rank).imports;
  if (number < 0 || number >= std::ssize(imports)) return std::nullopt;
  const Import& import = imports[static_cast<std::size_t>(number)];
  if (import.generation != generation || !import.is_open()) return std::nullopt;
  if (import.memory.data() != nullptr)
    return Mapped{import.memory.data(), import.memory.bytes(), {}};
  const sharing::DeviceImport& opened = import.opened.front();
  return Mapped{opened.data(), opened.bytes(), opened.place()};
}

std::optional<Directory::Mapped> Directory::find_announced(std::int32_t rank, std::int32_t number,
                                                           std::uint32_t generation) {
  const auto found = find(rank, number, generation);
  if (found) return found;
  take_announcements();
  return find(rank, number, generation);
}

std::optional<Directory::Mapped> Directory::find_announced(std::int32_t rank, std::int32_t number,
                                                           std::uint32_t generation, Place place) {
  auto& imports = peer(rank).imports;
  const auto is_there = [&] {
    return number >= 0 && number < std::ssize(imports) &&
           imports[static_cast<std::size_t>(number)].generation == generation;
  };
  if (!is_there()) take_announcements();
  if (!is_there()) return std::nullopt;
  try {
    const sharing::DeviceImport& opened =
        open(imports[static_cast<std::size_t>(number)], place.device);
    return Mapped{opened.data(), opened.bytes(), opened.place()};
  } catch (const Error& error) {
    log::warn("memory of rank {} can't be used in an exchange: {}", rank, error.what());
    return std::nullopt;
  }
}

}  // namespace strake::exchange::peers
