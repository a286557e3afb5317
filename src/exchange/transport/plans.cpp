#include "exchange/transport/plans.hpp"

namespace strake::exchange {

const Plans::Compiled* Plans::find(Direction direction, Place typed, Place packed,
                                   bool copy) const {
  for (const Compiled& known : compiled_) {
    if (known.direction == direction && known.typed == typed && known.packed == packed &&
        (known.copy != nullptr) == copy)
      return &known;
  }
  return nullptr;
}

DeviceCopy Plans::device_copy(Direction direction, Place typed, Place packed) {
  const std::lock_guard lock(mutex_);
  if (const Compiled* const known = find(direction, typed, packed, true)) return known->copy;
  const Layout dense = Layout::dense(layout_.size_bytes());
  DeviceCopy made = direction == Direction::Send
                        ? compile_device_copy(dense, packed, layout_, typed)
                        : compile_device_copy(layout_, typed, dense, packed);
  compiled_.push_back({direction, typed, packed, nullptr, made});
  return made;
}

const CopyPlan& Plans::plan(Direction direction, Place typed, Place packed) {
  const bool host = typed.kind == MemoryKind::Host && packed.kind == MemoryKind::Host;
  auto& fast = host_[static_cast<int>(direction)];
  if (host) {
    if (const CopyPlan* plan = fast.load(std::memory_order_acquire)) return *plan;
  }
  const std::lock_guard lock(mutex_);
  if (const Compiled* const known = find(direction, typed, packed, false)) return *known->plan;
  const Layout dense = Layout::dense(layout_.size_bytes());
  auto plan = std::make_unique<const CopyPlan>(
      direction == Direction::Send ? CopyPlan::compile(dense, packed, layout_, typed)
                                   : CopyPlan::compile(layout_, typed, dense, packed));
  compiled_.push_back({direction, typed, packed, std::move(plan), nullptr});
  const CopyPlan& made = *compiled_.back().plan;
  if (host) fast.store(&made, std::memory_order_release);
  return made;
}

}  // namespace strake::exchange
