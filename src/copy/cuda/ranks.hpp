/// \file  Where each word of a list's packed bytes lies, in two loads: a bit per word tells where
/// blocks begin, so that counting bits gives a word's block. No CUDA in here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "copy/batch_index.h"

namespace strake {
class Layout;
}

namespace strake::cuda {

using Rank = strake_rank;

/// A list whose blocks are whole words: word w of block b lies (deltas[b] + w) words from offset 0.
struct RankedView {
  const Rank* ranks = nullptr;
  const std::int32_t* deltas = nullptr;
  int word_log2 = 0;
};

/// Log2 of the words that blocks at any alignment are shifted to.
inline constexpr int kShiftedWordLog2 = 3;

/// \{ A block at any alignment, to be packed: its byte p of the packed run lies at delta + p. Ranks
/// count packed words; the bit of a word is set if a block begins at any of its bytes.
struct alignas(8) GatherBlock {
  std::int32_t delta = 0;
  std::uint32_t position = 0;
};
struct GatherView {
  const Rank* ranks = nullptr;
  const GatherBlock* blocks = nullptr;
};
/// \}

/// \{ A block at any alignment, to be unpacked. Ranks count, for each block, as many words as it
/// could touch at the worst alignment.
struct alignas(16) ScatterBlock {
  std::int32_t offset = 0;  ///< bytes from the root's
  std::uint32_t position = 0;
  std::uint32_t first_word = 0;
  std::uint32_t bytes = 0;
};
struct ScatterView {
  const Rank* ranks = nullptr;
  const ScatterBlock* blocks = nullptr;
};
/// \}

/// The tables of a list of blocks (Layout::Kind::Blocks). Plain values. Cost: O(blocks + packed
/// words / 32); 8 bytes a 32 words and 4, 8 or 16 bytes a block.
class RankedTable {
 public:
  /// Nothing where a distance in words or the size does not fit 32 bits.
  [[nodiscard]] static std::optional<RankedTable> make(const Layout& list, int word_log2);

  std::vector<Rank> ranks;
  std::vector<std::int32_t> deltas;
  int word_log2 = 0;
};

/// The tables to pack a list of blocks of at least one word each.
class GatherTable {
 public:
  /// Nothing where a distance or the size does not fit 32 bits.
  [[nodiscard]] static std::optional<GatherTable> make(const Layout& list);

  std::vector<Rank> ranks;
  std::vector<GatherBlock> blocks;
};

class ScatterTable {
 public:
  /// Nothing where an offset or a count of words does not fit 32 bits.
  [[nodiscard]] static std::optional<ScatterTable> make(const Layout& list);

  std::vector<Rank> ranks;
  std::vector<ScatterBlock> blocks;  ///< and one past the last
};

}  // namespace strake::cuda
