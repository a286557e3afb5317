#include "copy/cuda/ranks.hpp"

#include <limits>
#include <utility>

#include "strake/layout.hpp"

namespace strake::cuda {
namespace {

constexpr std::int64_t kWordsPerRank = 32;
// Kernels count words, of single bytes at the least, with 31 bits.
constexpr std::int64_t kMaxWords = std::numeric_limits<std::int32_t>::max();

bool fits(std::int64_t value) { return std::in_range<std::int32_t>(value); }

/// Calls visit(block, packed position, bytes); the layout's blocks are equal where it lists no
/// positions.
template <typename Visit>
void for_each_listed(const Layout& list, Visit&& visit) {
  const auto positions = list.block_positions();
  const std::size_t blocks = list.block_offsets().size();
  for (std::size_t b = 0; b < blocks; ++b) {
    if (positions.empty()) {
      visit(b, static_cast<std::int64_t>(b) * list.block_bytes(), list.block_bytes());
    } else {
      visit(b, positions[b], positions[b + 1] - positions[b]);
    }
  }
}

void mark(std::vector<Rank>& ranks, std::int64_t word) {
  ranks[static_cast<std::size_t>(word / kWordsPerRank)].begins |= std::uint32_t{1}
                                                                  << (word % kWordsPerRank);
}

/// Before the first block the count is one less than none: block 0 begins at word 0, whose bit
/// makes up for it.
void count_marks(std::vector<Rank>& ranks) {
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  for (Rank& rank : ranks) {
    rank.before = before;
    before += static_cast<std::uint32_t>(__builtin_popcount(rank.begins));
  }
}

}  // namespace

std::optional<RankedTable> RankedTable::make(const Layout& list, int word_log2) {
  if (list.size_bytes() > kMaxWords) return {};
  const std::int64_t words = list.size_bytes() >> word_log2;
  RankedTable table;
  table.word_log2 = word_log2;
  table.ranks.resize(static_cast<std::size_t>(words / kWordsPerRank + 1));
  const auto offsets = list.block_offsets();
  table.deltas.reserve(offsets.size());
  bool fit = true;
  for_each_listed(list, [&](std::size_t block, std::int64_t position, std::int64_t /*bytes*/) {
    const std::int64_t delta = (offsets[block] - position) >> word_log2;
    fit = fit && fits(delta);
    table.deltas.push_back(static_cast<std::int32_t>(delta));
    mark(table.ranks, position >> word_log2);
  });
  if (!fit) return {};
  count_marks(table.ranks);
  return table;
}

std::optional<GatherTable> GatherTable::make(const Layout& list) {
  const auto offsets = list.block_offsets();
  if (list.size_bytes() > kMaxWords) return {};
  GatherTable table;
  const std::int64_t words = list.size_bytes() >> kShiftedWordLog2;
  table.ranks.resize(static_cast<std::size_t>(words / kWordsPerRank + 1));
  table.blocks.reserve(offsets.size());
  bool fit = true;
  for_each_listed(list, [&](std::size_t block, std::int64_t position, std::int64_t /*bytes*/) {
    const std::int64_t delta = offsets[block] - position;
    fit = fit && fits(delta);
    table.blocks.push_back(
        {static_cast<std::int32_t>(delta), static_cast<std::uint32_t>(position)});
    mark(table.ranks, position >> kShiftedWordLog2);
  });
  if (!fit) return {};
  count_marks(table.ranks);
  return table;
}

std::optional<ScatterTable> ScatterTable::make(const Layout& list) {
  constexpr std::int64_t kWord = std::int64_t{1} << kShiftedWordLog2;
  const auto offsets = list.block_offsets();
  if (list.size_bytes() > kMaxWords) return {};
  ScatterTable table;
  table.blocks.reserve(offsets.size() + 1);
  std::int64_t words = 0;
  bool fit = true;
  for_each_listed(list, [&](std::size_t block, std::int64_t position, std::int64_t bytes) {
    fit = fit && fits(offsets[block]) && fits(words);
    table.blocks.push_back({static_cast<std::int32_t>(offsets[block]),
                            static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(words),
                            static_cast<std::uint32_t>(bytes)});
    words += (bytes + 2 * (kWord - 1)) / kWord;
  });
  if (!fit || words > kMaxWords) return {};
  table.blocks.push_back(
      {0, static_cast<std::uint32_t>(list.size_bytes()), static_cast<std::uint32_t>(words), 0});
  table.ranks.resize(static_cast<std::size_t>(words / kWordsPerRank + 1));
  for (std::size_t b = 0; b + 1 < table.blocks.size(); ++b)
    mark(table.ranks, table.blocks[b].first_word);
  count_marks(table.ranks);
  return table;
}

}  // namespace strake::cuda
