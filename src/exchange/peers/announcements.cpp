// How a directory takes what other ranks announce.
#include <algorithm>
#include <cstring>

#include "exchange/peers/directory.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::peers {

void Directory::take_announcements() {
  // Whoever sends without end holds nobody up.
  constexpr int kMost = 1024;
  for (int taken = 0; taken < kMost; ++taken) {
    auto received = socket_.receive();
    if (!received) return;
    Announcement made;
    if (received->message.size() != sizeof(made)) {
      log::warn("an announcement of {} bytes, where {} were expected, is refused",
                received->message.size(), sizeof(made));
      continue;
    }
    std::memcpy(&made, received->message.data(), sizeof(made));
    if (!is_expected(made)) {
      log::warn(
          "memory of rank {} of {} (version {}, {} bytes) is refused: version {} of this job of {} "
          "ranks was expected",
          made.from.rank, made.from.ranks, made.from.version, made.from.bytes, kVersion, ranks());
      continue;
    }
    try {
      if (made.region == Announcement::kFirst) {
        take_segment(made, received->descriptors.front().get());
      } else if (made.region == Announcement::kFreed) {
        close_freed(made);
      } else {
        take_region(made, *received);
      }
    } catch (const Error& error) {
      // A device that this rank does not reach is nothing unusual.
      log::format_line(is_device_region(made.region) ? log::Level::Info : log::Level::Warn,
                       "memory of rank {} can't be used: {}", made.from.rank, error.what());
    }
  }
}

bool Directory::is_expected(const Announcement& made) const noexcept {
  const Identity& from = made.from;
  return from.magic == kMagic && from.version == kVersion && from.rank >= 0 &&
         from.rank < ranks() && from.ranks == ranks() && made.job == peer(from.rank).job &&
         from.bytes >= parts_.payload;
}

void Directory::take_segment(const Announcement& made, int descriptor) {
  Peer& other = peer(made.from.rank);
  if (knows(made.from.rank) || other.refused) return;
  other.segment = sharing::SharedMemory::map(descriptor, made.from.bytes);
  (void)other.segment.populate(0, std::min(parts_.payload + populated_bytes_, made.from.bytes));
  auto* const readers = reinterpret_cast<ReaderByte*>(other.segment.data() + parts_.readers);
  readers[rank_].store(1, std::memory_order_release);
}

/// The peer that owns the announced regions; null: no such segment of it is mapped here.
Directory::Peer* Directory::owner_of(const Announcement& made) {
  Peer& owner = peer(made.from.rank);
  const auto* const known = reinterpret_cast<const Identity*>(owner.segment.data());
  if (known == nullptr || known->nonce != made.from.nonce) {
    log::warn("memory of rank {} is refused: it is of no segment that is known", made.from.rank);
    return nullptr;
  }
  owner.imports.resize(kRegions);
  return &owner;
}

/// Tells the owner which generation of a region is mapped here; 0: none.
void Directory::answer(const Peer& owner, const Import& import, std::uint32_t generation) noexcept {
  if (!answers_) return;
  const auto number = static_cast<std::int32_t>(&import - owner.imports.data());
  mapped_word(owner.segment, rank_, number).store(generation, std::memory_order_release);
}

void Directory::close(const Peer& owner, Import& import) noexcept {
  answer(owner, import, 0);
  for (const sharing::DeviceImport& opened : import.opened) device_bytes_ -= opened.bytes();
  import.memory = {};
  import.opened.clear();
  import.pieces.clear();
}

void Directory::take_region(const Announcement& made,
                            sharing::DescriptorSocket::Received& received) {
  Peer* const owner = owner_of(made);
  if (owner == nullptr) return;
  if (made.region < 0 || made.region >= kRegions) {
    log::warn("memory of rank {} is refused: there is no number {}", made.from.rank, made.region);
    return;
  }
  Import& import = owner->imports[static_cast<std::size_t>(made.region)];
  if (import.generation == made.generation && import.is_open())
    return answer(*owner, import, made.generation);
  close(*owner, import);  // what had the number before is freed
  if (is_device_region(made.region)) {
    take_device_region(*owner, import, made, received);
  } else {
    const bool writes = made.region >= kFirstSegment;
    import.memory = sharing::SharedMemory::map(
        received.descriptors.front().get(), made.region_bytes,
        writes ? sharing::SharedMemory::Access::ReadWrite : sharing::SharedMemory::Access::Read);
  }
  import.generation = made.generation;
  if (import.is_open()) answer(*owner, import, made.generation);
}

void Directory::take_device_region(Peer& owner, Import& import, const Announcement& made,
                                   sharing::DescriptorSocket::Received& received) {
  // A driver may refuse to open what lies where it has something open.
  const auto is_replaced = [&](const sharing::DeviceImport& opened) {
    return opened.replaced_by(made.device_memory);
  };
  for (Import& freed : owner.imports)
    if (std::ranges::any_of(freed.opened, is_replaced)) close(owner, freed);
  if (!std::ranges::all_of(received.numbers(), sharing::is_of_memory))
    throw InvalidArgument("a descriptor came that is not of a device's memory");
  import.exported = made.device_memory;
  if (import.exported.pieces != 0) import.pieces = std::move(received.descriptors);
  if (!opens_device_memory_) return;
  (void)open(import, -1);
  import.pieces.clear();
}

/// The mapping for a device; negative: the thread's current one.
const sharing::DeviceImport& Directory::open(Import& import, int device) {
  const auto known = std::ranges::find_if(import.opened, [&](const sharing::DeviceImport& opened) {
    return opened.place().device == device;
  });
  if (known != import.opened.end()) return *known;
  std::vector<int> pieces;
  for (const sharing::FileDescriptor& piece : import.pieces) pieces.push_back(piece.get());
  const sharing::DeviceImport& made = import.opened.emplace_back(import.exported, pieces, device);
  device_bytes_ += made.bytes();
  most_device_bytes_ = std::max(most_device_bytes_, device_bytes_);
  return made;
}

void Directory::close_freed(const Announcement& made) {
  Peer* const owner = owner_of(made);
  if (owner == nullptr) return;
  for (std::size_t i = 0; i < made.freed.size(); ++i) {
    Import& import = owner->imports[static_cast<std::size_t>(kFirstDeviceRegion) + i];
    if (made.freed[i] != 0 && import.generation == made.freed[i]) close(*owner, import);
  }
}

}  // namespace strake::exchange::peers
