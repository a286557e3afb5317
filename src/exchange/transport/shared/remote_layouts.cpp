#include "exchange/transport/shared/remote_layouts.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "layout/encoding.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

constexpr Place kHost = {MemoryKind::Host, -1};

/// Copies that are kept of one layout, to different layouts.
constexpr std::size_t kMostCompiled = 16;
/// Memory of the layouts that are kept, about. [bytes]
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

/// Sorts the loops of a copy between two boxes of one shape by the target's strides, the longest
/// outermost: blocks that lie side by side on both sides become one.
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
    std::vector<Dim> dims(order.size());
    std::ranges::transform(order, dims.begin(),
                           [&](std::size_t dim) { return layout.dims()[dim]; });
    return Layout::box(layout.offset(), layout.block_bytes(), dims);
  };
  from = sorted(from);
  to = sorted(to);
}

}  // namespace

RemoteLayout::Pair RemoteLayout::pair_with(const Layout& to) const {
  Pair pair{to, layout_};
  sort_loops(pair.to, pair.from);
  return pair;
}

/// The entry of that copy, which may be new, and empty.
RemoteLayout::Compiled& RemoteLayout::compiled_for(const Layout& to, Place place) {
  for (Compiled& known : compiled_) {
    if (known.place == place && known.to == to) return known;
  }
  if (compiled_.size() >= kMostCompiled) compiled_.erase(compiled_.begin());
  compiled_.push_back({to, place, nullptr, nullptr});
  return compiled_.back();
}

const std::shared_ptr<const CopyPlan>& RemoteLayout::plan_to(const Layout& to) {
  Compiled& found = compiled_for(to, kHost);
  if (found.plan == nullptr) {
    const Pair pair = pair_with(to);
    found.plan =
        std::make_shared<const CopyPlan>(CopyPlan::compile(pair.to, kHost, pair.from, kHost));
  }
  return found.plan;
}

const DeviceCopy& RemoteLayout::device_copy_to(const Layout& to, Place place) {
  Compiled& found = compiled_for(to, place);
  if (found.copy == nullptr) {
    const Pair pair = pair_with(to);
    found.copy = compile_device_copy(pair.to, place, pair.from, place);
  }
  return found.copy;
}

const CopyPlan& RemoteLayout::packing() {
  if (!packing_)
    packing_ = CopyPlan::compile(Layout::dense(layout_.size_bytes()), kHost, layout_, kHost);
  return *packing_;
}

const DeviceCopy& RemoteLayout::device_packing(Place place) {
  for (const auto& [known, copy] : device_packing_) {
    if (known == place) return copy;
  }
  const Place pinned{MemoryKind::Pinned, place.device};
  const Layout dense = Layout::dense(layout_.size_bytes());
  return device_packing_.emplace_back(place, compile_device_copy(dense, pinned, layout_, place))
      .second;
}

std::shared_ptr<RemoteLayout> RemoteLayouts::find(Hash128 hash,
                                                  std::span<const std::int64_t> words) {
  if (auto known = kept(hash)) return known;
  // The other process might change them meanwhile.
  const std::vector<std::int64_t> copy(words.begin(), words.end());
  Layout layout = decode(copy);
  if (layout.hash() != hash) throw InvalidArgument("its layout is not the one that it is named");
  return keep(hash, std::move(layout));
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
  if (by_hash_.contains(hash.lo)) return made;  // another one's place
  // A layout is compiled for a few others, as long each.
  constexpr std::int64_t kPlans = 4;
  const std::int64_t bytes = kPlans * made->layout().metadata_bytes();
  while (!kept_.empty() && (kept_.size() >= most_ || bytes_ + bytes > kMostBytes)) {
    bytes_ -= kPlans * kept_.back().layout->layout().metadata_bytes();
    by_hash_.erase(kept_.back().hash.lo);
    kept_.pop_back();
  }
  bytes_ += bytes;
  kept_.push_front({hash, made});
  by_hash_[hash.lo] = kept_.begin();
  return made;
}

}  // namespace strake::exchange::shared
