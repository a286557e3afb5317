/// \file  Queues of the stand-in: threads that take their time, differently for each piece of work,
/// so that what was enqueued is hardly ever done when it is first asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "device/backend.hpp"

namespace standin {

class Queue final : public strake::Queue {
 public:
  explicit Queue(int device, strake::QueueOrder order = strake::QueueOrder::AfterDefault);
  ~Queue() override;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  strake::Ticket push(std::function<void()> task);
  strake::Ticket copy(void* to, const void* from, std::int64_t bytes) override;
  void wait_for(const strake::Queue& other, strake::Ticket ticket) override;
  bool idle();
  bool done(strake::Ticket ticket) override;
  void wait(strake::Ticket ticket) override;
  int device() const noexcept override { return device_; }

 private:
  void work();

  struct Task {
    std::function<void()> run;
    std::uint64_t after = 0;  ///< of the default stream's work
  };
  int device_;
  strake::QueueOrder order_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::uint64_t issued_ = 0;
  volatile std::uint64_t done_ = 0;
  std::thread worker_;
};

}  // namespace standin
