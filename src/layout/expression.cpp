#include "layout/expression.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace strake {
namespace {

class Writer {
 public:
  explicit Writer(std::int64_t most_blocks) : room_(most_blocks) {}

  std::string write(const Layout& layout) {
    if (layout.kind() == Layout::Kind::Empty) return "contiguous(0,byte)";
    std::string text;
    switch (layout.kind()) {
      case Layout::Kind::Blocks:
        return blocks(layout);
      case Layout::Kind::Box:
        text = box(layout);
        break;
      case Layout::Kind::Repeat:
        text = repeated(layout.dims()[0], write(layout.parts()[0]));
        break;
      default:
        text = sequence(layout);
    }
    if (layout.offset() == 0) return text;
    return fmt::format("hindexed_block(1,[{}],{})", layout.offset(), text);
  }
  [[nodiscard]] bool overfull() const noexcept { return room_ < 0; }

 private:
  static std::string repeated(const Dim& dim, const std::string& of) {
    return fmt::format("hvector({},1,{},{})", dim.count, dim.stride_bytes, of);
  }

  static std::string box(const Layout& layout) {
    const auto dims = layout.dims();
    if (dims.empty()) return fmt::format("contiguous({},byte)", layout.block_bytes());
    const Dim& inner = dims.back();
    std::string text = fmt::format("hvector({},{},{},byte)", inner.count, layout.block_bytes(),
                                   inner.stride_bytes);
    for (std::size_t i = dims.size() - 1; i-- > 0;) text = repeated(dims[i], text);
    return text;
  }

  std::string blocks(const Layout& layout) {
    const auto from_first = layout.block_offsets();
    room_ -= static_cast<std::int64_t>(from_first.size());
    if (overfull()) return {};
    std::vector<std::int64_t> offsets(from_first.begin(), from_first.end());
    for (std::int64_t& offset : offsets) offset += layout.offset();
    const auto positions = layout.block_positions();
    if (positions.empty()) {
      return fmt::format("hindexed_block({},[{}],byte)", layout.block_bytes(),
                         fmt::join(offsets, ","));
    }
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i + 1 < positions.size(); ++i)
      lengths.push_back(positions[i + 1] - positions[i]);
    return fmt::format("hindexed([{}],[{}],byte)", fmt::join(lengths, ","),
                       fmt::join(offsets, ","));
  }

  std::string sequence(const Layout& layout) {
    const auto parts = layout.parts();
    room_ -= static_cast<std::int64_t>(parts.size());
    std::vector<std::string> texts;
    for (const Layout& part : parts) {
      if (overfull()) return {};
      texts.push_back(write(part));
    }
    const std::vector<int> ones(parts.size(), 1);
    const std::vector<int> zeros(parts.size(), 0);
    return fmt::format("struct([{}],[{}],[{}])", fmt::join(ones, ","), fmt::join(zeros, ","),
                       fmt::join(texts, ","));
  }

  std::int64_t room_;
};

}  // namespace

std::string expression_of(const Layout& layout, std::int64_t most_blocks) {
  Writer writer(most_blocks);
  std::string text = writer.write(layout);
  return writer.overfull() ? std::string() : text;
}

}  // namespace strake
