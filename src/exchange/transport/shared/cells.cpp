#include "exchange/transport/shared/cells.hpp"

#include <algorithm>
#include <new>

#include "settings/log.hpp"

namespace strake::exchange::shared {

/// Where the ring of a segment's owner for rank `of` is; 0: there is none.
std::atomic<std::int64_t>& Cells::ring_word(sharing::SharedMemory& segment,
                                            std::int32_t of) const noexcept {
  return reinterpret_cast<std::atomic<std::int64_t>*>(segment.data() + parts_.rings)[of];
}

void Cells::open(std::int32_t rank) noexcept {
  peers::Directory& directory = endpoint_.directory();
  try {
    if (pairs_.empty()) pairs_.resize(static_cast<std::size_t>(directory.ranks()));
    Pair& other = pair(rank);
    const bool self = rank == directory.rank();
    if (other.own != nullptr || (!self && !(directory.knows(rank) && directory.is_read_by(rank))))
      return;
    const auto at = endpoint_.send_segment().take_for_good(sizeof(Ring));
    if (!at) return;
    other.own = new (directory.own().data() + *at) Ring;
    ring_word(directory.own(), rank).store(*at, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    log::info("no memory for collective calls with rank {}", rank);
  }
}

void Cells::settle(std::int32_t rank) noexcept {
  peers::Directory& directory = endpoint_.directory();
  if (pairs_.empty() || pair(rank).own == nullptr || pair(rank).theirs != nullptr) return;
  Pair& other = pair(rank);
  if (rank == directory.rank()) {
    other.theirs = other.own;
    other.own->mapped.store(1, std::memory_order_release);
    return;
  }
  sharing::SharedMemory& segment = directory.segment_of(rank);
  constexpr std::int64_t kWord = sizeof(std::int64_t);
  const std::int64_t word = parts_.rings + directory.rank() * kWord;
  if (!segment.populate(word, word + kWord)) return;
  const std::int64_t at = ring_word(segment, directory.rank()).load(std::memory_order_acquire);
  constexpr std::int64_t kRing = sizeof(Ring);
  if (at < parts_.bytes || at % 4096 != 0 || at > segment.bytes() - kRing) return;
  if (!segment.populate(at, at + kRing)) return;
  other.theirs = reinterpret_cast<Ring*>(segment.data() + at);
  other.theirs->mapped.store(1, std::memory_order_release);
}

bool Cells::post(std::int32_t rank, const Cell& cell) noexcept {
  Pair& to = pair(rank);
  if (to.posted - to.own->taken.load(std::memory_order_acquire) >= kSlots) return false;
  Slot& slot = to.own->slots[to.posted % kSlots];
  slot.cell = cell;
  slot.number.store(++to.posted, std::memory_order_release);
  return true;
}

void Cells::note_spilled(std::int32_t rank) noexcept {
  pair(rank).own->spilled.fetch_add(1, std::memory_order_release);
}

std::uint64_t Cells::spilled(std::int32_t rank) const noexcept {
  const Pair& from = pairs_[static_cast<std::size_t>(rank)];
  return from.theirs->spilled.load(std::memory_order_acquire) - from.spilled_taken;
}

void Cells::keep(std::int32_t rank, const Cell& cell) {
  pair(rank).kept.push_back(cell);
  ++pair(rank).spilled_taken;
}

/// Takes all cells out of a ring, so that it is empty while this rank looks at it now and then.
void Cells::drain(Pair& from) {
  const std::uint64_t before = from.taken;
  for (;; ++from.taken) {
    const Slot& slot = from.theirs->slots[from.taken % kSlots];
    if (slot.number.load(std::memory_order_acquire) != from.taken + 1) break;
    from.kept.push_back(slot.cell);
  }
  if (from.taken != before) from.theirs->taken.store(from.taken, std::memory_order_release);
}

std::optional<Cell> Cells::take(std::int32_t rank, const CellName& name) {
  Pair& from = pair(rank);
  const auto find = [&] {
    return std::ranges::find_if(from.kept, [&](const Cell& cell) { return cell.name == name; });
  };
  auto found = find();
  if (found == from.kept.end()) {
    drain(from);
    found = find();
  }
  if (found == from.kept.end()) return std::nullopt;
  const Cell cell = *found;
  from.kept.erase(found);
  return cell;
}

}  // namespace strake::exchange::shared
