#include "exchange/transport/plans.hpp"

namespace strake::exchange {

const Plans::Compiled* Plans::find(MessageDirection direction, Place typed, Place packed,
                                   Form form) const {
  for (const Compiled& known : compiled_) {
    if (known.direction == direction && known.typed == typed && known.packed == packed &&
        known.form == form)
      return &known;
  }
  return nullptr;
}

DeviceCopy Plans::device_copy(MessageDirection direction, Place typed, Place packed) {
  const std::lock_guard lock(mutex_);
  if (const Compiled* const known = find(direction, typed, packed, Form::Together))
    return known->copy;
  const Layout dense = Layout::dense(layout_.size_bytes());
  DeviceCopy made = direction == MessageDirection::Send
                        ? compile_device_copy(dense, packed, layout_, typed)
                        : compile_device_copy(layout_, typed, dense, packed);
  compiled_.push_back({direction, typed, packed, Form::Together, nullptr, made});
  return made;
}

const CopyPlan& Plans::plan(MessageDirection direction, Place typed, Place packed) {
  const bool host = typed.kind == MemoryKind::Host && packed.kind == MemoryKind::Host;
  auto& fast = host_[static_cast<int>(direction)];
  if (host) {
    if (const CopyPlan* plan = fast.load(std::memory_order_acquire)) return *plan;
  }
  const std::lock_guard lock(mutex_);
  if (const Compiled* const known = find(direction, typed, packed, Form::Packed))
    return *known->plan;
  const Layout dense = Layout::dense(layout_.size_bytes());
  auto plan = std::make_unique<const CopyPlan>(
      direction == MessageDirection::Send ? CopyPlan::compile(dense, packed, layout_, typed)
                                          : CopyPlan::compile(layout_, typed, dense, packed));
  compiled_.push_back({direction, typed, packed, Form::Packed, std::move(plan), nullptr});
  const CopyPlan& made = *compiled_.back().plan;
  if (host) fast.store(&made, std::memory_order_release);
  return made;
}

const CopyPlan& Plans::mirrored(MessageDirection direction, Place typed) {
  constexpr Place kHost;
  const std::lock_guard lock(mutex_);
  if (const Compiled* const known = find(direction, typed, kHost, Form::Mirrored))
    return *known->plan;
  auto plan = std::make_unique<const CopyPlan>(
      direction == MessageDirection::Send ? CopyPlan::compile(layout_, kHost, layout_, typed)
                                          : CopyPlan::compile(layout_, typed, layout_, kHost));
  compiled_.push_back({direction, typed, kHost, Form::Mirrored, std::move(plan), nullptr});
  return *compiled_.back().plan;
}

}  // namespace strake::exchange
