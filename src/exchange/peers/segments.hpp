/// \file  Memory of this rank that its peers map for reading and writing: blocks in few segments,
/// since each segment costs a descriptor here and a mapping in each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/sharing/arenas.hpp"
#include "memory/sharing/ranges.hpp"
#include "memory/sharing/shared_memory.hpp"

namespace strake::exchange::peers {

/// One thread at a time.
class Segments {
 public:
  /// \param first_number  of the regions that the segments are, as in control.hpp
  /// \param most  how many there may be
  /// \param first_bytes  size of the first one; each further one has twice as many bytes, or what a
  /// block needs
  Segments(std::int32_t first_number, std::int32_t most, std::int64_t first_bytes) noexcept
      : first_number_(first_number), most_(most), first_bytes_(first_bytes) {}

  struct Block {
    std::int32_t segment = -1;  ///< negative: there is no block
    std::int64_t at = 0;        ///< [bytes] in the segment
    std::int64_t bytes = 0;
    std::byte* data = nullptr;
  };
  /// A block of `bytes` and what is left of the last unit of `alignment`, which it begins at a
  /// multiple of. Its bytes may be anything. No memory is taken from the machine before it is
  /// populated or touched.
  /// \throws OutOfMemory
  [[nodiscard]] Block take(std::int64_t bytes, std::int64_t alignment);
  /// Nobody accesses the block any more.
  void give_back(const Block& block);
  /// Brings the pages of [begin, end) of a block into this process. \throws OutOfMemory
  void populate(const Block& block, std::int64_t begin, std::int64_t end);
  /// The segment of a block, as other ranks know it.
  [[nodiscard]] sharing::Arenas::Region region_of(const Block& block) const;

 private:
  struct Segment {
    explicit Segment(std::int64_t bytes)
        : memory(sharing::SharedMemory::make(bytes)), blocks(bytes) {}
    sharing::SharedMemory memory;
    sharing::Ranges blocks;
  };
  struct Numbered {
    std::unique_ptr<Segment> segment;  ///< null: there is none
    std::uint32_t generation = 0;      ///< counts the segments with that number
  };

  std::int32_t first_number_;
  std::int32_t most_;
  std::int64_t first_bytes_;
  std::vector<Numbered> all_;
};

}  // namespace strake::exchange::peers
