#include "exchange/peers/segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "exchange/peers/control.hpp"
#include "strake/error.hpp"

namespace strake::exchange::peers {
namespace {

/// An unused segment that is longer goes back to the machine. [bytes]
constexpr std::int64_t kMostKept = 16 << 20;
/// An unused block that is longer keeps no pages. [bytes]
constexpr std::int64_t kMostResident = 1 << 20;

}  // namespace

Segments::Block Segments::take(std::int64_t bytes, std::int64_t alignment) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  const auto block_in = [&](std::size_t number) {
    Segment& segment = *all_[number].segment;
    const std::optional<std::int64_t> at = segment.blocks.take(bytes, alignment);
    return at ? Block{static_cast<std::int32_t>(number), *at, bytes, segment.memory.data() + *at}
              : Block{};
  };
  std::int64_t next_bytes = first_bytes_;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].segment == nullptr) continue;
    if (const Block found = block_in(i); found.segment >= 0) return found;
    next_bytes = std::max(next_bytes, 2 * all_[i].segment->memory.bytes());
  }
  auto unused = std::ranges::find_if(
      all_, [](const Numbered& numbered) { return numbered.segment == nullptr; });
  if (unused == all_.end()) {
    if (std::ssize(all_) >= most_)
      throw OutOfMemory(
          fmt::format("{} segments of shared memory are in use, and {} bytes more do "
                      "not fit",
                      most_, bytes));
    unused = all_.emplace(unused);
  }
  const std::int64_t needed = ControlParts::rounded(bytes);
  try {
    unused->segment = std::make_unique<Segment>(std::max(next_bytes, needed));
  } catch (const OutOfMemory&) {
    if (next_bytes <= needed) throw;
    unused->segment = std::make_unique<Segment>(needed);  // files may have a limit (ulimit -f)
  }
  ++unused->generation;
  return block_in(static_cast<std::size_t>(unused - all_.begin()));
}

void Segments::give_back(const Block& block) {
  if (block.segment < 0) return;
  Numbered& numbered = all_[static_cast<std::size_t>(block.segment)];
  numbered.segment->blocks.give_back(block.at, block.bytes);
  if (block.bytes > kMostResident)
    numbered.segment->memory.discard(block.at, block.at + block.bytes);
  if (!numbered.segment->blocks.is_unused() || numbered.segment->memory.bytes() <= kMostKept)
    return;
  numbered.segment->memory.discard();  // peers may have it mapped for long
  numbered.segment.reset();
}

void Segments::populate(const Block& block, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  sharing::SharedMemory& memory = all_[static_cast<std::size_t>(block.segment)].segment->memory;
  if (!memory.populate(block.at + begin, block.at + end))
    throw OutOfMemory(fmt::format("no memory for {} bytes of an exchange", end - begin));
}

sharing::Arenas::Region Segments::region_of(const Block& block) const {
  const Numbered& numbered = all_[static_cast<std::size_t>(block.segment)];
  const sharing::SharedMemory& memory = numbered.segment->memory;
  return {first_number_ + block.segment, numbered.generation, memory.bytes(), memory.descriptor(),
          memory.data()};
}

}  // namespace strake::exchange::peers
