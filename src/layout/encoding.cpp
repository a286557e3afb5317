#include "layout/encoding.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "layout/node.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

// A node is: kind, offset, and
//   Box       block length, number of dims, then the count and stride of each
//   Blocks    common length or 0, number of blocks, their offsets, then, where lengths differ,
//   where
//             each begins in packed order, and the size
//   Repeat    count, stride, the child
//   Sequence  number of parts, the parts

void append(const Layout& layout, std::vector<std::int64_t>& words) {
  words.push_back(static_cast<std::int64_t>(layout.kind()));
  words.push_back(layout.offset());
  switch (layout.kind()) {
    case Layout::Kind::Empty:
      return;
    case Layout::Kind::Box:
      words.push_back(layout.block_bytes());
      words.push_back(static_cast<std::int64_t>(layout.dims().size()));
      for (const Dim& dim : layout.dims()) {
        words.push_back(dim.count);
        words.push_back(dim.stride_bytes);
      }
      return;
    case Layout::Kind::Blocks: {
      const auto offsets = layout.block_offsets();
      const auto positions = layout.block_positions();
      words.push_back(positions.empty() ? layout.block_bytes() : 0);
      words.push_back(static_cast<std::int64_t>(offsets.size()));
      words.insert(words.end(), offsets.begin(), offsets.end());
      words.insert(words.end(), positions.begin(), positions.end());
      return;
    }
    case Layout::Kind::Repeat:
      words.push_back(layout.dims()[0].count);
      words.push_back(layout.dims()[0].stride_bytes);
      append(layout.parts()[0], words);
      return;
    case Layout::Kind::Sequence:
      words.push_back(static_cast<std::int64_t>(layout.parts().size()));
      for (const Layout& part : layout.parts()) append(part, words);
      return;
  }
}

/// Reads words one by one; each is small enough that a sum of two can't overflow.
class Reader {
 public:
  explicit Reader(std::span<const std::int64_t> words) noexcept : words_(words) {}

  std::int64_t word(std::int64_t least = -kFarthest) {
    if (at_ == words_.size())
      throw InvalidArgument(fmt::format("layout: it ends after {} words", words_.size()));
    const std::int64_t value = words_[at_];
    if (value < least || value > kFarthest)
      throw InvalidArgument(fmt::format("layout: word {} is {}", at_, value));
    ++at_;
    return value;
  }
  /// A number of things of at least `words_each` words, all of which are there.
  std::size_t number(std::size_t words_each, std::int64_t least = 1) {
    const auto value = static_cast<std::size_t>(word(least));
    if (value > (words_.size() - at_) / words_each)
      throw InvalidArgument(
          fmt::format("layout: {} parts in {} words", value, words_.size() - at_));
    return value;
  }
  [[nodiscard]] bool at_end() const noexcept { return at_ == words_.size(); }

  static constexpr std::int64_t kFarthest = std::int64_t{1} << 60;

 private:
  std::span<const std::int64_t> words_;
  std::size_t at_ = 0;
};

constexpr int kDeepest = 64;

Layout read(Reader& reader, int depth);

Layout read_part(Reader& reader, int depth, std::int64_t offset) {
  const Layout part = read(reader, depth + 1);
  if (part.kind() == Layout::Kind::Empty) throw InvalidArgument("layout: a part is empty");
  Layout shifted = part.shifted(offset);
  if (std::abs(shifted.offset()) > Reader::kFarthest)
    throw InvalidArgument(fmt::format("layout: a part is at {}", shifted.offset()));
  return shifted;
}

Layout read(Reader& reader, int depth) {
  if (depth > kDeepest) throw InvalidArgument("layout: it is too deep");
  const std::int64_t kind = reader.word(0);
  const std::int64_t offset = reader.word();
  switch (kind) {
    case static_cast<int>(Layout::Kind::Empty):
      return {};
    case static_cast<int>(Layout::Kind::Box): {
      const std::int64_t block = reader.word(1);
      std::vector<Dim> dims(reader.number(2, 0));
      for (Dim& dim : dims) {
        dim.count = reader.word(1);
        dim.stride_bytes = reader.word();
      }
      return LayoutBuilder::box(offset, block, dims);
    }
    case static_cast<int>(Layout::Kind::Blocks): {
      const std::int64_t common = reader.word(0);
      std::vector<Run> runs(reader.number(common > 0 ? 1 : 2));
      for (Run& run : runs) run = {sum(offset, reader.word()), common};
      if (common == 0) {
        std::int64_t position = reader.word();
        for (Run& run : runs) {
          const std::int64_t next = reader.word(sum(position, 1));
          run.length = next - std::exchange(position, next);
        }
      }
      return LayoutBuilder::listed(runs);
    }
    case static_cast<int>(Layout::Kind::Repeat): {
      const std::int64_t count = reader.word(1);
      const std::int64_t stride = reader.word();
      return LayoutBuilder::repeat(read_part(reader, depth, offset), count, stride);
    }
    case static_cast<int>(Layout::Kind::Sequence): {
      std::vector<Layout> parts;  // grows with the words that were read
      for (std::size_t left = reader.number(2); left > 0; --left)
        parts.push_back(read_part(reader, depth, offset));
      return LayoutBuilder::sequence(std::move(parts));
    }
    default:
      throw InvalidArgument(fmt::format("layout: there is no kind {}", kind));
  }
}

}  // namespace

std::vector<std::int64_t> encode(const Layout& layout) {
  std::vector<std::int64_t> words;
  words.reserve(static_cast<std::size_t>(layout.metadata_bytes()) / sizeof(std::int64_t) + 16);
  append(layout, words);
  return words;
}

Layout decode(std::span<const std::int64_t> words) {
  Reader reader(words);
  Layout layout = read(reader, 0);
  if (!reader.at_end()) throw InvalidArgument("layout: words follow its end");
  return layout;
}

}  // namespace strake
