#include "exchange/transport/put/mailbox_memory.hpp"

#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace strake::exchange::planned {
namespace {

constexpr std::int64_t kSlabBytes = 8 << 20;
constexpr std::int64_t kMostInSlab = 1 << 20;
constexpr std::int64_t kUnit = 256;

}  // namespace

/// An allocation, and the blocks that are used of it.
struct MailboxMemory::Slab {
  Place place;
  PoolBlock memory;
  std::map<std::int64_t, std::int64_t> used{};  ///< end, by begin

  /// Where so many bytes are free; kSlabBytes or more: nowhere.
  [[nodiscard]] std::int64_t room_for(std::int64_t bytes) const noexcept {
    std::int64_t at = 0;
    for (const auto& [begin, end] : used) {
      if (begin - at >= bytes) break;
      at = end;
    }
    return at + bytes <= kSlabBytes ? at : kSlabBytes;
  }
  static std::mutex& mutex() {
    static auto& made = *new std::mutex;
    return made;
  }
  static std::list<Slab>& all() {
    static auto& made = *new std::list<Slab>;
    return made;
  }
};

MailboxMemory::Slab* MailboxMemory::slab_with_room(Place place, std::int64_t bytes) {
  for (Slab& slab : Slab::all())
    if (slab.place == place && slab.room_for(bytes) < kSlabBytes) return &slab;
  return &Slab::all().emplace_back(place, PoolBlock(place, kSlabBytes));
}

MailboxMemory::MailboxMemory(Place place, std::int64_t bytes) {
  bytes = (bytes + kUnit - 1) / kUnit * kUnit;
  if (bytes > kMostInSlab) {
    own_ = PoolBlock(place, bytes);
    data_ = own_.data();
    return;
  }
  const std::lock_guard lock(Slab::mutex());
  slab_ = slab_with_room(place, bytes);
  const std::int64_t at = slab_->room_for(bytes);
  slab_->used[at] = at + bytes;
  data_ = slab_->memory.data() + at;
}

MailboxMemory::~MailboxMemory() {
  if (slab_ == nullptr || data_ == nullptr) return;
  const std::lock_guard lock(Slab::mutex());
  slab_->used.erase(data_ - slab_->memory.data());
  if (slab_->used.empty()) std::erase_if(Slab::all(), [&](Slab& slab) { return &slab == slab_; });
}

MailboxMemory::MailboxMemory(MailboxMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), slab_(other.slab_), own_(std::move(other.own_)) {}

MailboxMemory& MailboxMemory::operator=(MailboxMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(slab_, other.slab_);
  std::swap(own_, other.own_);
  return *this;
}

void MailboxMemory::leak() noexcept {
  data_ = nullptr;
  own_.leak();
}

}  // namespace strake::exchange::planned
