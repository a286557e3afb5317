#include "exchange/progress/progress.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "exchange/transport/launch_batcher.hpp"

namespace strake::exchange {
namespace {

/// Tells this thread from others.
const void* this_thread() noexcept {
  static thread_local char here;
  return &here;
}

/// All steps that an operation can take.
void step_of(OperationInFlight& operation) noexcept { operation.step(); }

}  // namespace

Progress::Reservation::Reservation(Progress& progress) : progress_(progress) {
  const std::lock_guard lock(progress.mutex_);
  static constexpr std::size_t kLeast = 64;  // all had at once, so that few in flight never grow it
  const std::size_t more = progress.rooms_ + 1;
  const auto room = [more](const auto& all) {
    return std::max(kLeast, std::bit_ceil(all.size() + more));
  };
  progress.running_.reserve(room(progress.running_));
  progress.leaving_.reserve(room(progress.leaving_));
  progress.rooms_ = more;
}

Progress::Reservation::~Reservation() {
  const std::lock_guard lock(progress_.mutex_);
  --progress_.rooms_;
}

void Progress::add(const Reservation& /*reservation*/,
                   std::shared_ptr<OperationInFlight> operation) noexcept {
  const std::lock_guard lock(mutex_);
  operation->place_ = running_.size();
  if (operation->leaving()) leaving_.push_back(operation.get());
  running_.push_back(std::move(operation));
  count_.fetch_add(1, std::memory_order_release);
}

bool Progress::claim(OperationInFlight& operation) noexcept {
  for (Backoff backoff;; backoff.pause()) {
    const std::lock_guard lock(mutex_);
    if (operation.claimed_by_ == this_thread()) return false;
    if (operation.claimed_by_ != nullptr) continue;
    operation.claimed_by_ = this_thread();
    return true;
  }
}

void Progress::release(OperationInFlight& operation) noexcept {
  Lock lock(mutex_);
  operation.claimed_by_ = nullptr;
  drop_if_done(lock, operation);
}

void Progress::drop_if_done(OperationInFlight& operation) noexcept {
  Lock lock(mutex_);
  drop_if_done(lock, operation);
}

/// May let go of the lock, and of the message.
void Progress::drop_if_done(Lock& lock, OperationInFlight& operation) noexcept {
  const std::size_t place = operation.place_;
  const bool runs = place < running_.size() && running_[place].get() == &operation;
  if (!runs || operation.claimed_by_ != nullptr || !operation.complete() || !operation.unwanted())
    return;
  std::shared_ptr<OperationInFlight> dropped = std::move(running_[place]);
  if (place + 1 < running_.size()) {
    running_[place] = std::move(running_.back());
    running_[place]->place_ = place;
  }
  running_.pop_back();
  count_.fetch_sub(1, std::memory_order_release);
  lock.unlock();
  dropped.reset();  // its end may call MPI
  lock.lock();
}

/// Lets go of the lock meanwhile.
template <typename Act>
void Progress::act_claimed(Lock& lock, OperationInFlight& operation, const Act& act) noexcept {
  operation.claimed_by_ = this_thread();
  lock.unlock();
  act();
  lock.lock();
  operation.claimed_by_ = nullptr;
}

template <typename Step>
void Progress::step_claimed(Lock& lock, OperationInFlight& operation, const Step& step) noexcept {
  act_claimed(lock, operation, [&] {
    step(operation);
    if (operation.complete()) operation.completed();
  });
}

bool Progress::step_sends() noexcept {
  Lock lock(mutex_);
  while (!leaving_.empty()) {
    OperationInFlight& first = *leaving_.front();
    if (first.claimed_by_ != nullptr) return first.claimed_by_ != this_thread();
    if (!first.complete()) step_claimed(lock, first, step_of);
    if (first.leaving()) return true;
    leaving_.erase(leaving_.begin());
    drop_if_done(lock, first);
  }
  return false;
}

void Progress::visit(Lock& lock, OperationInFlight& operation) noexcept {
  if (operation.claimed_by_ != nullptr || operation.leaving()) return;
  if (!operation.complete()) step_claimed(lock, operation, step_of);
  drop_if_done(lock, operation);
}

/// So that sends of a device are packed by one launch, not each in its turn.
void Progress::prepare_sends(Lock& lock) noexcept {
  for (std::size_t i = 0; i < leaving_.size(); ++i) {
    OperationInFlight& operation = *leaving_[i];
    if (operation.claimed_by_ == nullptr)
      act_claimed(lock, operation, [&] { operation.prepare(); });
  }
}

void Progress::step_all() noexcept {
  Lock lock(mutex_);
  prepare_sends(lock);
  for (std::size_t i = 0; i < running_.size();) {
    const OperationInFlight* const visited = running_[i].get();
    visit(lock, *running_[i]);
    if (i < running_.size() && running_[i].get() == visited) ++i;
  }
  lock.unlock();
  LaunchBatcher::get().launch();
}

void Progress::step_some(OperationInFlight* mine) noexcept {
  // Other messages that have come may be unpacked meanwhile; a look at one costs some 30 ns.
  constexpr std::size_t kOthers = 8;
  Lock lock(mutex_);
  if (running_.size() <= kOthers) {
    lock.unlock();
    return step_all();
  }
  prepare_sends(lock);
  if (mine != nullptr) visit(lock, *mine);
  for (std::size_t i = 0; i < kOthers && !running_.empty(); ++i) {
    visit(lock, *running_[++turn_ % running_.size()]);
  }
  lock.unlock();
  LaunchBatcher::get().launch();
}

void Progress::hand_on_all() noexcept {
  // Both at a time: a send may wait for work of the device that waits for the rank whose message
  // is awaited.
  for (Backoff backoff;; backoff.pause()) {
    const bool leaving = step_sends();
    const bool awaited = g_awaited.load(std::memory_order_relaxed) != 0 && step_awaited();
    if (!leaving && !awaited) return;
    {
      Lock lock(mutex_);
      prepare_sends(lock);
    }
    LaunchBatcher::get().launch();
  }
}

/// True: some are still awaited, and not because this thread is inside their steps.
bool Progress::step_awaited() noexcept {
  bool left = false;
  Lock lock(mutex_);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    OperationInFlight& operation = *running_[i];
    if (operation.claimed_by_ == nullptr && operation.awaited() && !operation.complete())
      step_claimed(lock, operation, [](OperationInFlight& awaited) { awaited.step_awaited(); });
    left = left || (operation.claimed_by_ != nullptr ? operation.claimed_by_ != this_thread()
                                                     : operation.awaited());
  }
  return left;
}

bool Progress::any(const std::function<bool(const OperationInFlight&)>& is) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(
      running_.begin(), running_.end(),
      [&](const std::shared_ptr<OperationInFlight>& operation) { return is(*operation); });
}

void Progress::clear() noexcept {
  std::vector<std::shared_ptr<OperationInFlight>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(running_);
  leaving_.clear();
  count_.store(0, std::memory_order_release);
}

}  // namespace strake::exchange
