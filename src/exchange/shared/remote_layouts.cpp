#include "exchange/shared/remote_layouts.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "layout/encoding.hpp"

namespace strake::exchange::shared {
namespace {

constexpr Place kHost = {MemoryKind::Host, -1};
/// Receives of one layout that differ.
constexpr std::size_t kMostCompiled = 16;

/// Of two boxes of one shape, the same copy with its loops in the order of the target's strides,
/// the longest outermost: blocks that lie side by side on both sides become one.
void sort_loops(Layout& to, Layout& from) {
  const auto same = [](const Dim& a, const Dim& b) { return a.count == b.count; };
  if (to.kind() != Layout::Kind::Box || from.kind() != Layout::Kind::Box ||
      to.block_bytes() != from.block_bytes() || !std::ranges::equal(to.dims(), from.dims(), same))
    return;
  std::vector<std::size_t> order(to.dims().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto stride = [&](std::size_t dim) { return std::abs(to.dims()[dim].stride_bytes); };
  std::ranges::stable_sort(order, std::ranges::greater(), stride);
  const auto sorted = [&](const Layout& layout) {
    std::vector<Dim> dims;
    for (const std::size_t dim : order) dims.push_back(layout.dims()[dim]);
    return Layout::box(layout.offset(), layout.block_bytes(), dims);
  };
  from = sorted(from);
  to = sorted(to);
}

}  // namespace

const CopyPlan& RemoteLayout::plan_to(const Layout& to) {
  for (const Compiled& known : compiled_) {
    if (known.to == to) return known.plan;
  }
  if (compiled_.size() >= kMostCompiled) compiled_.erase(compiled_.begin());
  Layout target = to;
  Layout source = layout_;
  sort_loops(target, source);
  compiled_.push_back({to, CopyPlan::compile(target, kHost, source, kHost)});
  return compiled_.back().plan;
}

const CopyPlan& RemoteLayout::packing() {
  if (!packing_) {
    const Layout dense = Layout::dense(layout_.size_bytes());
    packing_ = CopyPlan::compile(dense, kHost, layout_, kHost);
  }
  return *packing_;
}

std::shared_ptr<RemoteLayout> RemoteLayouts::find(Hash128 hash,
                                                  std::span<const std::int64_t> words) {
  if (auto known = kept(hash)) return known;
  // The other process might change them meanwhile.
  const std::vector<std::int64_t> copy(words.begin(), words.end());
  return keep(hash, decode(copy));
}

std::shared_ptr<RemoteLayout> RemoteLayouts::find(const Layout& layout) {
  if (auto known = kept(layout.hash()); known != nullptr && known->layout() == layout) return known;
  return keep(layout.hash(), layout);
}

std::shared_ptr<RemoteLayout> RemoteLayouts::kept(Hash128 hash) {
  const auto known = by_hash_.find(hash.lo);
  if (known == by_hash_.end() || known->second->hash != hash) return nullptr;
  kept_.splice(kept_.begin(), kept_, known->second);
  return kept_.front().layout;
}

std::shared_ptr<RemoteLayout> RemoteLayouts::keep(Hash128 hash, Layout layout) {
  auto made = std::make_shared<RemoteLayout>(std::move(layout));
  if (most_ == 0) return made;
  if (const auto known = by_hash_.find(hash.lo); known != by_hash_.end()) {
    kept_.erase(known->second);
    by_hash_.erase(known);
  }
  if (kept_.size() >= most_) {
    by_hash_.erase(kept_.back().hash.lo);
    kept_.pop_back();
  }
  kept_.push_front({hash, made});
  by_hash_[hash.lo] = kept_.begin();
  return made;
}

}  // namespace strake::exchange::shared
