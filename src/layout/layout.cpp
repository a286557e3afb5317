#include "strake/layout.hpp"

#include <algorithm>
#include <string>

#include "layout/hasher.hpp"
#include "layout/node.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw InvalidArgument("layout: " + std::to_string(a) + " x " + std::to_string(b) +
                          " bytes exceed 2^63");
  }
  return result;
}

ByteRange spread(ByteRange bounds, std::int64_t count, std::int64_t stride) {
  const std::int64_t last = product(count - 1, stride);
  return {sum(bounds.begin, std::min<std::int64_t>(last, 0)),
          sum(bounds.end, std::max<std::int64_t>(last, 0))};
}

/// One past the last byte in packed order. Cost: O(depth).
std::int64_t end_of(const Layout& layout) {
  std::int64_t end = layout.offset();
  switch (layout.kind()) {
    case Layout::Kind::Empty:
      break;
    case Layout::Kind::Box:
      for (const Dim& dim : layout.dims()) end += (dim.count - 1) * dim.stride_bytes;
      end += layout.block_bytes();
      break;
    case Layout::Kind::Blocks: {
      const auto positions = layout.block_positions();
      end += layout.block_offsets().back() +
             (positions.empty() ? layout.block_bytes() : positions.back() - positions.end()[-2]);
      break;
    }
    case Layout::Kind::Repeat: {
      const Dim dim = layout.dims()[0];
      end += (dim.count - 1) * dim.stride_bytes + end_of(layout.parts()[0]);
      break;
    }
    case Layout::Kind::Sequence:
      end += end_of(layout.parts().back());
      break;
  }
  return end;
}

bool joins_itself(const Layout& layout, std::int64_t stride) {
  return end_of(layout) == layout.offset() + stride;
}

void append_all(const Layout& layout, RunList& list) {
  layout.for_each_block(
      [&](std::int64_t offset, std::int64_t length) { list.append(offset, length); });
}

}  // namespace

void throw_too_far(std::int64_t a, std::int64_t b) {
  throw InvalidArgument("layout: " + std::to_string(a) + " + " + std::to_string(b) +
                        " bytes exceed 2^63");
}

Layout LayoutBuilder::finish(std::int64_t offset, Layout::Node&& node) {
  Hasher hasher;
  hasher.add(static_cast<std::int64_t>(node.kind));
  hasher.add(node.block_bytes);
  for (const Dim& dim : node.dims) {
    hasher.add(dim.count);
    hasher.add(dim.stride_bytes);
  }
  for (const std::int64_t value : node.offsets) hasher.add(value);
  for (const std::int64_t value : node.positions) hasher.add(value);
  for (const Layout& part : node.parts) {
    const Hash128 hash = part.hash();
    hasher.add(static_cast<std::int64_t>(hash.lo));
    hasher.add(static_cast<std::int64_t>(hash.hi));
  }
  node.hash = hasher.value();
  return Layout(0, std::make_shared<const Layout::Node>(std::move(node))).shifted(offset);
}

Layout LayoutBuilder::box(std::int64_t offset, std::int64_t block_bytes,
                          std::span<const Dim> dims) {
  if (block_bytes < 0) {
    throw InvalidArgument("layout: a block can't have " + std::to_string(block_bytes) + " bytes");
  }
  bool empty = block_bytes == 0;
  for (const Dim& dim : dims) {
    if (dim.count < 0) {
      throw InvalidArgument("layout: a dimension can't have count " + std::to_string(dim.count));
    }
    empty = empty || dim.count == 0;
  }
  if (empty) return {};

  Layout::Node node;
  node.kind = Layout::Kind::Box;
  node.block_bytes = block_bytes;
  node.dims.reserve(dims.size());
  // Innermost first: drop single counts, fold dense dims into the block, flatten a dim that
  // continues the one inside.
  for (std::size_t i = dims.size(); i-- > 0;) {
    const Dim dim = dims[i];
    if (dim.count == 1) continue;
    if (node.dims.empty()) {
      if (dim.stride_bytes == node.block_bytes) {
        node.block_bytes = product(node.block_bytes, dim.count);
      } else {
        node.dims.push_back(dim);
      }
      continue;
    }
    Dim& inner = node.dims.back();
    if (dim.stride_bytes == product(inner.count, inner.stride_bytes)) {
      inner.count = product(inner.count, dim.count);
    } else {
      node.dims.push_back(dim);
    }
  }
  std::reverse(node.dims.begin(), node.dims.end());

  node.block_count = 1;
  node.bounds = {0, node.block_bytes};
  for (const Dim& dim : node.dims) {
    node.block_count = product(node.block_count, dim.count);
    node.bounds = spread(node.bounds, dim.count, dim.stride_bytes);
  }
  node.size_bytes = product(node.block_count, node.block_bytes);
  return finish(offset, std::move(node));
}

Layout LayoutBuilder::listed(std::span<const Run> runs) {
  const std::int64_t first = runs[0].offset;
  Layout::Node node;
  node.kind = Layout::Kind::Blocks;
  node.block_count = static_cast<std::int64_t>(runs.size());
  node.bounds = {0, runs[0].length};
  node.offsets.reserve(runs.size());
  bool common = true;
  for (const Run& run : runs) {
    const std::int64_t at = run.offset - first;
    node.offsets.push_back(at);
    node.size_bytes = sum(node.size_bytes, run.length);
    node.bounds = {std::min(node.bounds.begin, at), std::max(node.bounds.end, at + run.length)};
    common = common && run.length == runs[0].length;
  }
  if (common) {
    node.block_bytes = runs[0].length;
  } else {
    node.positions.reserve(runs.size() + 1);
    std::int64_t position = 0;
    for (const Run& run : runs) {
      node.positions.push_back(position);
      position += run.length;
    }
    node.positions.push_back(position);
  }
  return finish(first, std::move(node));
}

Layout LayoutBuilder::repeat(const Layout& child, std::int64_t count, std::int64_t stride_bytes) {
  Layout::Node node;
  node.kind = Layout::Kind::Repeat;
  node.dims = {{count, stride_bytes}};
  node.size_bytes = product(child.size_bytes(), count);
  node.block_count = product(child.block_count(), count);
  node.parts = {child.shifted(-child.offset())};
  node.bounds = spread(node.parts[0].bounds(), count, stride_bytes);
  return finish(child.offset(), std::move(node));
}

Layout LayoutBuilder::sequence(std::vector<Layout> parts) {
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const std::int64_t first = parts[0].offset();
  Layout::Node node;
  node.kind = Layout::Kind::Sequence;
  node.bounds = parts[0].shifted(-first).bounds();
  for (Layout& part : parts) {
    part = part.shifted(-first);
    node.size_bytes = sum(node.size_bytes, part.size_bytes());
    node.block_count = sum(node.block_count, part.block_count());
    node.bounds = {std::min(node.bounds.begin, part.bounds().begin),
                   std::max(node.bounds.end, part.bounds().end)};
  }
  node.parts = std::move(parts);
  return finish(first, std::move(node));
}

std::optional<Layout> LayoutBuilder::equal_parts(std::span<const Layout> parts) {
  if (parts.size() == 1) return parts[0];
  std::int64_t stride = 0;
  if (__builtin_sub_overflow(parts[1].offset(), parts[0].offset(), &stride)) return std::nullopt;
  const Layout first = parts[0].shifted(-parts[0].offset());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Layout& part = parts[i];
    std::int64_t distance = 0;
    if (__builtin_sub_overflow(part.offset(), parts[i - 1].offset(), &distance) ||
        distance != stride || part.shifted(-part.offset()) != first) {
      return std::nullopt;
    }
  }
  return parts[0].repeated(static_cast<std::int64_t>(parts.size()), stride);
}

Layout Layout::dense(std::int64_t bytes, std::int64_t offset) { return box(offset, bytes, {}); }

Layout Layout::box(std::int64_t offset, std::int64_t block_bytes, std::span<const Dim> dims) {
  return LayoutBuilder::box(offset, block_bytes, dims);
}

Layout Layout::blocks(std::span<const std::int64_t> offsets, std::int64_t length) {
  if (length < 0)
    throw InvalidArgument("layout: blocks can't have " + std::to_string(length) + " bytes");
  RunList list;
  list.reserve(offsets.size());
  for (const std::int64_t offset : offsets) list.append(offset, length);
  return LayoutBuilder::compress(list.runs());
}

Layout Layout::blocks(std::span<const std::int64_t> offsets,
                      std::span<const std::int64_t> lengths) {
  if (offsets.size() != lengths.size()) {
    throw InvalidArgument("layout: " + std::to_string(offsets.size()) + " offsets but " +
                          std::to_string(lengths.size()) + " lengths");
  }
  RunList list;
  list.reserve(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (lengths[i] < 0) {
      throw InvalidArgument("layout: block " + std::to_string(i) + " can't have " +
                            std::to_string(lengths[i]) + " bytes");
    }
    list.append(offsets[i], lengths[i]);
  }
  return LayoutBuilder::compress(list.runs());
}

Layout Layout::sequence(std::span<const Layout> parts) {
  std::vector<Layout> filled;
  filled.reserve(parts.size());
  std::int64_t runs = 0;
  for (const Layout& part : parts) {
    if (part.kind() == Kind::Empty) continue;
    filled.push_back(part);
    runs = sum(runs, part.block_count());
  }
  if (filled.empty()) return {};

  // Equal parts at a constant distance need no flattening.
  if (const auto repeated = LayoutBuilder::equal_parts(filled)) return *repeated;
  if (runs > LayoutBuilder::kMaxRuns) return LayoutBuilder::sequence(std::move(filled));
  RunList list;
  list.reserve(static_cast<std::size_t>(runs));
  for (const Layout& part : filled) append_all(part, list);
  return LayoutBuilder::compress(list.runs());
}

Layout Layout::repeated(std::int64_t count, std::int64_t stride_bytes) const {
  if (count < 0)
    throw InvalidArgument("layout: it can't be repeated " + std::to_string(count) + " times");
  if (count == 0 || kind() == Kind::Empty) return {};
  if (count == 1) return *this;
  if (kind() == Kind::Box) {
    std::vector<Dim> all;
    all.reserve(dims().size() + 1);
    all.push_back({count, stride_bytes});
    all.insert(all.end(), dims().begin(), dims().end());
    return box(offset_, block_bytes(), all);
  }
  if (kind() == Kind::Repeat) {
    const Dim inner = dims()[0];
    if (stride_bytes == product(inner.count, inner.stride_bytes)) {
      return LayoutBuilder::repeat(parts()[0].shifted(offset_), product(inner.count, count),
                                   inner.stride_bytes);
    }
  }
  if (joins_itself(*this, stride_bytes) &&
      product(block_count(), count) <= LayoutBuilder::kMaxRuns) {
    RunList list;
    list.reserve(static_cast<std::size_t>(block_count() * count));
    for (std::int64_t i = 0; i < count; ++i) append_all(shifted(i * stride_bytes), list);
    return LayoutBuilder::compress(list.runs());
  }
  return LayoutBuilder::repeat(*this, count, stride_bytes);
}

Layout Layout::shifted(std::int64_t bytes) const {
  if (!node_) return {};
  const std::int64_t offset = sum(offset_, bytes);
  sum(offset, node_->bounds.begin);
  sum(offset, node_->bounds.end);
  return {offset, node_};
}

Layout::Kind Layout::kind() const noexcept { return node_ ? node_->kind : Kind::Empty; }
std::int64_t Layout::size_bytes() const noexcept { return node_ ? node_->size_bytes : 0; }
std::int64_t Layout::block_count() const noexcept { return node_ ? node_->block_count : 0; }
std::int64_t Layout::block_bytes() const noexcept { return node_ ? node_->block_bytes : 0; }
bool Layout::is_dense() const noexcept {
  return !node_ || (node_->kind == Kind::Box && node_->dims.empty());
}

std::int64_t Layout::metadata_bytes() const noexcept {
  if (!node_) return 0;
  // Offset and block length; then what the form lists.
  std::int64_t bytes = 2 * static_cast<std::int64_t>(sizeof(std::int64_t));
  bytes += static_cast<std::int64_t>(node_->dims.size() * sizeof(Dim));
  bytes += static_cast<std::int64_t>((node_->offsets.size() + node_->positions.size()) *
                                     sizeof(std::int64_t));
  for (const Layout& part : node_->parts) bytes += part.metadata_bytes();
  return bytes;
}

ByteRange Layout::bounds() const noexcept {
  if (!node_) return {};
  return {node_->bounds.begin + offset_, node_->bounds.end + offset_};
}

Hash128 Layout::hash() const noexcept {
  if (!node_) return {};
  Hasher hasher;
  hasher.add(offset_);
  hasher.add(static_cast<std::int64_t>(node_->hash.lo));
  hasher.add(static_cast<std::int64_t>(node_->hash.hi));
  return hasher.value();
}

bool operator==(const Layout& a, const Layout& b) noexcept {
  if (a.node_ == b.node_) return a.offset_ == b.offset_;
  if (!a.node_ || !b.node_ || a.offset_ != b.offset_) return false;
  const Layout::Node& x = *a.node_;
  const Layout::Node& y = *b.node_;
  return x.hash == y.hash && x.kind == y.kind && x.block_bytes == y.block_bytes &&
         x.dims == y.dims && x.offsets == y.offsets && x.positions == y.positions &&
         x.parts == y.parts;
}

std::span<const Dim> Layout::dims() const noexcept {
  return node_ ? std::span<const Dim>(node_->dims) : std::span<const Dim>();
}
std::span<const std::int64_t> Layout::block_offsets() const noexcept {
  return node_ ? std::span<const std::int64_t>(node_->offsets) : std::span<const std::int64_t>();
}
std::span<const std::int64_t> Layout::block_positions() const noexcept {
  return node_ ? std::span<const std::int64_t>(node_->positions) : std::span<const std::int64_t>();
}
std::span<const Layout> Layout::parts() const noexcept {
  return node_ ? std::span<const Layout>(node_->parts) : std::span<const Layout>();
}

std::string Layout::to_string() const {
  if (!node_) return "empty";
  std::string text = "start " + std::to_string(offset_);
  switch (kind()) {
    case Kind::Empty:
      break;
    case Kind::Box:
      text = "box(" + text + ", " + std::to_string(block_bytes()) + " B";
      for (const Dim& dim : dims()) {
        text += ", " + std::to_string(dim.count) + " x " + std::to_string(dim.stride_bytes);
      }
      break;
    case Kind::Blocks:
      text = "blocks(" + text + ", " + std::to_string(block_count()) + " of ";
      text += block_positions().empty() ? std::to_string(block_bytes()) + " B" : "own lengths";
      break;
    case Kind::Repeat:
      text = "repeat(" + text + ", " + std::to_string(dims()[0].count) + " x " +
             std::to_string(dims()[0].stride_bytes) + ", " + parts()[0].to_string();
      break;
    case Kind::Sequence:
      text = "sequence(" + text;
      for (const Layout& part : parts()) text += ", " + part.to_string();
      break;
  }
  return text + ")";
}

}  // namespace strake
