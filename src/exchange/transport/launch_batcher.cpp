#include "exchange/transport/launch_batcher.hpp"

#include <array>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "state/process_state.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake::exchange {

DeviceCopy compile_device_copy(const Layout& to, Place to_place, const Layout& from,
                               Place from_place) {
  DeviceCopier* const copier = device_copier();
  if (copier == nullptr) throw Unsupported("device memory, but no device back end has copies");
  const int device = to_place.kind == MemoryKind::Device ? to_place.device : from_place.device;
  required_device_backend().require_intact(device);
  const std::array places = {to_place, from_place};
  const std::array<CopyBatch::Copy, 1> copy = {{{to, 0, from, 1}}};
  return copier->compile_batch(device, places, copy);
}

bool LaunchBatch::done() const {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::Failed) std::rethrow_exception(failure_);
  return state == State::Running && queue_->done(ticket_);
}

LaunchBatcher& LaunchBatcher::get() { return ProcessState::part<LaunchBatcher>(); }

LaunchBatcher::Device& LaunchBatcher::device(int number) {
  Device& made = devices_[number];
  if (made.copies != nullptr) return made;
  DeviceBackend& backend = required_device_backend();
  made.marks = backend.make_marker(number);
  made.copies = backend.make_queue(number, QueueOrder::Own);
  return made;
}

std::uint64_t LaunchBatcher::mark(int number) {
  required_device_backend().require_intact(number);
  const std::lock_guard lock(mutex_);
  return device(number).marks->mark();
}

bool LaunchBatcher::reached(int number, std::uint64_t mark) {
  constexpr std::chrono::nanoseconds kAgain{1500};  // an answer costs 600
  const std::lock_guard lock(mutex_);
  Device& own = device(number);
  if (mark <= own.reached) return true;
  const Clock::time_point now = Clock::now();
  if (own.denied != 0 && mark >= own.denied && now - own.denied_at < kAgain) return false;
  asked_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (own.marks->reached(mark)) {
    own.reached = mark;
    return true;
  }
  own.denied = mark;
  own.denied_at = now;
  return false;
}

bool LaunchBatcher::shall_ask() const noexcept {
  constexpr std::chrono::microseconds kJustNow{5};
  const Clock::duration asked(asked_.load(std::memory_order_relaxed));
  return Clock::now().time_since_epoch() - asked > kJustNow;
}

std::shared_ptr<LaunchBatch> LaunchBatcher::fresh_launch(Device& own) {
  for (const std::shared_ptr<LaunchBatch>& made : own.made) {
    if (made.use_count() != 1) continue;
    // After who let go of it last: to let go of one more reference acquires, too.
    std::shared_ptr<LaunchBatch>(made).reset();
    made->copies_.clear();
    made->runs_.clear();
    made->failure_ = nullptr;
    made->state_.store(LaunchBatch::State::Collecting, std::memory_order_relaxed);
    return made;
  }
  constexpr int kAtATime = 16;
  for (int i = 0; i < kAtATime; ++i) {
    auto fresh = std::make_shared<LaunchBatch>();
    fresh->copies_.reserve(DeviceCopier::kMostRuns);
    fresh->runs_.reserve(DeviceCopier::kMostRuns);
    own.made.push_back(std::move(fresh));
  }
  return own.made.back();
}

std::shared_ptr<const LaunchBatch> LaunchBatcher::add(int number, DeviceCopy copy, std::byte* to,
                                                      const std::byte* from) {
  const std::lock_guard lock(mutex_);
  Device& own = device(number);
  if (own.next == nullptr) own.next = fresh_launch(own);
  const std::shared_ptr<LaunchBatch> next = own.next;
  next->runs_.push_back({copy.get(), to, from});
  next->copies_.push_back(std::move(copy));
  collected_.fetch_add(1, std::memory_order_relaxed);
  if (next->runs_.size() == DeviceCopier::kMostRuns) launch_next(own);
  return next;
}

void LaunchBatcher::launch_next(Device& own) noexcept {
  const std::shared_ptr<LaunchBatch> next = std::exchange(own.next, nullptr);
  if (next == nullptr) return;
  collected_.fetch_sub(static_cast<int>(next->runs_.size()), std::memory_order_relaxed);
  try {
    next->queue_ = own.copies.get();
    next->ticket_ = device_copier()->enqueue_together(*own.copies, next->runs_);
    next->state_.store(LaunchBatch::State::Running, std::memory_order_release);
  } catch (...) {
    next->failure_ = std::current_exception();
    next->state_.store(LaunchBatch::State::Failed, std::memory_order_release);
  }
}

void LaunchBatcher::launch_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [number, own] : devices_) launch_next(own);
}

void LaunchBatcher::run(int number, DeviceCopy copy, std::byte* to, const std::byte* from) {
  required_device_backend().require_intact(number);  // others have made a mark before
  const auto added = add(number, std::move(copy), to, from);
  launch();
  for (Backoff backoff; !added->done();) backoff.pause();
}

}  // namespace strake::exchange
