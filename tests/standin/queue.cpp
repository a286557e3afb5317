#include "queue.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>

#include "cuda_runtime_api.h"

namespace standin {

using strake::Ticket;

namespace {

constexpr int kSlowestUs = 300;

bool reached(Ticket ticket) {
  return ticket.progress == nullptr ||
         __atomic_load_n(ticket.progress, __ATOMIC_ACQUIRE) >= ticket.value;
}

}  // namespace

Queue::Queue(int device, strake::QueueOrder order)
    : device_(device), order_(order), worker_([this] { work(); }) {}

Queue::~Queue() {
  push({});
  worker_.join();
}

Ticket Queue::push(std::function<void()> task) {
  count_use();
  const std::lock_guard lock(mutex_);
  const bool after = task && order_ == strake::QueueOrder::AfterDefault;
  tasks_.push_back({std::move(task), after ? default_work() : 0});
  wake_.notify_one();
  return {&done_, ++issued_};
}

Ticket Queue::copy(void* to, const void* from, std::int64_t bytes) {
  return push([to = reach(to), from = reach(from), bytes] {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
}

void Queue::wait_for(const strake::Queue& /*other*/, Ticket ticket) {
  push([ticket] {
    while (!reached(ticket)) std::this_thread::yield();
  });
}

bool Queue::idle() {
  const std::lock_guard lock(mutex_);
  return reached({&done_, issued_});
}

bool Queue::done(Ticket ticket) { return reached(ticket); }

void Queue::wait(Ticket ticket) {
  while (!reached(ticket)) std::this_thread::yield();
}

void Queue::work() {
  std::minstd_rand random(std::random_device{}());
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    if (!task.run) return;
    while (!default_work_done(task.after)) std::this_thread::yield();
    const auto delay = random() % (2 * kSlowestUs);  // half of them go at once
    if (delay < kSlowestUs) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    task.run();
    __atomic_add_fetch(&done_, 1, __ATOMIC_RELEASE);
  }
}

}  // namespace standin
